import { createHash } from 'node:crypto'
import { isObject } from '../../../src/plugin.ts'
import type { Caller, GrantKey, KeptGrant, NewGrant } from '../types.ts'

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
  readonly caller?: Caller | undefined
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
  return `grants ${digestOf(account, resource)}`
}

export function digestOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

/** A record as it was written; undefined for any other text. */
export function recordIn(text: string | undefined): GrantRecord | undefined {
  if (text === undefined) return undefined
  const value: unknown = JSON.parse(text)
  return isObject(value) && Array.isArray(value.grants) && Array.isArray(value.lost)
    ? (value as unknown as GrantRecord)
    : undefined
}

/** The newest grant, or that of an issuer. */
export function grantIn(
  { grants }: GrantRecord,
  { account, resource, issuer }: { account: string; resource: string; issuer?: string | undefined },
): KeptGrant | undefined {
  const own = grants.filter(one => issuer === undefined || one.issuer === issuer)
  const [newest] = own.toSorted((a, b) => b.generation - a.generation)
  if (newest === undefined) return undefined
  const { generation, at, grant } = newest
  return { account, resource, issuer: newest.issuer, ...grant, generation, at }
}

export function generationIn({ grants }: GrantRecord, issuer: string): number {
  return grants.find(one => one.issuer === issuer)?.generation ?? 0
}

/** A number that is greater than all before, and nobody else's. */
export function nextGeneration({ grants }: GrantRecord, now: number): number {
  const last = Math.max(0, ...grants.map(({ generation }) => generation))
  return Math.max(last + 1, now * IN_A_MS + Math.floor(Math.random() * IN_A_MS))
}

export function withGrant({ grants, lost }: GrantRecord, next: IssuedGrant): GrantRecord {
  const others = grants.filter(({ issuer }) => issuer !== next.issuer)
  return {
    grants: [...others, next].slice(-MAX_ISSUERS),
    lost: lost.filter(({ issuer }) => issuer !== next.issuer),
  }
}

/** Without the grant of an issuer; remembered as lost where it is said why. */
export function withoutGrant(
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
