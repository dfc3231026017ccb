import {
  type Answer,
  BoundedMap,
  type Call,
  type Clock,
  type Exchange,
  gatewayError,
  type JsonObject,
} from '../../src/plugin.ts'
import { type Selection, type Subject, Subjects } from './store.ts'

/** Failures that are remembered, of all callers and of one. */
const MAX_FAILURES = 4000
const MAX_OF_CALLER = 1000

/** One call to a server for all who want its answer. It is given up when the last of them has. */
export class Flight implements Call, Subject {
  readonly upstream: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly exchange: Exchange
  readonly ownList: string | undefined
  readonly target: string
  readonly tags: readonly string[]
  params: JsonObject | undefined
  readonly #listeners = new Set<(reason: string) => void>()
  #answer: Promise<Answer> | undefined
  #waiting: number
  #reason: string | undefined

  /** `waiting` is how many wait for it from the beginning without having joined. */
  constructor(call: Call, exchange: Exchange, about: Pick<Subject, 'target' | 'tags'>, waiting: number) {
    this.upstream = call.upstream
    this.method = call.method
    this.params = call.params
    this.headers = call.headers
    this.exchange = exchange
    this.ownList = call.ownList
    this.target = about.target
    this.tags = about.tags
    this.#waiting = waiting
  }

  /** True once it was given up. */
  get isOver(): boolean {
    return this.#reason !== undefined
  }

  /** Takes off, once. */
  begin(answer: Promise<Answer>): void {
    this.#answer = answer
    // Callers in `join` hear of a failure; when none is left, it must not count as unhandled.
    answer.catch(() => undefined)
  }

  /** Its answer for one more caller, who may leave without taking the others along. */
  join(call: Call): Promise<Answer> {
    this.#waiting++
    return new Promise((resolve, reject) => {
      let unlisten = (): void => undefined
      unlisten = call.onCancel(reason => {
        if (--this.#waiting === 0) this.cancel(reason)
        else reject(gatewayError('GW_CANCELLED'))
      })
      this.#answer?.then(resolve, reject).finally(() => unlisten())
    })
  }

  onCancel(listener: (reason: string) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => undefined
    }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    for (const listener of [...this.#listeners]) listener(reason)
    this.#listeners.clear()
  }
}

/** Calls under way by what they ask. */
export class Flights {
  readonly #byKey = new Map<string, Flight>()
  readonly #subjects = new Subjects<Flight>()

  /** The one to join; undefined when there is none, or it is being given up. */
  find(key: string): Flight | undefined {
    const flight = this.#byKey.get(key)
    return flight?.isOver === true ? undefined : flight
  }

  add(key: string, flight: Flight): void {
    const before = this.#byKey.get(key)
    if (before !== undefined) this.remove(key, before)
    this.#byKey.set(key, flight)
    this.#subjects.add(flight)
  }

  /** False when it was not there any more: what it brings is out of date. */
  remove(key: string, flight: Flight): boolean {
    this.#subjects.delete(flight)
    return this.#byKey.get(key) === flight && this.#byKey.delete(key)
  }

  /** Calls under way are still answered, but not kept, and joined by nobody. */
  purge(selection: Selection): void {
    const meant = new Set(this.#subjects.find(selection))
    if (meant.size === 0) return
    for (const [key, flight] of this.#byKey) if (meant.has(flight)) this.remove(key, flight)
  }
}

interface Failure {
  readonly upstream: string
  readonly error: unknown
  readonly until: number
}

/** Remembers for a moment which lists could not be asked for, so that not everybody waits for the same nothing. */
export class Failures {
  readonly #byKey = new BoundedMap<string, Failure>({ max: MAX_FAILURES, share: MAX_OF_CALLER })
  readonly #ttlMs: number
  readonly #clock: Clock

  constructor(ttlMs: number, clock: Clock) {
    this.#ttlMs = ttlMs
    this.#clock = clock
  }

  remember(key: string, upstream: string, caller: string, error: unknown): void {
    if (this.#ttlMs === 0) return
    this.#byKey.set(key, { upstream, error, until: this.#clock.now() + this.#ttlMs }, caller)
  }

  find(key: string): Failure | undefined {
    const failure = this.#byKey.get(key)
    if (failure === undefined || failure.until > this.#clock.now()) return failure
    this.#byKey.delete(key)
    return undefined
  }

  /** The server may have recovered. */
  forget(upstream?: string): void {
    for (const [key, failure] of [...this.#byKey.entries()])
      if (upstream === undefined || failure.upstream === upstream) this.#byKey.delete(key)
  }
}
