import type { Clock, Log } from '../../api/index.ts'
import { readMark } from './marker.ts'
import { isSame, scanProcesses, startOf, type ProcessId, type Seen } from './proc-scan.ts'

/** Processes that may be left of a server whose group has ended. */
export interface Remains {
  /** Its process id, which is also the id of its session. */
  readonly pid: number
  readonly mark: string
  /** Processes that it was seen to have started. */
  readonly recorded: readonly ProcessId[]
}

/** A process that is killed may have started something in the last moment. */
const ROUNDS = 20
const PAUSE_MS = 20

/** Ends what left the group of its server: daemons, and what they started. Linux only; elsewhere there is nothing to see. */
export class Sweeper {
  readonly #log: Log
  readonly #clock: Clock
  /** Nothing that is older than we are is from us. */
  readonly #since = Number(startOf(process.pid) ?? 0)
  #running: Promise<readonly Seen[]> | undefined
  #next: Promise<readonly Seen[]> | undefined

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** Resolves when nothing of it is left, or nothing more can be done about it. Never rejects. */
  async sweep(remains: Remains): Promise<void> {
    const ended = new Set<number>()
    const upstream = readMark(remains.mark)?.upstream
    const left = await this.#rounds(
      () => this.#scan(),
      seen => isOf(seen, remains),
      ended,
    )
    if (ended.size > 0)
      this.#log.info('ended processes that left their group', { upstream, pids: [...ended] })
    if (left.length > 0) this.#log.warn('processes cannot be ended', { upstream, pids: left })
  }

  /** Ends whatever `isOrphan` says, of all processes of the machine; returns what was ended. Never rejects. */
  async endOrphans(isOrphan: (seen: Seen) => boolean): Promise<ReadonlySet<number>> {
    const ended = new Set<number>()
    await this.#rounds(scanProcesses, isOrphan, ended)
    return ended
  }

  async #rounds(
    scan: () => Promise<readonly Seen[]>,
    isOurs: (seen: Seen) => boolean,
    ended: Set<number>,
  ): Promise<number[]> {
    let left: readonly Seen[] = []
    for (let round = 0; round < ROUNDS; round++) {
      left = (await scan()).filter(seen => seen.pid !== process.pid && isOurs(seen))
      if (left.length === 0) break
      for (const seen of left) if (kill(seen)) ended.add(seen.pid)
      await new Promise<void>(resolve => this.#clock.after(PAUSE_MS, resolve))
    }
    return left.filter(isSame).map(({ pid }) => pid)
  }

  /** A look that begins now or later; many who want one share it. */
  #scan(): Promise<readonly Seen[]> {
    if (this.#running === undefined) return this.#begin()
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.#begin()
    })
    return this.#next
  }

  #begin(): Promise<readonly Seen[]> {
    const running = scanProcesses(this.#since).finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}

function isOf(seen: Seen, { pid, mark, recorded }: Remains): boolean {
  if (seen.marks.includes(mark)) return true
  if (recorded.some(known => known.pid === seen.pid && known.start === seen.start)) return true
  // Once its leader is gone nobody else can have this session, as long as anyone is in it.
  return seen.session === pid && startOf(pid) === undefined
}

/** Looks once more who it is, and signals in the same breath. */
function kill(id: ProcessId): boolean {
  if (!isSame(id)) return false
  try {
    return process.kill(id.pid, 'SIGKILL')
  } catch {
    return false
  }
}
