import type { Clock, Principal } from '../../src/plugin.ts'
import { compileCallers, FairQueue } from '../../src/plugin.ts'
import type { AgentsConfig } from './settings.ts'
import type { RouteDecision } from './types.ts'

/** Reasons for refusing a slot. */
type SlotRefusal = 'full' | 'late' | 'cancelled'

/** Releases the slot; idempotent. */
export type ReleaseSlot = () => void

interface QueuedTask {
  readonly grant: (leave: ReleaseSlot) => void
}

/** An agent's slots and its task queue, which is fair between owners and FIFO per owner. */
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

  /**
   * True if the owner cannot queue another task. Owners without queued tasks may exceed the limit, up to twice its
   * size.
   */
  isQueueFull(owner: string): boolean {
    const max = this.#waiting.countQueued(owner) === 0 ? 2 * this.#max : this.#max
    return this.#running >= this.#concurrent && this.queued >= max
  }

  /** Applies new limits; running tasks keep their slots. */
  resize({ concurrent, queue }: { concurrent: number; queue: number }): void {
    this.#concurrent = concurrent
    this.#max = queue
    this.#serveNext()
  }

  /** Acquires a slot, immediately or after queueing. Previously admitted tasks may wait even if the queue is full. */
  acquire(owner: string, maxMs: number, signal: AbortSignal, wasAdmitted = false): Promise<ReleaseSlot | SlotRefusal> {
    if (signal.aborted) return Promise.resolve('cancelled')
    if (this.#running < this.#concurrent && this.queued === 0) return Promise.resolve(this.#occupySlot())
    if (this.isQueueFull(owner) && !wasAdmitted) return Promise.resolve('full')
    return new Promise(resolve => {
      const endWait = (result: ReleaseSlot | SlotRefusal): void => {
        stopTimer()
        signal.removeEventListener('abort', onAbort)
        resolve(result)
      }
      const waiting = { grant: endWait }
      const refuse = (refusal: SlotRefusal): void => {
        if (this.#waiting.delete(waiting)) endWait(refusal)
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

/** Task requirements for routing. */
export interface RouteRequest {
  readonly agent: string | undefined
  readonly taskType: string | undefined
  readonly capabilities: readonly string[]
  readonly caller: Pick<Principal, 'issuer' | 'subject'>
}

/** An agent's state at routing time. */
export interface AgentStatus {
  readonly id: string
  readonly capabilities: ReadonlySet<string>
  /** Reason why the last start failed; undefined for a healthy agent. */
  readonly illness: string | undefined
}

export type AgentRouter = (request: RouteRequest, agents: readonly AgentStatus[]) => RouteDecision

/**
 * Chooses candidates for a task: the named agent, or those in the first matching rule, `default`, or declaration
 * order. Unhealthy agents come last, because they may have recovered. @throws Error for an invalid caller pattern
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

  return (request, agents) => {
    const ids = agents.map(({ id }) => id)
    const { by, prefer } = findCandidates(request, ids)
    const ordered = [...new Set([...prefer, ...ids])].flatMap(id => agents.find(agent => agent.id === id) ?? [])
    const candidates = ordered.map(({ id, capabilities, illness }) => {
      const missing = request.capabilities.filter(capability => !capabilities.has(capability))
      const isPreferred = prefer.includes(id)
      const reason = missing.length > 0 ? `lacks ${missing.join(', ')}` : (illness ?? 'it fits')
      return {
        agent: id,
        fits: isPreferred && missing.length === 0,
        why: isPreferred ? reason : `not selected by ${by}`,
      }
    })
    const fitting = ordered.filter((_, index) => candidates[index]?.fits)
    const chosen = [true, false].flatMap(isHealthy =>
      fitting.filter(({ illness }) => (illness === undefined) === isHealthy).map(({ id }) => id),
    )
    return { chosen, by, candidates }
  }
}
