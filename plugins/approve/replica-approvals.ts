import type { Clock, JsonObject, Log, SharedStore } from '../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../src/plugin.ts'
import type { Decision, Decisions, OpenCall, WaitingCalls } from './waiting-calls.ts'

const DECIDED = 'decided'
/** Polling interval for decisions, in case a notification was lost. */
const LOOK_MS = 1000
/** Decisions outlive their calls, to prevent a second decision. */
const AFTER_MS = 60_000
/** List size limit per replica; beyond it, calls are listed without arguments. */
const MAX_CHARACTERS = 150_000
const PLACES = 'places'
const PLACES_MS = 86_400_000
const MAX_PLACES = 1000
const MAX_ATTEMPTS = 30

/** Refusals, which hold even if they cannot be announced. */
const REFUSES: ReadonlySet<string> = new Set(['expired', 'cancelled', 'unavailable'])

interface ApprovalDeps {
  readonly store: SharedStore
  readonly clock: Clock
  readonly log: Log
  place(): string
  /** Formats a call for lists. */
  rowOf(call: OpenCall): JsonObject
}

/**
 * Pending calls and decisions across replicas. A decision is a value that is written once, so the first wins. The
 * replica that holds the call reads it from the store, and approvers need not reach that replica.
 */
export class ReplicaApprovals implements Decisions {
  readonly #deps: ApprovalDeps
  readonly #waiting: WaitingCalls
  readonly #replicaId: string
  #ending: (() => void) | undefined
  #forget: () => void = () => undefined
  #writing: Promise<void> | undefined
  #isStale = false
  #isKnown = false
  /** True if the store may have lost this replica's pending calls. */
  #isLost = false

  constructor(deps: ApprovalDeps, waiting: WaitingCalls) {
    this.#deps = deps
    this.#waiting = waiting
    this.#replicaId = deps.place()
  }

  /** Announces a pending call to all replicas. Rejects if the store is unavailable. */
  async announce({ id, until }: OpenCall): Promise<void> {
    const { store } = this.#deps
    this.#ending ??= store.subscribe(
      DECIDED,
      decided => void this.#takeDecision(decided),
      () => void this.#announceAgain(),
    )
    await store.put(getCallKey(id), this.#replicaId, { expiresInMs: computeLifetime(until) })
    await this.#writeList()
    this.#watch()
  }

  /** Announces pending calls again: Redis was unavailable and may have lost them. */
  async #announceAgain(): Promise<void> {
    this.#isKnown = false
    this.#isLost = true
    this.#takeDecisions()
    const { store } = this.#deps
    try {
      for (const { id, until } of this.#waiting.calls)
        await store.put(getCallKey(id), this.#replicaId, { expiresInMs: computeLifetime(until) })
      if (this.#waiting.calls.length > 0) await this.#writeList()
      this.#isLost = false
    } catch {
      // Retried by the next tick.
    }
  }

  withdraw(id: string): void {
    void this.#deps.store.delete(getCallKey(id)).catch(() => undefined)
    void this.#writeList().catch(() => undefined)
  }

  async decide(id: string, decision: Decision): Promise<boolean> {
    const isHere = this.#waiting.has(id)
    try {
      if (!(await this.#writeDecision(id, decision, isHere))) {
        if (isHere) await this.#takeDecision(id)
        return REFUSES.has(decision.outcome) && this.#waiting.decide(id, decision)
      }
    } catch (error) {
      if (!isHere || !REFUSES.has(decision.outcome)) throw error
    }
    if (isHere) return this.#waiting.decide(id, decision)
    await this.#deps.store.publish(DECIDED, id).catch(() => undefined)
    return true
  }

  /** Lists pending calls on all replicas; if the store is unavailable, only this replica's, with the reason. */
  async list(): Promise<{ readonly approvals: readonly JsonObject[]; readonly missing?: string }> {
    const own = this.#waiting.calls.map(call => this.#buildRow(call))
    try {
      const peers = (await this.#listReplicas()).filter(replicaId => replicaId !== this.#replicaId)
      const lists = await Promise.all(peers.map(replicaId => this.#readRows(replicaId)))
      return { approvals: [...own, ...lists.flat()] }
    } catch (error) {
      return { approvals: own, missing: getErrorMessage(error) }
    }
  }

  /** Writes a decision unless one exists. */
  async #writeDecision(id: string, decision: Decision, isHere: boolean): Promise<boolean> {
    const { store } = this.#deps
    if (!isHere && (await store.get(getCallKey(id))) === undefined) return false
    const key = getDecisionKey(id)
    const until = this.#waiting.getDeadline(id) ?? Date.now() + 10 * AFTER_MS
    return store.put(key, store.seal(JSON.stringify(decision), key), {
      expiresInMs: computeLifetime(until),
      when: 'absent',
    })
  }

  /** Applies a decision that another replica wrote; ignores invalid values. */
  async #takeDecision(id: string): Promise<void> {
    if (!this.#waiting.has(id)) return
    const { store, log } = this.#deps
    try {
      const key = getDecisionKey(id)
      const sealed = await store.get(key)
      if (sealed === undefined) return
      const text = store.open(sealed, key)
      if (text === undefined) return log.warn('ignored a decision without a valid signature', { id })
      this.#waiting.decide(id, JSON.parse(text) as Decision)
    } catch {
      // The next tick retries.
    }
  }

  #takeDecisions(): void {
    for (const { id } of this.#waiting.calls) void this.#takeDecision(id)
  }

  #watch(): void {
    this.#forget()
    this.#forget = this.#deps.clock.after(LOOK_MS, () => {
      if (this.#waiting.calls.length === 0) return
      if (this.#isLost) void this.#announceAgain()
      else this.#takeDecisions()
      this.#watch()
    })
  }

  /** Writes this replica's list; writes are serialized, and the last one contains all calls. */
  #writeList(): Promise<void> {
    this.#isStale = true
    this.#writing ??= this.#writeOnce().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  async #writeOnce(): Promise<void> {
    const { store } = this.#deps
    if (!this.#isKnown) await this.#registerReplica()
    this.#isKnown = true
    while (this.#isStale) {
      this.#isStale = false
      const key = getListKey(this.#replicaId)
      const rows = this.#waiting.calls.map(call => this.#buildRow(call))
      const last = Math.max(Date.now(), ...this.#waiting.calls.map(({ until }) => until))
      await store.put(key, store.seal(serializeRows(rows), key), { expiresInMs: computeLifetime(last) })
    }
  }

  /** Adds this replica to those with approvals. */
  async #registerReplica(): Promise<void> {
    const { store } = this.#deps
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const before = await store.get(PLACES)
      const replicas = parseReplicas(before)
      if (replicas.includes(this.#replicaId)) return
      const next = [...replicas, this.#replicaId].slice(-MAX_PLACES).join(' ')
      const when = before === undefined ? 'absent' : { is: before }
      if (await store.put(PLACES, next, { expiresInMs: PLACES_MS, when })) return
    }
  }

  async #listReplicas(): Promise<string[]> {
    return parseReplicas(await this.#deps.store.get(PLACES))
  }

  async #readRows(replicaId: string): Promise<JsonObject[]> {
    const { store } = this.#deps
    const key = getListKey(replicaId)
    const sealed = await store.get(key)
    const text = sealed === undefined ? undefined : store.open(sealed, key)
    const rows: unknown = text === undefined ? [] : JSON.parse(text)
    const isOpen = ({ until }: JsonObject): boolean => typeof until === 'string' && Date.parse(until) > Date.now()
    return Array.isArray(rows) ? rows.filter(isObject).filter(isOpen) : []
  }

  #buildRow(call: OpenCall): JsonObject {
    return { ...this.#deps.rowOf(call), replica: this.#replicaId }
  }
}

function parseReplicas(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.split(' ')
}

function serializeRows(rows: readonly JsonObject[]): string {
  const text = JSON.stringify(rows)
  return text.length <= MAX_CHARACTERS
    ? text
    : JSON.stringify(rows.map(({ arguments: _, ...row }) => row).slice(0, 500))
}

function computeLifetime(until: number): number {
  return Math.max(1, Math.round(until - Date.now())) + AFTER_MS
}

function getCallKey(id: string): string {
  return `call ${id.slice(0, 100)}`
}

function getDecisionKey(id: string): string {
  return `decision ${id.slice(0, 100)}`
}

function getListKey(replicaId: string): string {
  return `calls at ${replicaId}`
}
