import { createHash, randomBytes } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import type { Clock, Log } from '../../api/index.ts'
import { Watchdog } from './watchdog.ts'
import { isSame, type ProcessId, scanProcesses, type Seen, startOf } from './proc-scan.ts'

/** Process that can be ended on the spot. */
interface Killable {
  readonly pid: number | undefined
  kill(): void
}

/** A process that is killed may have started something in the last moment. */
const ROUNDS = 3
const PAUSE_MS = 20

/** Last handlers of all gateways in this process: Node suspects a leak where each has a listener for `exit` of its own. */
const lastHandlers = new Set<() => void>()

function runLast(): void {
  for (const handler of lastHandlers) handler()
}

function atExit(handler: () => void): void {
  if (lastHandlers.size === 0) process.on('exit', runLast)
  lastHandlers.add(handler)
}

function notAtExit(handler: () => void): void {
  if (lastHandlers.delete(handler) && lastHandlers.size === 0) process.off('exit', runLast)
}

/** The processes of one gateway, so that none outlives it, however it ends. */
export class ProcessTable {
  /** Generations that use it; the last one retires it. */
  owners = 0
  readonly #running = new Set<Killable>()
  readonly #marks = new Marks()
  readonly #watchdog: Watchdog
  readonly #log: Log
  readonly #clock: Clock
  readonly #killAll = (): void => {
    for (const running of this.#running) running.kill()
  }
  #isRetired = false
  /** True once anything was started that may have left its group. */
  #isUsed = false

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
    this.#watchdog = new Watchdog(this.#marks.run, log)
  }

  /** Makes ready for one more process; returns its mark. `environment` is the gateway's own. */
  prepare(
    directory: string,
    upstream: string,
    environment: Readonly<Record<string, string | undefined>>,
  ): string {
    this.#isUsed = true
    this.#watchdog.start(environment)
    return this.#marks.next(directory, upstream)
  }

  add(killable: Killable): void {
    // The last resort: it runs without an event loop, while the gateway exits.
    if (this.#running.size === 0) atExit(this.#killAll)
    this.#running.add(killable)
    if (killable.pid !== undefined) this.#watchdog.watch(killable.pid)
  }

  /** Its group has ended: forgets it. After the last one of a gateway that stops, what left the groups is ended. */
  async delete(killable: Killable): Promise<void> {
    if (killable.pid !== undefined) this.#watchdog.forget(killable.pid)
    if (this.#running.delete(killable) && this.#running.size === 0) notAtExit(this.#killAll)
    await this.#check()
  }

  /** No more will come: the watchdog may go whenever nothing runs. */
  async retire(): Promise<void> {
    this.#isRetired = true
    await this.#check()
  }

  /** Ends what gateways that died have left behind in these directories. */
  async endOrphans(directories: ReadonlySet<string>): Promise<void> {
    const places = new Set([...directories].map(placeOf))
    const upstreams = new Set<string>()
    const ended = await this.#endEach(0, ({ marks }) =>
      marks.some(text => {
        const mark = readMark(text)
        if (mark === undefined || !places.has(mark.place) || isSame(mark.owner)) return false
        upstreams.add(mark.upstream)
        return true
      }),
    )
    if (ended.size > 0)
      this.#log.warn('ended what a gateway that died had left behind', {
        upstreams: [...upstreams],
        pids: [...ended],
      })
  }

  async #check(): Promise<void> {
    if (!this.#isRetired || this.#running.size > 0) return
    if (this.#isUsed) {
      this.#isUsed = false
      const { run } = this.#marks
      // Nothing that is older than this gateway is from it.
      const since = Number(startOf(process.pid) ?? 0)
      const ended = await this.#endEach(
        since,
        ({ marks }) => this.#running.size === 0 && marks.some(mark => mark.startsWith(run)),
      )
      if (ended.size > 0) this.#log.info('ended processes that left their group', { pids: [...ended] })
    }
    if (this.#running.size === 0) this.#watchdog.dismiss()
  }

  /** Ends those processes of the machine; returns their ids. Linux only; elsewhere there is nothing to see. Never rejects. */
  async #endEach(since: number, isOurs: (seen: Seen) => boolean): Promise<ReadonlySet<number>> {
    const ended = new Set<number>()
    for (let round = 0; round < ROUNDS; round++) {
      const found = (await scanProcesses(since)).filter(seen => seen.pid !== process.pid && isOurs(seen))
      if (found.length === 0) break
      for (const seen of found) if (killProcess(seen)) ended.add(seen.pid)
      await new Promise<void>(resolve => this.#clock.after(PAUSE_MS, resolve))
    }
    return ended
  }
}

/** Checks again who it is, and signals in the same breath. */
function killProcess(id: ProcessId): boolean {
  if (!isSame(id)) return false
  try {
    return process.kill(id.pid, 'SIGKILL')
  } catch {
    return false
  }
}

/** Says to which gateway a process belongs. */
interface Mark {
  readonly place: string
  /** The gateway that started it. */
  readonly owner: { readonly pid: number; readonly start: string }
  readonly upstream: string
}

/** Makes the marks of the processes of one graph. */
class Marks {
  /** Beginning of the marks of this graph, and of no others. */
  readonly run: string
  #count = 0

  constructor() {
    this.run = `tapgate:${process.pid}:${startOf(process.pid) ?? '0'}:${randomBytes(16).toString('hex')}:`
  }

  /** A mark that no other process has. */
  next(directory: string, upstream: string): string {
    return `${this.run}${placeOf(directory)}:${++this.#count}:${upstream}`
  }
}

const FORM = /^tapgate:(\d+):(\d+):[0-9a-f]{32}:([0-9a-f]{12}):\d+:([a-z0-9-]{1,64})$/

/** Reads a mark; undefined for what is none. */
function readMark(text: string): Mark | undefined {
  const [, pid, start, place, upstream] = FORM.exec(text) ?? []
  if (pid === undefined || start === undefined || place === undefined || upstream === undefined)
    return undefined
  return { place, owner: { pid: Number(pid), start }, upstream }
}

/** Names a directory of this user, where process ids mean the same. A container's processes have another place. */
function placeOf(directory: string): string {
  const who = `${process.getuid?.() ?? ''}\0${namespace()}\0${directory}`
  return createHash('sha256').update(who).digest('hex').slice(0, 12)
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
