import type { IncomingMessage } from 'node:http'
import {
  type BesideOthers,
  BoundedMap,
  type EventCopies,
  type Handed,
  type Log,
  type Neighbour,
  type Neighbours,
  reasonOf,
  type Refusal,
  RPC,
  type Sealing,
  type Sought,
  type Whereabouts,
} from '../../src/plugin.ts'
import type { Directory, Found } from './directory.ts'
import type { Arrived } from './entrance.ts'
import type { KeyRing } from './key-ring.ts'
import type { Replica } from './replica.ts'
import type { Recorded, Sessions } from './sessions.ts'
import type { ReplicaTls } from './tls.ts'
import type { Vouchers } from './vouchers.ts'

const OF_REPLICA = /^(r[0-9a-f]{16})_/
/** Sessions whose owner is not the one that their id names. */
const MOST_ROUTES = 50_000
/** Owners that a session may have had before we know the one it has. */
const MOST_STEPS = 4
/** Pause between two looks at the replicas whose answers are waited for. */
const WATCH_MS = 1000

const LATER: Refusal = {
  status: 503,
  error: {
    code: RPC.internal,
    message: 'The replica that has the session cannot be found now; try again',
    data: { code: 'GW_CLUSTER_AWAY' },
  },
  headers: { 'retry-after': '1' },
}

/** Parts of a replica that say where things are. */
export interface Surroundings {
  readonly ring: KeyRing
  readonly replica: Replica
  readonly directory: Directory
  readonly sessions: Sessions
  readonly events: EventCopies | undefined
  readonly vouchers: Vouchers
  readonly listeners: Map<string, BesideOthers>
  readonly tls: ReplicaTls | undefined
  readonly log: Log
  every(ms: number, run: () => void): () => void
}

/** Outcome of taking a session over: the place where it is, or the replica that was faster. */
type TakenOver = { readonly where: Whereabouts } | { readonly owner: string }

/** The other replicas, as listeners see them. */
export class Replicas implements Neighbours {
  /** Requests that were given to others. */
  handedOn = 0
  readonly events: EventCopies | undefined
  readonly #around: Surroundings
  readonly #routes = new BoundedMap<string, string>({ max: MOST_ROUTES })
  readonly #seeking = new Map<string, Promise<Whereabouts>>()
  /** Those who wait for an answer of a replica, by its id. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #stopWatching: (() => void) | undefined

  constructor(around: Surroundings) {
    this.#around = around
    this.events = around.events
  }

  get sealing(): Sealing {
    const { ring, replica } = this.#around
    return {
      get keys() {
        return ring.of('seal')
      },
      get place() {
        return replica.id
      },
    }
  }

  newId(): string {
    const { ring, replica } = this.#around
    return ring.newId(`${replica.id}_`)
  }

  join(listener: string, beside: BesideOthers): Sought {
    this.#around.listeners.set(listener, beside)
    return {
      conversation: id => {
        const [, place] = OF_REPLICA.exec(id) ?? []
        if (place === undefined) return 'here'
        if (beside.conversations.has(id) && this.#around.replica.isFresh) return 'here'
        // A forged id is nobody's, and Redis does not hear of it.
        return this.#around.ring.isOurs(id)
          ? (this.#soon(id, place, beside) ?? this.#find(id, place, beside))
          : 'here'
      },
      work: place => this.#work(place),
    }
  }

  /** Looks whether a conversation is here that was handed on to this replica; never hands it on again. */
  arrived(id: string, beside: BesideOthers): Arrived | Promise<Arrived> {
    return beside.conversations.has(id) && this.#around.replica.isFresh ? 'here' : this.#whereIs(id, beside)
  }

  async #whereIs(id: string, beside: BesideOthers): Promise<Arrived> {
    const { replica, sessions } = this.#around
    if (!replica.isFresh) await replica.renew()
    if (beside.conversations.has(id)) return 'here'
    const recorded = await sessions.read(id)
    if (recorded === undefined) return 'here'
    if (!replica.is(recorded.owner)) return 'elsewhere'
    const where = await this.#seek(id, recorded.owner)
    if (where === 'here') return where
    return 'status' in where ? where : 'elsewhere'
  }

  stop(): void {
    this.#stopWatching?.()
  }

  /** The owner of a session that is not here, where nobody need be asked; undefined else. */
  #soon(id: string, place: string, beside: BesideOthers): Neighbour | Refusal | undefined {
    if (beside.conversations.has(id)) return undefined
    const owner = this.#routes.get(id) ?? place
    const found = this.#around.directory.known(owner)
    // Of one that leaves each session is taken over, and for that somebody is asked.
    if (found?.entry === undefined || found.entry.isLeaving === true || this.#around.replica.is(owner))
      return undefined
    return this.#neighbour(owner, found, id)
  }

  async #find(id: string, place: string, beside: BesideOthers): Promise<Whereabouts> {
    if (beside.conversations.has(id)) {
      // Its lease may have run out while this process slept: others may have the session.
      await this.#around.replica.renew()
      if (beside.conversations.has(id)) return 'here'
    }
    return this.#seek(id, this.#routes.get(id) ?? place)
  }

  /** Looks for the owner of a session once, however many wait for it. */
  #seek(id: string, owner: string, dead?: Found): Promise<Whereabouts> {
    const known = this.#seeking.get(id)
    if (known !== undefined) return known
    const seeking = this.#search(id, owner, dead)
      .catch(() => LATER)
      .finally(() => this.#seeking.delete(id))
    this.#seeking.set(id, seeking)
    return seeking
  }

  async #search(id: string, first: string, dead: Found | undefined): Promise<Whereabouts> {
    const { directory } = this.#around
    let owner = first
    let gone = dead
    for (let step = 0; step < MOST_STEPS; step++) {
      const found = gone ?? (await directory.find(owner))
      const next = await this.#ask(id, owner, found, gone === undefined)
      if ('where' in next) return next.where
      gone = undefined
      owner = next.owner
      this.#routes.set(id, owner)
    }
    return LATER
  }

  /** Looks at one replica that may have a session. Returns another one, where that is known to have it. */
  async #ask(id: string, owner: string, found: Found, mayLive: boolean): Promise<TakenOver> {
    const { replica, sessions } = this.#around
    const living = mayLive && !replica.is(owner) ? found.entry : undefined
    const recorded = living === undefined || living.isLeaving === true ? await sessions.read(id) : undefined
    if (recorded === undefined) return { where: this.#unrecorded(id, owner, mayLive ? found : undefined) }
    return recorded.owner === owner ? this.#takeOver(id, recorded, found) : { owner: recorded.owner }
  }

  /** A session that nobody can take over: one that leaves, or could keep no lease, is asked where it is, or was. */
  #unrecorded(id: string, owner: string, found: Found | undefined): Whereabouts {
    const { replica, sessions, directory } = this.#around
    const mayHave = found === undefined || replica.is(owner) ? undefined : found
    const known = mayHave?.entry === undefined ? mayHave && directory.seen(owner) : mayHave
    if (known !== undefined) return this.#neighbour(owner, known, id)
    // No replica has the session: it is answered as any session that has ended.
    return sessions.isComplete ? 'here' : LATER
  }

  /** Takes a session over. Returns another owner, where somebody was faster. */
  async #takeOver(id: string, recorded: Recorded, found: Found): Promise<TakenOver> {
    const { replica, sessions, directory } = this.#around
    if (replica.is(recorded.owner)) return this.#goOn(id, recorded, recorded.epoch)
    const taken = await sessions.take(id, recorded, found)
    directory.forget(recorded.owner)
    if (taken === undefined) return { where: 'here' }
    return replica.is(taken.owner) ? this.#goOn(id, recorded, taken.epoch) : { owner: taken.owner }
  }

  async #goOn(id: string, recorded: Recorded, epoch: number): Promise<TakenOver> {
    return { where: (await this.#around.sessions.goOn(id, recorded, epoch)) ?? 'here' }
  }

  #work(place: string): Whereabouts | Promise<Whereabouts> {
    return this.#around.replica.is(place) ? 'here' : this.#workOf(place)
  }

  async #workOf(place: string): Promise<Whereabouts> {
    try {
      const found = await this.#around.directory.find(place)
      // What it kept has gone with it: the answer is that for what is too old.
      return found.entry === undefined ? 'here' : this.#neighbour(place, found, undefined)
    } catch {
      return LATER
    }
  }

  #neighbour(owner: string, found: Found, session: string | undefined): Neighbour | Refusal {
    const { reach: address } = found
    if (address === undefined) return LATER
    const { replica, vouchers, directory, tls, log } = this.#around
    this.handedOn++
    return {
      address,
      tls: tls?.to(address.host),
      voucher: (request: IncomingMessage, handed: Handed) =>
        vouchers.write(request, handed, replica.id, owner),
      onGone: listener => this.#onGone(owner, listener),
      refused: () => {
        directory.forget(owner)
        // Nobody listens where it said that it does: it is dead, whatever its lease says.
        return session === undefined
          ? 'here'
          : this.#seek(session, owner, { ...found, entry: undefined, reach: undefined })
      },
      misdirected: () => {
        directory.forget(owner)
        return session === undefined ? LATER : this.#hasMoved(session, owner)
      },
      unreachable: why => log.warn('cannot hand on to another replica', { to: owner, why: reasonOf(why) }),
    }
  }

  /** Looks for a session where the store says that it is, as this owner has not got it. */
  async #hasMoved(id: string, owner: string): Promise<Whereabouts> {
    this.#routes.delete(id)
    const recorded = await this.#around.sessions.read(id)
    if (recorded === undefined || recorded.owner === owner) return LATER
    this.#routes.set(id, recorded.owner)
    return this.#seek(id, recorded.owner)
  }

  #onGone(owner: string, listener: () => void): () => void {
    const waiting = this.#waiting.get(owner) ?? new Set()
    this.#waiting.set(owner, waiting.add(listener))
    this.#stopWatching ??= this.#around.every(WATCH_MS, () => this.#watch())
    return () => {
      waiting.delete(listener)
      if (waiting.size === 0 && this.#waiting.get(owner) === waiting) this.#waiting.delete(owner)
      if (this.#waiting.size > 0) return
      this.#stopWatching?.()
      this.#stopWatching = undefined
    }
  }

  /** Ends the waiting for replicas whose lease has run out. One that stops answers what it has begun. */
  #watch(): void {
    const { directory, sessions } = this.#around
    // A store that has just come back, empty, hears of those that live in a moment.
    if (!sessions.isComplete) return
    for (const [owner, waiting] of this.#waiting)
      directory.isDead(owner).then(
        isDead => {
          if (isDead) for (const end of [...waiting]) end()
        },
        () => undefined,
      )
  }
}
