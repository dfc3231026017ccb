import {
  isObject,
  type BesideOthers,
  type ConversationRecord,
  type EventRecord,
  type Exchange,
  type Log,
  type Session,
} from '../../src/plugin.ts'
import type { Found, Shared } from './directory.ts'
import { ADOPT, FORGET, HOLD, MOVE, READ, WRITE } from './store/scripts.ts'
import type { Reply } from './store/store.ts'

/** Bytes of one record: a client that says more of itself is not adopted. */
const MOST_BYTES = 16 * 1024
/** Requests that are made again for a session: subscriptions, and the level of logs. */
const MOST_REQUESTS = 64
/** Sessions in one command. */
const BATCH = 200
/** Records written at once after the store was away. */
const MOST_WRITES = 100
/** Time in milliseconds until the owner says again that a session is there: two commands for each. */
const HOLD_MS = 240_000
/** The same where not all could be said. */
const HOLD_AGAIN_MS = 30_000
/** Time in milliseconds in which owners write their sessions again to a store that came back empty. */
const REFILL_MS = 5000
/** A session that ends by itself does so before its record. */
const MARGIN_MS = 3 * HOLD_MS

/** A session as another replica needs to know it, and the listener that it is of. */
interface Kept {
  readonly listener: string
  record: ConversationRecord
  epoch: number
  /** The record in the store is another one, or there is none. */
  isUnwritten: boolean
}

/** Record of a session in the store. */
export interface Recorded {
  readonly owner: string
  readonly epoch: number
  readonly listener: string
  readonly record: ConversationRecord
}

/** Events of sessions that are kept for whoever goes on with one. */
export interface SessionEvents {
  take(id: string, epoch: number): Promise<readonly EventRecord[]>
  drop(id: string): void
  end(id: string): void
  tend(): void
}

interface SessionsOptions {
  readonly log: Log
  readonly listeners: ReadonlyMap<string, BesideOthers>
  me(): string
  /** Absent where events are kept by their owner alone. */
  readonly events?: SessionEvents | undefined
}

/** Requests that change what a session is, and those that take it back. */
const UNDOES: Readonly<Record<string, string>> = { 'resources/unsubscribe': 'resources/subscribe' }

/** The sessions of this replica, and their records, with which others go on when it is gone. */
export class Sessions {
  adopted = 0
  readonly #shared: Shared
  readonly #log: Log
  readonly #me: () => string
  readonly #listeners: ReadonlyMap<string, BesideOthers>
  readonly #events: SessionEvents | undefined
  readonly #kept = new Map<string, Kept>()
  /** Sessions that have ended, and whose records are to be forgotten. */
  readonly #ended: string[] = []
  #heldAt = -Infinity
  #isFlushing = false
  #isLeaving = false

  constructor(shared: Shared, { log, me, listeners, events }: SessionsOptions) {
    this.#shared = shared
    this.#log = log
    this.#me = me
    this.#listeners = listeners
    this.#events = events
  }

  get size(): number {
    return this.#kept.size
  }

  /** Number of times that a session of this replica has changed hands, and one; undefined where nobody could go on with it. */
  epochOf(id: string): number | undefined {
    return this.#kept.get(id)?.epoch
  }

  /** Notes what a client has said that makes its session what it is. */
  note({ session, method, params, answer }: Exchange): void {
    if (answer === undefined || !('result' in answer)) return
    const { id, listener } = session
    const request = { method, params: plain(params) }
    const kept = this.#kept.get(id)
    if (method === 'initialize') {
      if (kept !== undefined || this.#listeners.get(listener)?.conversations.has(id) !== true) return
      const record = { ...whose(session), requests: [request] }
      this.#kept.set(id, { listener, record, epoch: 1, isUnwritten: true })
    } else {
      if (kept === undefined) return
      const requests = changed(kept.record.requests, request)
      if (requests === undefined) return
      kept.record = { ...kept.record, requests }
      kept.isUnwritten = true
    }
    void this.#write(id).catch(() => undefined)
  }

  /** A session has ended here; whether it has for its client, `reason` says. */
  ended({ id }: Session, reason: string): void {
    if (!this.#kept.delete(id) || reason === 'shutdown') return
    this.#events?.end(id)
    this.#forget(id)
  }

  /** Forgets the records of all that end in one turn together: as many commands at once would be taken for a slow store. */
  #forget(id: string): void {
    if (this.#ended.push(id) === 1) setImmediate(() => void this.#forgetAll())
  }

  async #forgetAll(): Promise<void> {
    const { store, keys } = this.#shared
    while (this.#ended.length > 0) {
      const ids = this.#ended.slice(0, BATCH)
      const names = ids.map(id => keys.session(id))
      await store.run(FORGET, names, [this.#me()]).catch(() => undefined)
      this.#ended.splice(0, ids.length)
    }
  }

  /** False for a while after the store came back: a record that is not there may be written again yet. */
  get isComplete(): boolean {
    const { store, clock } = this.#shared
    return store.upSince === undefined || clock.now() - store.upSince > REFILL_MS
  }

  /** Reads a record; undefined where there is none. */
  async read(id: string): Promise<Recorded | undefined> {
    const { store, keys, ring } = this.#shared
    const reply = await store.run(READ, [keys.session(id)], [])
    const [owner, epoch, sealed] = Array.isArray(reply) ? (reply as Reply[]) : []
    if (typeof owner !== 'string' || typeof epoch !== 'number' || typeof sealed !== 'string') return undefined
    const opened = ring.open('session', sealed, id)
    if (!isObject(opened) || typeof opened.listener !== 'string') return undefined
    return {
      owner,
      epoch,
      listener: opened.listener,
      record: opened.record as ConversationRecord,
    }
  }

  /** Takes a session over, from one that leaves, or whose lease is known to be dead. Returns who has it then, and how often it changed hands. */
  async take(
    id: string,
    { owner, epoch }: Recorded,
    { lease, entry }: Found,
  ): Promise<{ owner: string; epoch: number } | undefined> {
    const { store, keys } = this.#shared
    const leaves = entry?.isLeaving === true ? 'leaves' : ''
    const args = [owner, String(epoch), this.#me(), String(this.#lifeOf()), lease, leaves]
    const reply = await store.run(ADOPT, [keys.session(id), keys.replica(owner)], args)
    const [winner, now] = Array.isArray(reply) ? (reply as Reply[]) : []
    return typeof winner === 'string' ? { owner: winner, epoch: Number(now) } : undefined
  }

  /** Goes on with a session that is this replica's now. Returns why not, where its listener has no room for it. */
  async goOn(
    id: string,
    { listener, record }: Recorded,
    epoch: number,
  ): ReturnType<BesideOthers['conversations']['adopt']> {
    const conversations = this.#listeners.get(listener)?.conversations
    if (conversations === undefined || conversations.has(id)) return undefined
    this.#kept.set(id, { listener, record, epoch, isUnwritten: false })
    try {
      const events = await this.#events?.take(id, epoch)
      const refused = await conversations.adopt(id, { ...record, events })
      if (refused !== undefined) this.#letGo(id)
      else this.adopted++
      return refused
    } catch (error) {
      this.#letGo(id)
      throw error
    }
  }

  #letGo(id: string): void {
    this.#kept.delete(id)
    this.#events?.drop(id)
  }

  /** Looks which sessions are still this replica's, and lets go of the others. Returns whether there were some. */
  async lookAgain(): Promise<boolean> {
    const lost: string[] = []
    for (const ids of this.#batches()) {
      const said = await this.#hold(ids)
      ids.forEach((id, index) => {
        if (said[index] === 2) lost.push(id)
        const kept = this.#kept.get(id)
        if (said[index] === 0 && kept !== undefined) kept.isUnwritten = true
      })
    }
    for (const id of lost) this.#drop(id)
    if (lost.length > 0) this.#log.warn('lets go of sessions that others have', { sessions: lost.length })
    return lost.length > 0
  }

  /** Has the store know this replica's sessions under its new id. */
  async rename(old: string): Promise<void> {
    const { store, keys } = this.#shared
    for (const ids of this.#batches()) {
      const said = await store.run(
        MOVE,
        ids.map(id => keys.session(id)),
        [old, this.#me()],
      )
      const moved = Array.isArray(said) ? (said as Reply[]) : []
      ids.forEach((id, index) => {
        const kept = this.#kept.get(id)
        if (kept === undefined) return
        if (moved[index] === 1) kept.epoch++
        else if (!kept.isUnwritten) this.#drop(id)
      })
    }
  }

  /** Lets go of nothing from now on: others take what is here, and what is under way in it ends here. */
  leave(): void {
    this.#isLeaving = true
  }

  /** Has all records written again, as they are to be sealed with another key. */
  writeAgain(): void {
    for (const kept of this.#kept.values()) kept.isUnwritten = true
  }

  /** Keeps the records alive, and writes those that could not be written. */
  async tend(): Promise<void> {
    this.#events?.tend()
    if (this.#isFlushing || this.#isLeaving) return
    this.#isFlushing = true
    try {
      const unwritten = [...this.#kept].filter(([, kept]) => kept.isUnwritten).slice(0, MOST_WRITES)
      await Promise.all(unwritten.map(([id]) => this.#write(id)))
      const now = this.#shared.clock.now()
      if (now - this.#heldAt < HOLD_MS) return
      this.#heldAt = now - HOLD_MS + HOLD_AGAIN_MS
      await this.lookAgain()
      this.#heldAt = now
    } catch {
      // The next renewal tries again.
    } finally {
      this.#isFlushing = false
    }
  }

  #drop(id: string): void {
    const kept = this.#kept.get(id)
    this.#kept.delete(id)
    if (kept !== undefined) this.#listeners.get(kept.listener)?.conversations.drop(id)
  }

  async #write(id: string): Promise<void> {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    const { store, keys, ring } = this.#shared
    const { listener, record, epoch } = kept
    const sealed = ring.seal('session', { listener, record }, id)
    if (sealed.length > MOST_BYTES) return
    kept.isUnwritten = false
    try {
      const args = [this.#me(), String(epoch), sealed, String(this.#lifeOf())]
      const reply = await store.run(WRITE, [keys.session(id)], args)
      const [owner] = Array.isArray(reply) ? (reply as Reply[]) : []
      // Nonsense is no word of another replica, to whom the session would be left.
      if (typeof owner !== 'string') throw new Error('Redis did not say whose the session is')
      if (owner !== this.#me() && !this.#isLeaving) this.#drop(id)
    } catch (error) {
      kept.isUnwritten = true
      throw error
    }
  }

  async #hold(ids: readonly string[]): Promise<readonly Reply[]> {
    const { store, keys } = this.#shared
    const said = await store.run(
      HOLD,
      ids.map(id => keys.session(id)),
      [this.#me(), String(this.#lifeOf())],
    )
    return Array.isArray(said) ? (said as Reply[]) : []
  }

  *#batches(): Iterable<string[]> {
    const ids = [...this.#kept.keys()]
    for (let at = 0; at < ids.length; at += BATCH) yield ids.slice(at, at + BATCH)
  }

  #lifeOf(): number {
    const idle = [...this.#listeners.values()].map(({ conversations }) => conversations.idleMs)
    return Math.max(0, ...idle) + MARGIN_MS
  }
}

function whose({
  principal,
  label,
  profile,
  choices,
}: Session): Pick<ConversationRecord, 'principal' | 'label' | 'profile' | 'choices'> {
  return { principal, label, profile, choices }
}

function plain(params: Exchange['params']): Exchange['params'] {
  return params === undefined ? undefined : (JSON.parse(JSON.stringify(params)) as Exchange['params'])
}

/** The requests with one more, in the place of the one that it makes needless; undefined where nothing changes. */
function changed(
  requests: ConversationRecord['requests'],
  request: ConversationRecord['requests'][number],
): ConversationRecord['requests'] | undefined {
  const undone = UNDOES[request.method]
  const method = undone ?? request.method
  const rest = requests.filter(one => one.method !== method || one.params?.uri !== request.params?.uri)
  if (undone !== undefined) return rest.length === requests.length ? undefined : rest
  return rest.length >= MOST_REQUESTS ? undefined : [...rest, request]
}
