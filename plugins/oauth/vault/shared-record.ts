import { createHash } from 'node:crypto'
import { setTimeout as rest } from 'node:timers/promises'
import type { SharedStore } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import { vaultError } from '../errors.ts'
import type { CallerIdentity, GrantKey, StoredGrant, NewGrant } from '../types.ts'

/** Index entry: one account at one upstream. */
export interface ListedLogin {
  readonly account: string
  readonly resource: string
  readonly state: 'granted' | 'lost'
}

const SHARDS = 64
/** Maximum bytes per shard; allows about 100,000 logins in total. */
const MAX_BYTES = 180_000

/** Index of all records, split into small shards. */
export class GrantIndex {
  readonly #store: SharedStore
  readonly #lifeMs: number

  constructor(store: SharedStore, lifeMs: number) {
    this.#store = store
    this.#lifeMs = lifeMs
  }

  /** Updates a record's state; undefined removes it. Returns false if the shard is full. */
  async updateEntry(
    of: Pick<ListedLogin, 'account' | 'resource'>,
    state: ListedLogin['state'] | undefined,
  ): Promise<boolean> {
    const key = getShardKey(of)
    return changeText(this.#store, key, this.#lifeMs, text => {
      const listed = parseListed(text)
      const existing = listed.find(one => one.account === of.account && one.resource === of.resource)
      if (existing?.state === state) return { result: true }
      const remaining = listed.filter(one => one !== existing)
      const next = JSON.stringify(state === undefined ? remaining : [...remaining, { ...of, state }])
      return next.length > MAX_BYTES ? { result: false } : { result: true, next }
    })
  }

  async listAll(): Promise<ListedLogin[]> {
    const logins: ListedLogin[] = []
    for (let shard = 0; shard < SHARDS; shard++) {
      const key = formatShardKey(shard)
      const sealed = await this.#store.get(key)
      logins.push(...parseListed(sealed === undefined ? undefined : this.#store.open(sealed, key)))
    }
    return logins
  }
}

function getShardKey({ account, resource }: Pick<ListedLogin, 'account' | 'resource'>): string {
  return formatShardKey(Buffer.from(hashParts(account, resource), 'base64url').readUInt8(0) % SHARDS)
}

function formatShardKey(shard: number): string {
  return `list ${shard}`
}

/** Parses a shard. A forged one counts as empty, as each write adds its entry again. */
function parseListed(text: string | undefined): ListedLogin[] {
  return text === undefined ? [] : (JSON.parse(text) as ListedLogin[])
}

/** Maximum attempts under contention. */
const MAX_ATTEMPTS = 30
const MAX_BACKOFF_MS = 20

/** New text and the result; without `next` nothing is written. */
interface TextChange<T> {
  readonly result: T
  readonly next?: string | undefined
}

/**
 * Reads a sealed text, changes it, and writes it if it is unchanged; otherwise retries. A text that cannot be opened
 * is passed as undefined with `isForeign`. Rejects with GW_SHARED_AWAY if the outcome is unknown.
 */
export async function changeText<T>(
  store: SharedStore,
  key: string,
  ms: number,
  change: (text: string | undefined, isForeign: boolean) => TextChange<T>,
): Promise<T> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    const before = await store.get(key)
    const text = before === undefined ? undefined : store.open(before, key)
    const { result, next } = change(text, before !== undefined && text === undefined)
    if (next === undefined) return result
    const when = before === undefined ? 'absent' : { is: before }
    if (await store.put(key, store.seal(next, key), { expiresInMs: ms, when })) return result
    await rest(Math.random() * MAX_BACKOFF_MS)
  }
  throw vaultError('GW_VAULT_SHARED', { why: 'too many concurrent writes of the same login' })
}

interface IssuedGrant {
  readonly issuer: string
  readonly generation: number
  readonly at: number
  readonly grant: NewGrant
}

interface IssuedLoss {
  readonly issuer: string
  readonly at: number
  readonly why: string
  readonly caller?: CallerIdentity | undefined
}

/** Grants and losses of one account at one upstream. */
export interface GrantRecord {
  readonly grants: readonly IssuedGrant[]
  readonly lost: readonly IssuedLoss[]
}

export const EMPTY: GrantRecord = { grants: [], lost: [] }

/** Maximum issuers per account and resource. */
const MAX_ISSUERS = 8
/** Random part of generations within a millisecond, to avoid duplicates. */
const IN_A_MS = 4096

/** Returns the record's key, which reveals no account. */
export function recordKey({ account, resource }: Pick<GrantKey, 'account' | 'resource'>): string {
  return `grants ${hashParts(account, resource)}`
}

export function hashParts(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

/** Parses a record; undefined for other text. */
export function parseRecord(text: string | undefined): GrantRecord | undefined {
  if (text === undefined) return undefined
  const value: unknown = JSON.parse(text)
  return isObject(value) && Array.isArray(value.grants) && Array.isArray(value.lost)
    ? (value as unknown as GrantRecord)
    : undefined
}

/** Finds the latest grant, or that of an issuer. */
export function findNewestGrant(
  { grants }: GrantRecord,
  { account, resource, issuer }: { account: string; resource: string; issuer?: string | undefined },
): StoredGrant | undefined {
  const own = grants.filter(one => issuer === undefined || one.issuer === issuer)
  const [newest] = own.toSorted((a, b) => b.generation - a.generation)
  if (newest === undefined) return undefined
  const { generation, at, grant } = newest
  return { account, resource, issuer: newest.issuer, ...grant, generation, at }
}

export function findGeneration({ grants }: GrantRecord, issuer: string): number {
  return grants.find(one => one.issuer === issuer)?.generation ?? 0
}

/** Returns a number above all previous ones, unique across replicas. */
export function nextGeneration({ grants }: GrantRecord, now: number): number {
  const last = Math.max(0, ...grants.map(({ generation }) => generation))
  return Math.max(last + 1, now * IN_A_MS + Math.floor(Math.random() * IN_A_MS))
}

export function addGrant({ grants, lost }: GrantRecord, next: IssuedGrant): GrantRecord {
  const remaining = grants.filter(({ issuer }) => issuer !== next.issuer)
  return {
    grants: [...remaining, next].slice(-MAX_ISSUERS),
    lost: lost.filter(({ issuer }) => issuer !== next.issuer),
  }
}

/** Removes an issuer's grant; records it as lost if a reason is given. */
export function removeGrant(
  { grants, lost }: GrantRecord,
  goneIssuer: string,
  at: number,
  reason: string | undefined,
): GrantRecord {
  const caller = grants.find(({ issuer }) => issuer === goneIssuer)?.grant.caller
  const loss = reason === undefined ? [] : [{ issuer: goneIssuer, at, why: reason, caller }]
  return {
    grants: grants.filter(({ issuer }) => issuer !== goneIssuer),
    lost: [...lost.filter(({ issuer }) => issuer !== goneIssuer), ...loss].slice(-MAX_ISSUERS),
  }
}
