import { randomInt } from 'node:crypto'
import { BoundedMap, GatewayError, isObject } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { ClientIdentity, GrantKey, LoginKey, NewGrant, StoredEntry, StoredGrant, VaultBackend } from '../types.ts'

/** Maximum logins in memory. */
const MAX_CACHED = 10_000
/** How long another process's write may go unnoticed. */
const CACHE_MS = 1000
const MAX_GENERATION = 2 ** 47
const MAX_CONCURRENT = 50
/** Prefix for login names. */
const LOGIN = 'login'

interface VaultDeps {
  readonly backend: VaultBackend
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined
  /** Called with each secret that is read or written, to hide it in output. */
  onSecret?(secret: string): void
}

/** Logins, client registrations and leases in a backend that several processes share. */
export class Vault {
  readonly #deps: VaultDeps
  readonly #backend: VaultBackend
  readonly #now: () => number
  /** Logins by name, and the time until which they are used without reading. */
  readonly #cache = new BoundedMap<string, { readonly grant: StoredGrant; readonly until: number }>({
    max: MAX_CACHED,
  })

  constructor(deps: VaultDeps) {
    this.#deps = deps
    this.#backend = deps.backend
    this.#now = deps.now ?? Date.now
  }

  get location(): string {
    return this.#backend.location
  }

  /** Finds a login; while the backend is unavailable a cached one, as its token may still be valid. */
  async find(key: LoginKey): Promise<StoredGrant | undefined> {
    const cached = this.#cache.get(formatName(LOGIN, key))
    if (cached !== undefined && this.#now() < cached.until) return cached.grant
    try {
      return await this.findCurrent(key)
    } catch (error) {
      if (cached === undefined || !(error instanceof GatewayError) || error.code !== 'GW_SHARED_AWAY') throw error
      return cached.grant
    }
  }

  /** Finds a login without the cache. */
  async findCurrent(key: LoginKey): Promise<StoredGrant | undefined> {
    const name = formatName(LOGIN, key)
    const entry = await this.#backend.readEntry(name)
    const stored = entry === undefined ? undefined : this.#parseGrant(entry)
    const cached = this.#cache.get(name)
    // The stored grant is older than an unwritten one.
    if (cached?.until === Infinity && cached.grant.generation === stored?.generation) return cached.grant
    return this.#cacheGrant(name, stored)
  }

  /** Uses a renewed grant that could not be written; the next renewal writes again. */
  keepUnwritten(grant: StoredGrant): void {
    this.#reportSecrets(grant)
    this.#cacheGrant(formatName(LOGIN, grant), grant, Infinity)
  }

  async list(): Promise<StoredGrant[]> {
    const names = (await this.#backend.list()).filter(name => name.startsWith(`${LOGIN} `))
    const grants: StoredGrant[] = []
    for (let at = 0; at < names.length; at += MAX_CONCURRENT) {
      const entries = await Promise.all(names.slice(at, at + MAX_CONCURRENT).map(name => this.#backend.readEntry(name)))
      for (const entry of entries) if (entry !== undefined) grants.push(this.#parseGrant(entry))
    }
    return grants
  }

  /**
   * Writes a grant and returns its generation. `over` is the expected current generation, 0 for none; undefined if
   * another one is there. Without it the grant replaces any other, as a login does.
   */
  async put({ account, resource, issuer }: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined> {
    const name = formatName(LOGIN, { account, resource })
    const entry = over === undefined ? undefined : await this.#backend.readEntry(name)
    const current = entry === undefined ? 0 : this.#parseGrant(entry).generation
    if (over !== undefined && over !== current) return undefined
    const generation = randomInt(1, MAX_GENERATION)
    const stored = { ...grant, account, resource, issuer, generation, at: this.#now() }
    this.#reportSecrets(stored)
    const when = over === undefined ? undefined : (entry ?? 'absent')
    if (!(await this.#backend.put(name, stored, { when }))) return undefined
    this.#cacheGrant(name, stored)
    return generation
  }

  /** Removes this generation; returns false if another one is there. With `why` it is stored as lost. */
  async remove(key: GrantKey, generation: number, why?: string): Promise<boolean> {
    const name = formatName(LOGIN, key)
    const entry = await this.#backend.readEntry(name)
    if (entry === undefined) return false
    const grant = this.#parseGrant(entry)
    if (grant.generation !== generation) return false
    if (why !== undefined) {
      const { refresh: _, ...rest } = grant
      return (await this.put(key, { ...rest, access: '', lost: why }, generation)) !== undefined
    }
    if (!(await this.#backend.delete(name, entry.tag))) return false
    this.#cacheGrant(name, undefined)
    return true
  }

  /** Time of an account's latest known grant, in milliseconds since 1970. */
  getGrantTime(key: LoginKey): number | undefined {
    const grant = this.#cache.get(formatName(LOGIN, key))?.grant
    return grant?.lost === undefined ? grant?.at : undefined
  }

  /** Takes a login's lease; returns false if another owner has it. It expires after `ms`. */
  async lease(key: LoginKey, owner: string, ms: number): Promise<boolean> {
    const name = formatName('lease', key)
    if (await this.#backend.put(name, owner, { when: 'absent', expiresInMs: ms })) return true
    // It may be our own if the previous answer was lost.
    return (await this.#backend.readEntry(name))?.value === owner
  }

  async release(key: LoginKey, owner: string): Promise<void> {
    const name = formatName('lease', key)
    const entry = await this.#backend.readEntry(name)
    if (entry?.value === owner) await this.#backend.delete(name, entry.tag)
  }

  async findRegistration(issuer: string, redirectUri: string): Promise<ClientIdentity | undefined> {
    const entry = await this.#backend.readEntry(formatClientName(issuer, redirectUri))
    return isObject(entry?.value) ? (entry.value as unknown as ClientIdentity) : undefined
  }

  async saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): Promise<void> {
    await this.#backend.put(formatClientName(issuer, redirectUri), client)
  }

  /** Drops a registration that its server no longer accepts. */
  async dropRegistration(issuer: string, redirectUri: string): Promise<void> {
    await this.#backend.delete(formatClientName(issuer, redirectUri))
  }

  close(): void {
    this.#backend.close()
  }

  #cacheGrant(name: string, grant: StoredGrant | undefined, until = this.#now() + CACHE_MS): StoredGrant | undefined {
    if (grant === undefined) this.#cache.delete(name)
    else this.#cache.set(name, { grant, until })
    return grant
  }

  #parseGrant({ value }: StoredEntry): StoredGrant {
    if (!isObject(value))
      throw oauthError('GW_VAULT', {
        location: this.location,
        why: 'an entry was modified, or sealed with another key',
      })
    const grant = value as unknown as StoredGrant
    this.#reportSecrets(grant)
    return grant
  }

  #reportSecrets({ access, refresh, client }: NewGrant): void {
    for (const secret of [access, refresh, client.secret]) if (secret) this.#deps.onSecret?.(secret)
  }
}

function formatName(kind: string, { account, resource }: LoginKey): string {
  return `${kind} ${JSON.stringify([resource, account])}`
}

function formatClientName(issuer: string, redirectUri: string): string {
  return `client ${JSON.stringify([issuer, redirectUri])}`
}
