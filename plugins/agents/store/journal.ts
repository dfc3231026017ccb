import type { JsonObject, SqlDatabase } from '../../../src/plugin.ts'
import { toOneLine, sanitizeText } from '../../../src/plugin.ts'
import type { AgentSettings } from '../settings.ts'
import type { Page, Question, ServiceEnvironment, TaskEvent, TaskState } from '../types.ts'
import type { Change, TaskData, TaskRecord, TaskStore } from './task-store.ts'
import { ACTIVE } from './task-store.ts'

/** Events within this time are written together. */
const GATHER_MS = 200
/** Characters held back while more may come: a secret that is not there as a whole could not be hidden. */
const HELD = 2048
const MAX_HELD = 256 * 1024
const MAX_LINES = 100
const MAX_FILES = 1000
const MAX_EVENT = 1000
const MAX_USAGE = 16_384

type Output = AgentSettings['output']

/** Dependencies of a journal. */
interface JournalContext extends Cleaner {
  readonly environment: Pick<ServiceEnvironment, 'clock' | 'now' | 'hide'>
  readonly database: SqlDatabase
  readonly tasks: TaskStore
  readonly watchers: { tell(id: string): void }
}

/** Writes down what becomes of one task: state at once, output in pieces. All of it is clean, and without secrets. */
export class Journal {
  readonly data: TaskData
  readonly #context: JournalContext
  readonly #id: string
  readonly #owner: string
  #output: Output
  #text = ''
  #events: TaskEvent[] = []
  #isChanged = false
  #stopTimer: (() => void) | undefined

  constructor(context: JournalContext, { id, owner, data }: TaskRecord, output: Output) {
    this.#context = context
    this.#id = id
    this.#owner = owner
    this.#output = output
    this.data = structuredClone(data)
  }

  /** Another agent has it now. */
  bound(output: Output): void {
    this.#output = output
  }

  say(text: string): void {
    this.#text += text
    if (this.#text.length > MAX_HELD) this.flush()
    else this.#soon()
  }

  /** True once the agent has written anything but blanks. */
  get hasText(): boolean {
    return this.data.said > 0 || this.#text.trim() !== ''
  }

  event(kind: TaskEvent['kind'], text: string): void {
    const line = lineOf(this.#context, text, MAX_EVENT)
    this.#events.push({ seq: ++this.data.seq, at: this.#context.environment.now(), kind, text: line })
    if (this.#events.length > this.#output.events + MAX_LINES) this.#events.shift()
    this.#soon()
  }

  progress(text: string): void {
    this.data.progress = lineOf(this.#context, text, 200)
    this.#soon()
  }

  changedFile(path: string): void {
    const name = lineOf(this.#context, path, 4096)
    if (this.data.files.length < MAX_FILES && !this.data.files.includes(name)) this.data.files.push(name)
    this.#soon()
  }

  deny(text: string): void {
    if (this.data.denied.length < MAX_LINES) this.data.denied.push(lineOf(this.#context, text))
  }

  warn(text: string): void {
    const line = lineOf(this.#context, text)
    if (this.data.warnings.length < MAX_LINES) this.data.warnings.push(line)
    this.event('warning', line)
  }

  attempt(agent: string): void {
    this.data.attempts.push({ agent })
    this.#soon()
  }

  /** Why the last attempt failed. */
  attemptFailed(failure: string): void {
    const last = this.data.attempts.at(-1)
    if (last !== undefined) last.failure = lineOf(this.#context, failure)
    this.#soon()
  }

  /** Opens a question; it is on disk with the state that says so. */
  ask(question: Question): void {
    this.data.questions.push(question)
    this.#soon()
  }

  /** Closes a question, or all, as nobody waits for them any more. */
  withdraw(id?: string): void {
    this.data.questions = this.data.questions.filter(question => id !== undefined && question.id !== id)
    this.#soon()
  }

  usage(usage: JsonObject): void {
    const clean = cleanJson(this.#context, usage)
    const all = { ...this.data.usage, ...clean }
    const kept = [all, clean].find(each => JSON.stringify(each).length <= MAX_USAGE)
    if (kept === undefined) return
    this.data.usage = kept
    this.#soon()
  }

  diff(text: string): void {
    const bytes = Buffer.from(this.#cleaned(text))
    const kept = cutTo(bytes, this.#output.keep)
    this.data.diff = bytes.length
    this.data.diffKept = kept.length
    this.#context.tasks.dropChunks(this.#id, 'diff')
    if (kept.length > 0) this.#context.tasks.addChunk(this.#id, 'diff', 0, kept)
  }

  /** Drops the text so far, as another agent begins anew. */
  forgetText(): void {
    this.#text = ''
    this.#context.tasks.dropChunks(this.#id, 'text')
    this.data.said = 0
    this.data.kept = 0
  }

  /** Compare and set, with all that has gathered, on disk when it returns. False when the task has moved on. */
  move(from: readonly TaskState[], state: TaskState, change: Omit<Change, 'state' | 'data'> = {}): boolean {
    const before = this.data.seq
    const why = change.why === undefined ? undefined : lineOf(this.#context, change.why)
    const text = why === undefined ? state : `${state}: ${why}`
    this.event('state', text)
    const hasMoved = this.#context.database.whole(() => {
      const written = { ...change, ...(why === undefined ? {} : { why }), state }
      if (!this.#context.tasks.change(this.#id, this.#owner, from, written)) return false
      this.#write(true)
      return true
    })
    if (!hasMoved) {
      this.#events = this.#events.filter(({ seq }) => seq <= before)
      this.data.seq = before
    }
    this.#context.watchers.tell(this.#id)
    return hasMoved
  }

  /** The agent may change something from now on. On disk when it returns. */
  effect(): void {
    this.#context.tasks.change(this.#id, this.#owner, ACTIVE, { hadEffect: true })
  }

  /** Writes what has gathered. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    if (!this.#isChanged || !this.#context.database.isOpen) return
    this.#isChanged = false
    this.#context.database.wholeSoon(() => {
      if (this.#context.tasks.change(this.#id, this.#owner, ACTIVE, {})) this.#write(false)
    })
    this.#context.watchers.tell(this.#id)
  }

  /** Notes what came after the end, such as the changes of a task that was cancelled. */
  last(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    if (!this.#context.database.isOpen) return
    this.#context.database.wholeSoon(() => {
      if (this.#context.tasks.find(this.#id, this.#owner) !== undefined) this.#write(true)
    })
    this.#context.watchers.tell(this.#id)
  }

  #soon(): void {
    this.#isChanged = true
    this.#stopTimer ??= this.#context.environment.clock.after(GATHER_MS, () => this.flush())
  }

  #write(isLast: boolean): void {
    this.#isChanged = false
    const { tasks } = this.#context
    const bytes = Buffer.from(this.#takeText(isLast))
    const kept = cutTo(bytes, Math.max(0, this.#output.keep - this.data.kept))
    // Text that comes after a cut would not follow on what is kept.
    const isWhole = this.data.said === this.data.kept
    if (kept.length > 0 && isWhole) {
      tasks.addChunk(this.#id, 'text', this.data.kept, kept)
      this.data.kept += kept.length
    }
    this.data.said += bytes.length
    for (const event of this.#events) tasks.addEvent(this.#id, event)
    if (this.#events.length > 0) tasks.dropEvents(this.#id, this.data.seq - this.#output.events)
    this.#events = []
    tasks.write(this.#id, this.#owner, this.data)
  }

  #takeText(isLast: boolean): string {
    const whole = this.#cleaned(this.#text)
    const cut = isLast ? this.#text.length : boundaryBefore(this.#text, this.#text.length - HELD)
    if (cut <= 0) return ''
    const [head, tail] = [this.#text.slice(0, cut), this.#text.slice(cut)]
    const clean = this.#cleaned(head)
    // A secret lies across the cut: it goes with what comes next.
    if (!isLast && clean + this.#cleaned(tail) !== whole && this.#text.length < MAX_HELD) return ''
    this.#text = tail
    return clean
  }

  #cleaned(text: string): string {
    return this.#context.environment.hide(cleanText(text))
  }
}

/** Not between the halves of one character. */
function boundaryBefore(text: string, at: number): number {
  const code = at > 0 ? text.charCodeAt(at) : 0
  return code >= 0xdc00 && code < 0xe000 ? at - 1 : at
}

function cutTo(bytes: Buffer, max: number): Buffer {
  if (bytes.length <= max) return bytes
  const head = bytes.subarray(0, max)
  return max < 4 ? Buffer.alloc(0) : head.subarray(0, lastBoundary(head))
}

/** Words of an agent without escape sequences, control characters, changes of direction and half characters. */
export function cleanText(text: string): string {
  return sanitizeText(text.toWellFormed())
}

/** One line of it, for logs and messages, of at most so many characters. */
export function cleanLine(text: string, max = 200): string {
  const line = toOneLine(text.toWellFormed())
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`
}

/** Takes secrets out of texts of others. */
interface Cleaner {
  readonly environment: { hide(text: string): string }
}

/** Data of others without secrets and control characters; empty if nothing would be left that can be read. */
export function cleanJson<T extends object>({ environment }: Cleaner, value: T): Partial<T> {
  const clean = (_: string, each: unknown): unknown =>
    typeof each === 'string' ? cleanLine(each, 500) : each
  try {
    return JSON.parse(environment.hide(JSON.stringify(value, clean))) as Partial<T>
  } catch {
    // A secret was more than the inside of a text, or it is too deep to be written.
    return {}
  }
}

/** Text of others as one line: without secrets and control characters, and not too long. */
export function lineOf({ environment }: Cleaner, text: string, max = 500): string {
  return cleanLine(environment.hide(cleanText(text)), max)
}

/** A piece of some bytes that begins and ends between characters. */
export function pageOf(
  bytes: Buffer,
  { offset, kept, total }: { offset: number; kept: number; total: number },
): Page {
  const start = firstBoundary(bytes)
  const isLast = offset + bytes.length >= kept
  const end = isLast ? bytes.length : lastBoundary(bytes)
  const next = offset + end
  return {
    text: bytes.toString('utf8', start, Math.max(end, start)),
    next: isLast ? undefined : next,
    end: next,
    total,
    cut: total > kept,
  }
}

/** Start of the first whole character. */
function firstBoundary(bytes: Buffer): number {
  let at = 0
  while (at < 3 && at < bytes.length && isInside(bytes[at])) at++
  return at
}

/** End of the last whole character; all of it when it is too short to hold one. */
function lastBoundary(bytes: Buffer): number {
  let start = bytes.length - 1
  while (start > 0 && start > bytes.length - 4 && isInside(bytes[start])) start--
  const lead = bytes[start] ?? 0
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  if (start + length <= bytes.length) return bytes.length
  return start === 0 ? bytes.length : start
}

function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
