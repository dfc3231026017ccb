import { createHash } from 'node:crypto'
import type { Principal } from '../../src/plugin.ts'

/** Issuers of callers whom nobody identified: on a pipe, and on an open path. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['', 'http'])

const accounts = new WeakMap<Principal, string>()

/** The account of a caller: a digest of issuer and subject, whatever its client is. Undefined for one whom nobody identified. */
export function accountOf(principal: Principal): string | undefined {
  const { issuer, subject } = principal
  if (UNIDENTIFIED.has(issuer)) return undefined
  let account = accounts.get(principal)
  if (account === undefined) {
    account = createHash('sha256').update(`${issuer}\0${subject}`).digest('base64url')
    accounts.set(principal, account)
  }
  return account
}
