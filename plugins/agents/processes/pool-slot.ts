import { AgentFailure, type AgentHealth, type FailureKind } from '../types/agent.ts'
import type { Places } from './process-quota.ts'
import type { AgentProcess } from './agent-process.ts'
import { GatewayError, reasonOf } from '../../../src/plugin.ts'

const OUT: ReadonlySet<FailureKind> = new Set(['spawn', 'timeout', 'crash', 'protocol', 'refused'])

/** Phases that every task would fail in. */
const STARTS: ReadonlySet<string> = new Set(['spawn', 'initialize', 'auth'])

/** A process of a pool, from the moment that it is wanted: first a place for it, then its start, then its sessions. */
export class PoolSlot {
  /** The directory of the sandbox around it. */
  readonly place: string | undefined
  readonly ready: Promise<AgentProcess>
  /** Resolves when there is a place for it, or never will be. */
  readonly placed: Promise<void>
  hasPlace = false
  process: AgentProcess | undefined
  readonly #wanted = new AbortController()
  readonly #starting = new AbortController()
  #giveBack: () => void = () => undefined
  #stopped: AgentFailure | undefined
  #early = 0
  #hasFailed = false

  constructor(
    place: string | undefined,
    places: Places,
    launch: (signal: AbortSignal) => Promise<AgentProcess>,
  ) {
    this.place = place
    const whenPlaced = Promise.withResolvers<void>()
    this.placed = whenPlaced.promise
    this.ready = this.#begin(places, launch, whenPlaced.resolve)
  }

  /** Sessions that are in it or will be. */
  get taken(): number {
    return this.process?.takenSlots ?? this.#early
  }

  /** True while it takes sessions, or will. */
  get isOpen(): boolean {
    return !this.#hasFailed && !this.#wanted.signal.aborted && this.process?.isRetiring !== true
  }

  hasRoom(place: string | undefined, sessions: number): boolean {
    return this.isOpen && this.place === place && this.taken < sessions
  }

  /** Says whether a session may come. */
  take(): boolean {
    if (!this.isOpen) return false
    if (this.process === undefined) this.#early++
    else this.process.takenSlots++
    return true
  }

  /** The session did not come. */
  leave(): void {
    if (this.process !== undefined) return this.process.leave()
    this.#early--
    if (this.#early === 0 && !this.hasPlace) this.#wanted.abort()
  }

  /** Nothing is left of the process. */
  giveBack(): void {
    this.#giveBack()
  }

  async stop(why: AgentFailure): Promise<void> {
    this.#stopped = why
    this.#wanted.abort()
    this.#starting.abort(why)
    await this.ready.then(
      async process => {
        process.end(why)
        await process.gone
      },
      () => undefined,
    )
  }

  async #begin(
    places: Places,
    launch: (signal: AbortSignal) => Promise<AgentProcess>,
    placed: () => void,
  ): Promise<AgentProcess> {
    try {
      this.#giveBack = await places.take(this.#wanted.signal)
      this.hasPlace = true
      placed()
      this.process = await launch(this.#starting.signal)
      this.process.takenSlots = this.#early
      return this.process
    } catch (error) {
      this.#hasFailed = true
      placed()
      this.#giveBack()
      throw this.#stopped ?? error
    }
  }
}

/** Health of an agent after an error of a start or a session. */
export function healthAfter(error: unknown, before: AgentHealth): AgentHealth {
  if (!(error instanceof AgentFailure)) return before
  const facts = before.facts === undefined ? {} : { facts: before.facts }
  if (error.kind === 'auth') return { state: 'needs_auth', why: error.message, ...facts }
  const isOut = OUT.has(error.kind) && STARTS.has(error.phase)
  const { lastWords } = error
  const words = lastWords === undefined || lastWords === '' ? {} : { lastWords }
  return isOut ? { state: 'unavailable', why: error.message, ...words, ...facts } : before
}

/** Whatever kept a process from being started, as a failure of the agent. */
export function whyNotStarted(error: unknown): AgentFailure {
  if (error instanceof AgentFailure) return error
  const failure = new AgentFailure(
    'spawn',
    'spawn',
    reasonOf(error),
    error instanceof GatewayError ? { code: error.code } : undefined,
  )
  failure.cause = error
  return failure
}
