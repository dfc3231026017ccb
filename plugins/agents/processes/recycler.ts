import type { Clock } from '../../../src/plugin.ts'
import { AgentFailure } from '../types/agent.ts'
import type { AgentSettings } from '../types/settings.ts'
import type { Places } from './process-quota.ts'
import type { AgentProcess } from './agent-process.ts'

/** Time between two looks at age and memory while nothing happens. */
const LOOK_MS = 30_000

/** Decides how long a process is kept: by its turns, age, memory and idleness. */
export class RecyclePolicy {
  readonly #clock: Clock
  readonly #pool: AgentSettings['pool']
  readonly #places: Places
  readonly #live: () => readonly AgentProcess[]
  /** When each idle one began to be idle, with the way to keep it. */
  readonly #idle = new Map<AgentProcess, () => void>()
  #stopTimer: (() => void) | undefined

  constructor(
    clock: Clock,
    pool: AgentSettings['pool'],
    places: Places,
    live: () => readonly AgentProcess[],
  ) {
    this.#clock = clock
    this.#pool = pool
    this.#places = places
    this.#live = live
  }

  /** Something about it has changed. */
  look(process: AgentProcess): void {
    if (process.hasEnded) return
    this.#stopTimer ??= this.#clock.after(LOOK_MS, () => this.#lookAtAll())
    if (this.#isWorn(process)) process.isRetiring = true
    if (process.takenSlots > 0) return this.#keep(process)
    if (process.isRetiring) return end(process)
    if (!this.#idle.has(process)) this.#becomesIdle(process)
    if (this.#places.isWanted) this.endIdle()
  }

  /** Ends one process without sessions; says whether there was one. */
  endIdle(): boolean {
    const process = this.#live().find(({ takenSlots }) => takenSlots === 0)
    if (process !== undefined) end(process)
    return process !== undefined
  }

  forget(process: AgentProcess): void {
    this.#keep(process)
  }

  stop(): void {
    this.#stopTimer?.()
    for (const process of [...this.#idle.keys()]) this.#keep(process)
  }

  #isWorn({ turns, startedAt }: AgentProcess): boolean {
    return turns >= this.#pool.maxTurns || this.#clock.now() - startedAt >= this.#pool.maxAgeMs
  }

  #keep(process: AgentProcess): void {
    this.#idle.get(process)?.()
    this.#idle.delete(process)
  }

  #becomesIdle(process: AgentProcess): void {
    void this.#weigh(process)
    const wait = (): void => {
      const stopTimer = this.#clock.after(Math.min(this.#pool.idleMs, 2 ** 31 - 1), () => {
        // A session that has just come is not looked at yet.
        if (process.takenSlots > 0) this.#keep(process)
        else if (this.#isWarm()) wait()
        else end(process)
      })
      this.#idle.set(process, stopTimer)
    }
    wait()
  }

  /** True if there are no more than are to be warm. */
  #isWarm(): boolean {
    return this.#live().filter(({ isRetiring }) => !isRetiring).length <= this.#pool.warm
  }

  #lookAtAll(): void {
    this.#stopTimer = undefined
    for (const process of this.#live()) {
      this.look(process)
      void this.#weigh(process)
    }
  }

  async #weigh(process: AgentProcess): Promise<void> {
    const memory = await process.memory().catch(() => undefined)
    if (memory === undefined || memory <= this.#pool.maxMemory || process.hasEnded) return
    process.isRetiring = true
    if (process.takenSlots === 0) end(process)
  }
}

function end(process: AgentProcess): void {
  process.end(
    new AgentFailure(
      'stopped',
      'process',
      `agent "${process.settings.id}": its process is not needed any more`,
    ),
  )
}
