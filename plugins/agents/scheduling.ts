import type { Clock, Principal } from '../../src/plugin.ts'
import { compileCallers, FairQueue } from '../../src/plugin.ts'
import type { AgentsConfig } from './settings.ts'
import type { RouteDecision } from './types.ts'

/** Reasons why a task gets no place. */
type SlotRefusal = 'full' | 'late' | 'cancelled'

/** Called when the place is not needed any more; the second time it does nothing. */
export type ReleaseSlot = () => void

interface QueuedTask {
  readonly grant: (leave: ReleaseSlot) => void
}

/** The places of one agent, and the tasks that wait for one: owners take turns, and each owner's tasks come in their order. */
export class SlotQueue {
  #concurrent: number
  #max: number
  readonly #clock: Clock
  readonly #waiting = new FairQueue<QueuedTask>()
  #running = 0

  constructor(clock: Clock, { concurrent, queue }: { concurrent: number; queue: number }) {
    this.#clock = clock
    this.#concurrent = concurrent
    this.#max = queue
  }

  get running(): number {
    return this.#running
  }

  get queued(): number {
    return this.#waiting.size
  }

  /** True if no more tasks of this owner may wait: of whom none waits finds a place behind full ones, up to as many again. */
  isQueueFull(owner: string): boolean {
    const max = this.#waiting.countQueued(owner) === 0 ? 2 * this.#max : this.#max
    return this.#running >= this.#concurrent && this.queued >= max
  }

  /** New bounds from now on; a task that has a place keeps it. */
  resize({ concurrent, queue }: { concurrent: number; queue: number }): void {
    this.#concurrent = concurrent
    this.#max = queue
    this.#serveNext()
  }

  /** A place, at once or when it is this owner's turn. A task that was admitted before waits even where the queue is full. */
  acquire(
    owner: string,
    maxMs: number,
    signal: AbortSignal,
    wasAdmitted = false,
  ): Promise<ReleaseSlot | SlotRefusal> {
    if (signal.aborted) return Promise.resolve('cancelled')
    if (this.#running < this.#concurrent && this.queued === 0) return Promise.resolve(this.#occupySlot())
    if (this.isQueueFull(owner) && !wasAdmitted) return Promise.resolve('full')
    return new Promise(resolve => {
      const settle = (result: ReleaseSlot | SlotRefusal): void => {
        stopTimer()
        signal.removeEventListener('abort', onAbort)
        resolve(result)
      }
      const waiting = { grant: settle }
      const refuse = (why: SlotRefusal): void => {
        if (this.#waiting.delete(waiting)) settle(why)
      }
      const onAbort = (): void => refuse('cancelled')
      const stopTimer = this.#clock.after(maxMs, () => refuse('late'))
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(owner, waiting)
      this.#serveNext()
    })
  }

  #occupySlot(): ReleaseSlot {
    this.#running++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#running--
      this.#serveNext()
    }
  }

  #serveNext(): void {
    while (this.#running < this.#concurrent) {
      const next = this.#waiting.take()
      if (next === undefined) return
      next.grant(this.#occupySlot())
    }
  }
}

/** Requirements of a task that decide which agent gets it. */
export interface RouteRequest {
  readonly agent: string | undefined
  readonly taskType: string | undefined
  readonly capabilities: readonly string[]
  readonly caller: Pick<Principal, 'issuer' | 'subject'>
}

/** One agent at the moment of a decision. */
export interface AgentStatus {
  readonly id: string
  readonly capabilities: ReadonlySet<string>
  /** Why it cannot work at all now; undefined when it can. */
  readonly unfit: string | undefined
}

export type AgentRouter = (wanted: RouteRequest, agents: readonly AgentStatus[]) => RouteDecision

/**
 * Chooses the agents of a task: the one that was named; else those of the first rule that fits, else those of `default`, else all
 * as they are declared. Of those, in that order, who can do it and is healthy. @throws Error for a caller that cannot be read
 */
export function createRouter(
  config: AgentsConfig['routing'],
  auth?: Parameters<typeof compileCallers>[1],
): AgentRouter {
  const rules = (config?.rules ?? []).map(({ id, taskTypes, principals, prefer }, index) => ({
    by: `rule:${id ?? index + 1}`,
    prefer,
    types: taskTypes,
    isFor: principals === undefined ? undefined : compileCallers(principals, auth),
  }))
  const usual = config?.default ?? []

  const findCandidates = ({ agent, taskType, caller }: RouteRequest, all: readonly string[]) => {
    if (agent !== undefined) return { by: 'explicit', prefer: [agent] }
    const rule = rules.find(
      ({ types, isFor }) =>
        (types === undefined || types.includes(taskType ?? '')) && (isFor === undefined || isFor(caller)),
    )
    if (rule !== undefined) return rule
    return usual.length > 0 ? { by: 'default', prefer: usual } : { by: 'order', prefer: all }
  }

  return (wanted, agents) => {
    const ids = agents.map(({ id }) => id)
    const { by, prefer } = findCandidates(wanted, ids)
    const candidates = [...new Set([...prefer, ...ids])].flatMap(id => {
      const agent = agents.find(each => each.id === id)
      if (agent === undefined) return []
      const why = prefer.includes(id) ? rejectionReason(agent, wanted) : `it is not named by ${by}`
      return [{ agent: id, fits: why === undefined, why: why ?? 'it fits' }]
    })
    const chosen = candidates.filter(({ fits }) => fits).map(({ agent }) => agent)
    const first = candidates.findIndex(({ fits }) => fits)
    const passedOver = candidates
      .slice(0, Math.max(first, 0))
      .filter(({ agent, why }) => agents.some(({ id, unfit }) => id === agent && unfit === why))
      .map(({ agent, why }) => ({ agent, why }))
    return { chosen, by, candidates, passedOver }
  }
}

function rejectionReason({ capabilities, unfit }: AgentStatus, wanted: RouteRequest): string | undefined {
  const missing = wanted.capabilities.filter(capability => !capabilities.has(capability))
  return missing.length > 0 ? `it lacks ${missing.join(', ')}` : unfit
}
