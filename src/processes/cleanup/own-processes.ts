import type { Clock, Log } from '../../api/index.ts'
import { Watchdog } from './watchdog.ts'
import { Marks, placeOf, readMark } from './marker.ts'
import { isSame } from './proc-scan.ts'
import { Sweeper, type Remains } from './sweeper.ts'

/** Process that can be ended on the spot. */
interface Killable {
  readonly pid: number | undefined
  kill(): void
}

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
  readonly #sweeper: Sweeper
  readonly #log: Log
  readonly #killAll = (): void => {
    for (const running of this.#running) running.kill()
  }
  #isRetired = false

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#watchdog = new Watchdog(this.#marks.run, log)
    this.#sweeper = new Sweeper(log, clock)
  }

  /** Makes ready for one more process; returns its mark. `environment` is the gateway's own. */
  prepare(
    directory: string,
    upstream: string,
    environment: Readonly<Record<string, string | undefined>>,
  ): string {
    this.#watchdog.start(environment)
    return this.#marks.next(directory, upstream)
  }

  add(killable: Killable): void {
    // The last resort: it runs without an event loop, while the gateway exits.
    if (this.#running.size === 0) atExit(this.#killAll)
    this.#running.add(killable)
    if (killable.pid !== undefined) this.#watchdog.watch(killable.pid)
  }

  /** Its group has ended: ends what left the group, and forgets it. */
  async delete(killable: Killable, remains: Remains | undefined): Promise<void> {
    if (remains !== undefined) await this.#sweeper.sweep(remains)
    if (killable.pid !== undefined) this.#watchdog.forget(killable.pid)
    if (this.#running.delete(killable) && this.#running.size === 0) notAtExit(this.#killAll)
    this.#check()
  }

  /** No more will come: the watchdog may go whenever nothing runs. */
  retire(): void {
    this.#isRetired = true
    this.#check()
  }

  /** Ends what gateways that died have left behind in these directories. */
  async endOrphans(directories: ReadonlySet<string>): Promise<void> {
    const places = new Set([...directories].map(placeOf))
    const upstreams = new Set<string>()
    const ended = await this.#sweeper.endOrphans(({ marks }) =>
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

  #check(): void {
    if (this.#isRetired && this.#running.size === 0) this.#watchdog.dismiss()
  }
}
