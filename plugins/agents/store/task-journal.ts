import { StringDecoder } from 'node:string_decoder'
import type { Clock, JsonObject, SqlDatabase } from '../../../src/plugin.ts'
import { toOneLine, sanitizeText } from '../../../src/plugin.ts'
import type { AgentSettings } from '../settings.ts'
import type { TaskEvent, TaskQuestion, TaskState } from '../types.ts'
import type { TaskData, TaskRecord, TaskStore } from './task-store.ts'
import { ACTIVE } from './task-store.ts'

/** Write batching interval. */
const GATHER_MS = 200
/** Characters held back, so that a secret that arrives in parts can be redacted. */
const HELD = 2048
const MAX_HELD = 256 * 1024
const MAX_LINES = 100
const MAX_FILES = 1000
const MAX_EVENT = 1000
const MAX_USAGE = 16_384

type OutputLimits = AgentSettings['output']

interface TaskJournalDeps extends CleanerDeps {
  readonly environment: { readonly clock: Clock; readonly now: () => number; hide(text: string): string }
  readonly database: SqlDatabase
  readonly tasks: TaskStore
  readonly watchers: { emit(id: string): unknown }
}

/** Records one task's progress: state changes immediately, output in batches. All text is cleaned and redacted. */
export class TaskJournal {
  readonly data: TaskData
  /** Only this journal changes it. */
  state: TaskState
  readonly #context: TaskJournalDeps
  readonly #id: string
  #output: OutputLimits
  #text = ''
  #events: TaskEvent[] = []
  #isChanged = false
  #stopTimer: (() => void) | undefined

  constructor(context: TaskJournalDeps, record: TaskRecord, output: OutputLimits) {
    const { id, owner: _, state, root: __, createdAt: ___, updatedAt: ____, endedAt: _____, start, ...data } = record
    this.#context = context
    this.#id = id
    this.#output = output
    this.state = state
    this.data = structuredClone(data)
  }

  /** Applies the limits for the current agent. */
  setLimits(output: OutputLimits): void {
    this.#output = output
  }

  addText(text: string): void {
    this.#text += text
    if (this.#text.length > MAX_HELD) this.flush()
    else this.#scheduleWrite()
  }

  /** True if the agent wrote any non-blank text. */
  get hasText(): boolean {
    return this.data.said > 0 || this.#text.trim() !== ''
  }

  addEvent(kind: TaskEvent['kind'], text: string): void {
    const line = formatLine(this.#context, text, MAX_EVENT)
    this.#events.push({ seq: ++this.data.seq, at: this.#context.environment.now(), kind, text: line })
    if (this.#events.length > this.#output.events + MAX_LINES) this.#events.shift()
    this.#scheduleWrite()
  }

  setProgress(text: string): void {
    this.data.progress = formatLine(this.#context, text, 200)
    this.#scheduleWrite()
  }

  addChangedFile(path: string): void {
    const name = formatLine(this.#context, path, 4096)
    const { filesChanged } = this.data
    if (filesChanged.length < MAX_FILES && !filesChanged.includes(name)) filesChanged.push(name)
    this.#scheduleWrite()
  }

  addDenial(text: string): void {
    if (this.data.denied.length < MAX_LINES) this.data.denied.push(formatLine(this.#context, text))
  }

  addWarning(text: string): void {
    const line = formatLine(this.#context, text)
    if (this.data.warnings.length < MAX_LINES) this.data.warnings.push(line)
    this.addEvent('warning', line)
  }

  addAttempt(agent: string): void {
    this.data.attempts.push({ agent })
    this.#scheduleWrite()
  }

  /** Records why the last attempt failed. */
  failAttempt(failure: string): void {
    const last = this.data.attempts.at(-1)
    if (last !== undefined) last.failure = formatLine(this.#context, failure)
    this.#scheduleWrite()
  }

  /** Opens a question; stored with the next state change. */
  openQuestion(question: TaskQuestion): void {
    this.data.questions.push(question)
    this.#scheduleWrite()
  }

  /** Closes one question, or all. */
  closeQuestions(id?: string): void {
    this.data.questions = this.data.questions.filter(question => id !== undefined && question.id !== id)
    this.#scheduleWrite()
  }

  setUsage(usage: JsonObject): void {
    const clean = cleanJson(this.#context, usage)
    const all = { ...this.data.usage, ...clean }
    const storedUsage = [all, clean].find(each => JSON.stringify(each).length <= MAX_USAGE)
    if (storedUsage === undefined) return
    this.data.usage = storedUsage
    this.#scheduleWrite()
  }

  setDiff(text: string): void {
    const bytes = Buffer.from(this.#cleanOutput(text))
    const stored = truncateBytes(bytes, this.#output.keep)
    this.data.diff = bytes.length
    this.data.diffKept = stored.length
    this.#context.tasks.dropChunks(this.#id, 'diff')
    if (stored.length > 0) this.#context.tasks.addChunk(this.#id, 'diff', 0, stored)
  }

  /** Discards the text before another agent starts over. */
  dropText(): void {
    this.#text = ''
    this.#context.tasks.dropChunks(this.#id, 'text')
    this.data.said = 0
    this.data.kept = 0
  }

  /** Changes the state, together with buffered data; on disk on return. Returns false if the state is not in `from`. */
  transition(
    from: readonly TaskState[],
    state: TaskState,
    { why, ...change }: Partial<Pick<TaskData, 'why' | 'agent' | 'wasPrompted'>> = {},
  ): boolean {
    if (!from.includes(this.state)) return false
    const reason = why === undefined ? undefined : formatLine(this.#context, why)
    this.addEvent('state', reason === undefined ? state : `${state}: ${reason}`)
    this.state = state
    Object.assign(this.data, change, { why: reason })
    this.#context.database.runTransaction(() => this.#write(true))
    this.#context.watchers.emit(this.#id)
    return true
  }

  /** Records, on disk, that the agent may change something from now on. */
  markEffect(): void {
    if (this.data.hadEffect || !ACTIVE.includes(this.state)) return
    this.data.hadEffect = true
    this.#context.database.runTransaction(() => this.#write(false))
  }

  /** Writes buffered data. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    if (this.#isChanged && ACTIVE.includes(this.state)) this.#writeUnsynced(false)
  }

  /** Records data that arrives after the end, such as the changes from a cancelled task. */
  writeLast(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#writeUnsynced(true)
  }

  #writeUnsynced(isLast: boolean): void {
    const { database, tasks, watchers } = this.#context
    if (!database.isOpen) return
    database.runTransactionUnsynced(() => {
      // A finished task may have been deleted.
      if (tasks.findAny(this.#id) !== undefined) this.#write(isLast)
    })
    watchers.emit(this.#id)
  }

  #scheduleWrite(): void {
    this.#isChanged = true
    this.#stopTimer ??= this.#context.environment.clock.after(GATHER_MS, () => this.flush())
  }

  #write(isLast: boolean): void {
    this.#isChanged = false
    const { tasks } = this.#context
    const bytes = Buffer.from(this.#takeText(isLast))
    const stored = truncateBytes(bytes, Math.max(0, this.#output.keep - this.data.kept))
    // Text after truncation would not be contiguous.
    const isWhole = this.data.said === this.data.kept
    if (stored.length > 0 && isWhole) {
      tasks.addChunk(this.#id, 'text', this.data.kept, stored)
      this.data.kept += stored.length
    }
    this.data.said += bytes.length
    for (const event of this.#events) tasks.addEvent(this.#id, event)
    if (this.#events.length > 0) tasks.dropEvents(this.#id, this.data.seq - this.#output.events)
    this.#events = []
    tasks.write(this.#id, this.state, this.data)
  }

  #takeText(isLast: boolean): string {
    const completeText = this.#cleanOutput(this.#text)
    const cut = isLast ? this.#text.length : findCharacterStart(this.#text, this.#text.length - HELD)
    if (cut <= 0) return ''
    const [head, tail] = [this.#text.slice(0, cut), this.#text.slice(cut)]
    const clean = this.#cleanOutput(head)
    // A secret spans the boundary; hold it back until more text arrives.
    if (!isLast && clean + this.#cleanOutput(tail) !== completeText && this.#text.length < MAX_HELD) return ''
    this.#text = tail
    return clean
  }

  #cleanOutput(text: string): string {
    return this.#context.environment.hide(cleanText(text))
  }
}

/** Avoids splitting a surrogate pair. */
function findCharacterStart(text: string, at: number): number {
  const code = at > 0 ? text.charCodeAt(at) : 0
  return code >= 0xdc00 && code < 0xe000 ? at - 1 : at
}

/** Keeps whole characters only. */
function truncateBytes(bytes: Buffer, max: number): Buffer {
  return bytes.length <= max ? bytes : Buffer.from(new StringDecoder('utf8').write(bytes.subarray(0, max)))
}

/** Removes escape sequences, control characters, bidi controls and lone surrogates. */
export function cleanText(text: string): string {
  return sanitizeText(text.toWellFormed())
}

/** Cleans a text to one line with at most `max` characters, for logs and messages. */
export function cleanLine(text: string, max = 200): string {
  const line = toOneLine(text.toWellFormed())
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`
}

interface CleanerDeps {
  readonly environment: { hide(text: string): string }
}

/** Redacts and cleans JSON data; returns an empty object if it is no longer valid. */
export function cleanJson<T extends object>({ environment }: CleanerDeps, value: T): Partial<T> {
  const clean = (_: string, each: unknown): unknown => (typeof each === 'string' ? cleanLine(each, 500) : each)
  try {
    return JSON.parse(environment.hide(JSON.stringify(value, clean))) as Partial<T>
  } catch {
    // Redaction broke the JSON syntax, or the data is nested too deeply.
    return {}
  }
}

/** Redacts and cleans a text to one line with at most `max` characters. */
export function formatLine({ environment }: CleanerDeps, text: string, max = 500): string {
  return cleanLine(environment.hide(cleanText(text)), max)
}

/** A page from a long text. */
export type Page = ReturnType<typeof decodeOutputPage>

/** Slices bytes at character boundaries. */
export function decodeOutputPage(
  bytes: Buffer,
  { offset, stored, total }: { offset: number; stored: number; total: number },
) {
  let start = 0
  while (start < bytes.length && isContinuationByte(bytes[start])) start++
  const isLast = offset + bytes.length >= stored
  // The decoder holds back an incomplete character.
  const text = new StringDecoder('utf8').write(bytes.subarray(start))
  const end = offset + (isLast ? bytes.length : start + Buffer.byteLength(text))
  return {
    text,
    /** Undefined at the end. */
    next: isLast ? undefined : end,
    end,
    total,
    /** True if content was dropped because of a size limit. */
    cut: total > stored,
  }
}

function isContinuationByte(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
