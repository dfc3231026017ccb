import type { SharedStore } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { ClientIdentity, GrantKey, NewGrant, PendingLogin } from '../types.ts'
import { hashLookupKey } from './seal.ts'
import { hashParts } from './shared-record.ts'

/** Unused logins are dropped after this time. */
export const LIFE_MS = 365 * 86_400_000
const MAX_PENDING_MS = 10 * 60_000
/** Maximum pending logins per account. */
const MAX_PENDING_EACH = 8
/** Longer than any grant with a possibly consumed refresh token is used. */
const SPENT_MS = 90 * 86_400_000

/** Independent values in a shared vault: leases, consumed refresh tokens, clients, and pending logins. */
export class SharedKeys {
  protected readonly store: SharedStore
  /** Milliseconds since 1970. */
  protected readonly now: () => number

  constructor(store: SharedStore, now: () => number) {
    this.store = store
    this.now = now
  }

  async lease(key: GrantKey, owner: string, ms: number): Promise<boolean> {
    const { store } = this
    const name = leaseKey(key)
    if (await store.put(name, owner, { expiresInMs: ms, when: 'absent' })) return true
    // It may be our own lease if the previous answer was lost.
    return store.put(name, owner, { expiresInMs: ms, when: { is: owner } })
  }

  async release(key: GrantKey, owner: string): Promise<void> {
    await this.store.delete(leaseKey(key), owner)
  }

  async claimRefreshToken({ refresh = '' }: NewGrant, owner: string): Promise<boolean> {
    const { store } = this
    const name = spentKey(refresh)
    if (await store.put(name, owner, { expiresInMs: SPENT_MS, when: 'absent' })) return true
    return store.put(name, owner, { expiresInMs: SPENT_MS, when: { is: owner } })
  }

  async returnRefreshToken({ refresh = '' }: NewGrant, owner: string): Promise<void> {
    await this.store.delete(spentKey(refresh), owner)
  }

  async registration(issuer: string, redirectUri: string): Promise<ClientIdentity | undefined> {
    const name = registrationKey(issuer, redirectUri)
    const identity = this.#openSealed(name, await this.store.get(name))
    return identity as unknown as ClientIdentity | undefined
  }

  async saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): Promise<void> {
    const { store } = this
    const name = registrationKey(issuer, redirectUri)
    await store.put(name, store.seal(JSON.stringify(client), name), { expiresInMs: LIFE_MS })
  }

  async dropRegistration(issuer: string, redirectUri: string): Promise<void> {
    await this.store.delete(registrationKey(issuer, redirectUri))
  }

  async savePending({ state, account, expiresAt, value }: PendingLogin): Promise<boolean> {
    const { store } = this
    const ms = Math.min(expiresAt - this.now(), MAX_PENDING_MS)
    if (ms <= 0) return false
    const bound = { delta: 1, expiresInMs: MAX_PENDING_MS, max: MAX_PENDING_EACH }
    if ((await store.addToCounter(pendingCountKey(account), bound)).added < 1) return false
    const name = pendingKey(state)
    const sealed = store.seal(JSON.stringify({ account, expiresAt: this.now() + ms, value }), name)
    return store.put(name, sealed, { expiresInMs: ms, when: 'absent' })
  }

  async takePending(state: string): Promise<PendingLogin | undefined> {
    const { store } = this
    const name = pendingKey(state)
    const opened = this.#openSealed(name, await store.take(name))
    if (opened === undefined || typeof opened.account !== 'string') return undefined
    const { account, expiresAt, value } = opened
    await store
      .addToCounter(pendingCountKey(account), { delta: -1, expiresInMs: MAX_PENDING_MS })
      .catch(() => undefined)
    if (Number(expiresAt) <= this.now()) return undefined
    return { state, account, expiresAt: Number(expiresAt), value: isObject(value) ? value : {} }
  }

  #openSealed(name: string, sealed: string | undefined): Record<string, unknown> | undefined {
    const text = sealed === undefined ? undefined : this.store.open(sealed, name)
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    return isObject(value) ? value : undefined
  }
}

function leaseKey({ account, resource, issuer }: GrantKey): string {
  return `lease ${hashParts(account, resource, issuer)}`
}

function spentKey(refresh: string): string {
  return `spent ${hashLookupKey(refresh)}`
}

function registrationKey(issuer: string, redirectUri: string): string {
  return `client ${hashParts(issuer, redirectUri)}`
}

function pendingKey(state: string): string {
  return `login ${hashLookupKey(state)}`
}

function pendingCountKey(account: string): string {
  return `logins of ${account}`
}
