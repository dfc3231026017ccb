import { setTimeout as pause } from 'node:timers/promises'
import { BoundedMap, GatewayError, isObject } from '../../../src/plugin.ts'
import { vaultError } from '../errors.ts'
import type {
  ClientIdentity,
  GrantKey,
  LoginKey,
  LostGrant,
  NewGrant,
  StoredEntry,
  StoredGrant,
  VaultBackend,
} from '../types.ts'

/** Maximum logins in memory. */
const MAX_CACHED = 10_000
/** Random part of generations within a millisecond, to avoid duplicates. */
const IN_A_MS = 4096
/** Maximum attempts under contention. */
const MAX_ATTEMPTS = 30
const MAX_BACKOFF_MS = 20
const MAX_CONCURRENT = 50
/** Entry name prefixes. */
const LOGIN = 'login'
const LOST = 'lost'

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
  /** Logins by name, with the backend's version at that time. */
  readonly #cache = new BoundedMap<string, { readonly grant: StoredGrant; readonly version: number }>({
    max: MAX_CACHED,
  })

  constructor(deps: VaultDeps) {
    this.#deps = deps
    this.#backend = deps.backend
    this.#now = deps.now ?? Date.now
  }

  /** Finds a login; while the backend is unavailable a cached one, as its token may still be valid. */
  async find({ account, resource }: LoginKey): Promise<StoredGrant | undefined> {
    const name = formatName(LOGIN, { account, resource })
    const version = await this.#backend.version()
    const cached = this.#cache.get(name)
    if (cached?.version === version) return cached.grant
    try {
      return await this.findCurrent({ account, resource })
    } catch (error) {
      if (cached === undefined || !(error instanceof GatewayError) || error.code !== 'GW_SHARED_AWAY') throw error
      return cached.grant
    }
  }

  /** Finds a login without the cache. */
  async findCurrent(key: LoginKey): Promise<StoredGrant | undefined> {
    const name = formatName(LOGIN, key)
    const version = await this.#backend.version()
    const entry = await this.#backend.readEntry(name)
    const stored = entry === undefined ? undefined : this.#parseGrant(entry)
    const cached = this.#cache.get(name)?.grant
    return this.#cacheGrant(name, cached?.generation === stored?.generation ? cached : stored, version)
  }

  /** Uses a renewed grant that could not be written; the next renewal writes again. */
  keepUnwritten(grant: StoredGrant): void {
    this.#reportSecrets(grant)
    this.#cache.set(formatName(LOGIN, grant), { grant, version: -1 })
  }

  list(): Promise<StoredGrant[]> {
    return this.#listValues(LOGIN, entry => this.#parseGrant(entry))
  }

  /**
   * Writes a grant and returns its generation. `over` is the expected current generation, 0 for none; undefined if
   * another one is there. Without it the grant replaces any other, as a login does.
   */
  async put(key: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined> {
    const { account, resource, issuer } = key
    const name = formatName(LOGIN, key)
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const version = await this.#backend.version()
      const entry = await this.#backend.readEntry(name)
      // Only a new login may replace an unreadable entry.
      const isReadable = entry !== undefined && (over !== undefined || isObject(entry.value))
      const current = isReadable ? this.#parseGrant(entry).generation : 0
      if (over !== undefined && over !== current) return undefined
      const at = this.#now()
      const generation = Math.max(current + 1, at * IN_A_MS + Math.floor(Math.random() * IN_A_MS))
      const stored = { ...grant, account, resource, issuer, generation, at }
      this.#reportSecrets(stored)
      if (await this.#backend.put(name, stored, { when: entry ?? 'absent' })) {
        this.#cacheGrant(name, stored, version)
        await this.#backend.delete(formatName(LOST, key))
        return generation
      }
      await pause(Math.random() * MAX_BACKOFF_MS)
    }
    throw vaultError('GW_VAULT_SHARED', { why: 'too many concurrent writes of the same login' })
  }

  /** Removes this generation; returns false if another one is there. With `why` it is recorded as lost. */
  async remove(key: GrantKey, generation: number, why?: string): Promise<boolean> {
    const name = formatName(LOGIN, key)
    const entry = await this.#backend.readEntry(name)
    if (entry === undefined) return false
    const { issuer, caller, generation: current } = this.#parseGrant(entry)
    if (current !== generation || !(await this.#backend.delete(name, entry.tag))) return false
    this.#cacheGrant(name, undefined, 0)
    if (why === undefined) return true
    const { account, resource } = key
    const lost: LostGrant = { account, resource, issuer, why, caller, at: this.#now() }
    await this.#backend.put(formatName(LOST, key), lost)
    return true
  }

  /** Lists logins that were lost since the last login. */
  listLost(): Promise<LostGrant[]> {
    return this.#listValues(LOST, ({ value }) => value as LostGrant)
  }

  /** Returns why a login was lost; undefined if it was not. */
  async findLossReason(key: LoginKey): Promise<string | undefined> {
    const entry = await this.#backend.readEntry(formatName(LOST, key))
    return isObject(entry?.value) ? String(entry.value.why) : undefined
  }

  /** Time of an account's latest known grant, in milliseconds since 1970. */
  getGrantTime(key: LoginKey): number | undefined {
    return this.#cache.get(formatName(LOGIN, key))?.grant.at
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

  #cacheGrant(name: string, grant: StoredGrant | undefined, version: number): StoredGrant | undefined {
    if (grant === undefined) this.#cache.delete(name)
    else this.#cache.set(name, { grant, version })
    return grant
  }

  async #listValues<T>(kind: string, parse: (entry: StoredEntry) => T): Promise<T[]> {
    const names = (await this.#backend.list()).filter(name => name.startsWith(`${kind} `))
    const values: T[] = []
    for (let at = 0; at < names.length; at += MAX_CONCURRENT) {
      const entries = await Promise.all(names.slice(at, at + MAX_CONCURRENT).map(name => this.#backend.readEntry(name)))
      for (const entry of entries) if (entry !== undefined) values.push(parse(entry))
    }
    return values
  }

  #parseGrant({ value }: StoredEntry): StoredGrant {
    if (!isObject(value)) throw this.#backend.createDamagedError()
    const grant = value as unknown as StoredGrant
    this.#reportSecrets(grant)
    return grant
  }

  #reportSecrets({ access, refresh, client }: NewGrant): void {
    for (const secret of [access, refresh, client.secret]) if (secret !== undefined) this.#deps.onSecret?.(secret)
  }
}

function formatName(kind: string, { account, resource }: LoginKey): string {
  return `${kind} ${JSON.stringify([resource, account])}`
}

function formatClientName(issuer: string, redirectUri: string): string {
  return `client ${JSON.stringify([issuer, redirectUri])}`
}
