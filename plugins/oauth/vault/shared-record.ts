import { createHash } from 'node:crypto'
import { setTimeout as rest } from 'node:timers/promises'
import type { SharedStore } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import { vaultError } from '../errors.ts'
import type { CallerIdentity, GrantKey, StoredGrant, NewGrant } from '../types.ts'

/** One account at one server, as it is listed. */
export interface ListedLogin {
  readonly account: string
  readonly resource: string
  readonly state: 'granted' | 'lost'
}

const SHARDS = 64
/** Bytes of a shard: about as many entries as make a hundred thousand logins of all. */
const MAX_BYTES = 180_000

/** The list of all records, in parts of which each is small. */
export class GrantIndex {
  readonly #store: SharedStore
  readonly #lifeMs: number

  constructor(store: SharedStore, lifeMs: number) {
    this.#store = store
    this.#lifeMs = lifeMs
  }

  /** Notes what is true of a record now; undefined takes it from the list. False where there is no room. */
  async updateEntry(
    of: Pick<ListedLogin, 'account' | 'resource'>,
    state: ListedLogin['state'] | undefined,
  ): Promise<boolean> {
    const key = getShardKey(of)
    return changeText(this.#store, key, this.#lifeMs, text => {
      const listed = parseListed(text)
      const known = listed.find(one => one.account === of.account && one.resource === of.resource)
      if (known?.state === state) return { result: true }
      const others = listed.filter(one => one !== known)
      const next = JSON.stringify(state === undefined ? others : [...others, { ...of, state }])
      return next.length > MAX_BYTES ? { result: false } : { result: true, next }
    })
  }

  async listAll(): Promise<ListedLogin[]> {
    const found: ListedLogin[] = []
    for (let shard = 0; shard < SHARDS; shard++) {
      const key = formatShardKey(shard)
      const sealed = await this.#store.get(key)
      found.push(...parseListed(sealed === undefined ? undefined : this.#store.open(sealed, key)))
    }
    return found
  }
}

function getShardKey({ account, resource }: Pick<ListedLogin, 'account' | 'resource'>): string {
  return formatShardKey(Buffer.from(hashParts(account, resource), 'base64url').readUInt8(0) % SHARDS)
}

function formatShardKey(shard: number): string {
  return `list ${shard}`
}

/** Reads a part; one that somebody else has written is as good as empty, as each write of a grant lists it anew. */
function parseListed(text: string | undefined): ListedLogin[] {
  return text === undefined ? [] : (JSON.parse(text) as ListedLogin[])
}

/** Others that may be faster, one after another. */
const MAX_ATTEMPTS = 30
const MAX_BACKOFF_MS = 20

/** Next form of a text, and the result of the change; nothing is written without `next`. */
interface TextChange<T> {
  readonly result: T
  readonly next?: string | undefined
}

/**
 * Reads a sealed text, changes it, and writes it if nobody else has meanwhile; else once more. A text that cannot be opened is given
 * as undefined, with `isForeign`. Rejects with GW_SHARED_AWAY where it is not known what came of it.
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
    if (await store.put(key, store.seal(next, key), { ms, when })) return result
    await rest(Math.random() * MAX_BACKOFF_MS)
  }
  throw vaultError('GW_VAULT_SHARED', { why: 'others write the same login again and again' })
}

/** A grant of one authorization server. */
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

/** All that is kept of one account at one server. */
export interface GrantRecord {
  readonly grants: readonly IssuedGrant[]
  readonly lost: readonly IssuedLoss[]
}

export const EMPTY: GrantRecord = { grants: [], lost: [] }

/** Authorization servers of one resource that are remembered for one account. */
const MAX_ISSUERS = 8
/** Numbers in a millisecond, of which each write takes one by chance: two writes have the same one hardly ever. */
const IN_A_MS = 4096

/** Name of a record. Nobody finds out from it whose it is. */
export function recordKey({ account, resource }: Pick<GrantKey, 'account' | 'resource'>): string {
  return `grants ${hashParts(account, resource)}`
}

export function hashParts(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

/** A record as it was written; undefined for any other text. */
export function parseRecord(text: string | undefined): GrantRecord | undefined {
  if (text === undefined) return undefined
  const value: unknown = JSON.parse(text)
  return isObject(value) && Array.isArray(value.grants) && Array.isArray(value.lost)
    ? (value as unknown as GrantRecord)
    : undefined
}

/** The newest grant, or that of an issuer. */
export function findGrant(
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

/** A number that is greater than all before, and nobody else's. */
export function nextGeneration({ grants }: GrantRecord, now: number): number {
  const last = Math.max(0, ...grants.map(({ generation }) => generation))
  return Math.max(last + 1, now * IN_A_MS + Math.floor(Math.random() * IN_A_MS))
}

export function addGrant({ grants, lost }: GrantRecord, next: IssuedGrant): GrantRecord {
  const others = grants.filter(({ issuer }) => issuer !== next.issuer)
  return {
    grants: [...others, next].slice(-MAX_ISSUERS),
    lost: lost.filter(({ issuer }) => issuer !== next.issuer),
  }
}

/** Without the grant of an issuer; remembered as lost where it is said why. */
export function removeGrant(
  { grants, lost }: GrantRecord,
  gone: string,
  at: number,
  why: string | undefined,
): GrantRecord {
  const caller = grants.find(({ issuer }) => issuer === gone)?.grant.caller
  const loss = why === undefined ? [] : [{ issuer: gone, at, why, caller }]
  return {
    grants: grants.filter(({ issuer }) => issuer !== gone),
    lost: [...lost.filter(({ issuer }) => issuer !== gone), ...loss].slice(-MAX_ISSUERS),
  }
}
