import type { Duplex } from 'node:stream'
import type {
  Answer,
  JsonObject,
  Notification,
  Session,
  SharedStore,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
} from '../../api/index.ts'
import { noteOwnLists } from '../../api/own-lists.ts'
import { Line, type Maker } from '../ipc/rpc.ts'
import { writeSession } from '../ipc/serialize.ts'
import { SharedOverLine } from './shared-over-line.ts'
import { type OwnedState, OwnedUpstream, type OwnerSide } from './owned-upstream.ts'

/** A session, and the key of the lists of its own; null where it is shown those of all. */
export type OwnKey = readonly [session: string, key: string | null]

/** Delay in milliseconds until the owner is told that a session is over. */
const ENDED_MS = 100

/** A worker's line to the owner, and what it knows from it. */
export class OwnerLine implements OwnerSide {
  readonly #line: Line
  readonly #upstreams = new Map<string, Set<WeakRef<OwnedUpstream>>>()
  readonly #states = new Map<string, OwnedState>()
  readonly #ended: string[] = []
  /** Keys of the lists of sessions that have their own, by upstream. */
  readonly #ownLists = new Map<string, Map<string, string>>()
  #shared: SharedOverLine | undefined
  #greeted: () => void = () => undefined
  /** Resolves once it is known how every upstream does. */
  readonly ready = new Promise<void>(resolve => (this.#greeted = resolve))

  constructor(stream: Duplex, closed: () => void) {
    this.#line = new Line(stream, {
      serve: () => Promise.reject(new Error('a worker owns nothing')),
      note: note => this.#hear(note),
      closed,
    })
  }

  /** Memory of the primary, which all workers share. `key` seals, and `workers` says how many there are. */
  shared(key: Uint8Array, workers: number): SharedStore {
    return (this.#shared ??= new SharedOverLine(this.#line, key, workers))
  }

  /** Sessions that are over go along, which saves a message for each that is one request long. */
  request(request: JsonObject, maker: Maker): Promise<Answer> {
    this.#sayEnded()
    return this.#line.request(request, maker)
  }

  ended(id: string): void {
    for (const own of this.#ownLists.values()) if (own.size > 0) own.delete(id)
    this.#ended.push(id)
    if (this.#ended.length === 1) setTimeout(() => this.#sayEnded(), ENDED_MS).unref()
  }

  introduce(upstream: string, session: Session, method: string): void {
    this.#line.note({ introduced: { upstream, method, session: writeSession(session) } })
  }

  #sayEnded(): void {
    if (this.#ended.length > 0) this.#line.note({ ended: this.#ended.splice(0) })
  }

  /** Creates the stand-in for an upstream of the owner. */
  upstream(spec: UpstreamConfig, context: UpstreamContext): Upstream {
    const upstream = new OwnedUpstream(spec, context, () => this, this.#ownListsOf(context.name))
    const all = this.#upstreams.get(upstream.name) ?? new Set()
    this.#upstreams.set(upstream.name, all.add(new WeakRef(upstream)))
    const known = this.#states.get(upstream.name)
    if (known !== undefined) upstream.become(known, false)
    return upstream
  }

  #hear({ states, changed, said, tell, notification, meant, own, session, topic, text }: JsonObject): void {
    if (topic !== undefined) return this.#shared?.hear(String(topic), String(text))
    if (Array.isArray(states)) return this.#become(states as OwnedState[], changed)
    const told = notification as Notification
    if (own !== undefined) this.#becomeOwn(String(said), own as OwnKey[])
    for (const upstream of this.#of(String(said ?? tell)))
      if (said === undefined) upstream.tell(String(session), told)
      else upstream.says(told, meant as string[] | undefined)
  }

  #becomeOwn(name: string, own: readonly OwnKey[]): void {
    const known = this.#ownListsOf(name)
    noteOwnLists()
    for (const [id, key] of own)
      if (key === null) known.delete(id)
      else known.set(id, key)
  }

  #ownListsOf(name: string): Map<string, string> {
    const known = this.#ownLists.get(name) ?? new Map<string, string>()
    this.#ownLists.set(name, known)
    return known
  }

  #become(states: readonly OwnedState[], changed: unknown): void {
    for (const known of states) {
      this.#states.set(known.name, known)
      for (const upstream of this.#of(known.name)) upstream.become(known, known.name === changed)
    }
    this.#greeted()
  }

  /** Those of earlier generations are forgotten when nothing of them is left. */
  *#of(name: string): Iterable<OwnedUpstream> {
    const all = this.#upstreams.get(name)
    for (const one of all ?? []) {
      const upstream = one.deref()
      if (upstream === undefined) all?.delete(one)
      else yield upstream
    }
  }
}
