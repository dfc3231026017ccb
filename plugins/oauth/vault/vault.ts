import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { reasonOf, type Clock, type Log } from '../../../src/plugin.ts'
import type {
  CallerCounts,
  ClientIdentity,
  GrantKey,
  KeptGrant,
  LostGrant,
  NewGrant,
  PendingLogin,
  Vault,
} from '../types.ts'
import { fileOf, openDatabase, told } from './database.ts'
import { RowSeal } from './seal.ts'
import { GrantStore } from './store.ts'

/** Name of the file. */
export const NAME = 'grants.sqlite'
/** Least time between two attempts to open it. */
const RETRY_MS = 1000

/** Dependencies of a vault. */
interface VaultOptions {
  /** Directory of the file; undefined where nothing outlives this process. */
  readonly directory: string | undefined
  /** Finds the key; undefined for one of this process alone. @throws GatewayError GW_VAULT_KEY */
  key(): Promise<Buffer | undefined>
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Hears each secret that goes in or out, so that no text shows it. */
  saw?(secret: string): void
}

/** The vault in its file. It is opened when it is first used, and again after a failure. */
export class FileVault implements Vault {
  readonly #options: VaultOptions
  readonly #path: string | undefined
  #store: GrantStore | undefined
  #opening: Promise<GrantStore> | undefined
  #failure: { readonly error: unknown; readonly at: number } | undefined

  constructor(options: VaultOptions) {
    this.#options = options
    this.#path = options.directory === undefined ? undefined : join(options.directory, NAME)
  }

  find(account: string, resource: string, issuer?: string): Promise<KeptGrant | undefined> {
    return this.#with(store => this.#seen(store.find(account, resource, issuer)))
  }

  list(): Promise<readonly KeptGrant[]> {
    return this.#with(store => store.list())
  }

  put(key: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined> {
    return this.#with(store => store.put(key, this.#seen(grant), over))
  }

  remove(key: GrantKey, generation: number, why?: string): Promise<boolean> {
    return this.#with(store => store.remove(key, generation, why))
  }

  want(account: string, resource: string, generation: number, scopes: readonly string[]): Promise<void> {
    return this.#with(store => store.want(account, resource, generation, scopes))
  }

  grantedAt(account: string, resource: string): number | undefined {
    return this.#now(store => store.grantedAt(account, resource))
  }

  callers(resource: string): CallerCounts | undefined {
    return this.#now(store => store.callers(resource))
  }

  lost(): Promise<readonly LostGrant[]> {
    return this.#with(store => store.lost())
  }

  lease(key: GrantKey, owner: string, ms: number): Promise<boolean> {
    return this.#with(store => store.lease(key, owner, ms))
  }

  release(key: GrantKey, owner: string): Promise<void> {
    return this.#with(store => store.release(key, owner))
  }

  registration(issuer: string, redirectUri: string): Promise<ClientIdentity | undefined> {
    return this.#with(store => store.registration(issuer, redirectUri))
  }

  saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): Promise<void> {
    return this.#with(store => store.saveRegistration(issuer, redirectUri, client))
  }

  dropRegistration(issuer: string, redirectUri: string): Promise<void> {
    return this.#with(store => store.dropRegistration(issuer, redirectUri))
  }

  savePending(login: PendingLogin): Promise<boolean> {
    return this.#with(store => store.savePending(login))
  }

  takePending(state: string): Promise<PendingLogin | undefined> {
    return this.#with(store => store.takePending(state))
  }

  version(): Promise<number> {
    return this.#with(store => store.version())
  }

  close(): void {
    this.#store?.close()
    this.#store = undefined
  }

  /** One line on why it cannot be used, for people; undefined while it can, or nobody has tried. */
  get problem(): string | undefined {
    return this.#failure === undefined ? undefined : reasonOf(this.#failure.error)
  }

  #seen<G extends NewGrant | undefined>(grant: G): G {
    const { saw } = this.#options
    for (const secret of [grant?.access, grant?.refresh, grant?.client.secret])
      if (secret !== undefined) saw?.(secret)
    return grant
  }

  /** Looks at what is open: whoever counts neither waits nor fails. */
  #now<T>(use: (store: GrantStore) => T): T | undefined {
    try {
      return this.#store && use(this.#store)
    } catch {
      return undefined
    }
  }

  async #with<T>(use: (store: GrantStore) => T): Promise<T> {
    const store = this.#store ?? (await this.#opened())
    return told(fileOf(this.#path), () => use(store))
  }

  async #opened(): Promise<GrantStore> {
    const { clock } = this.#options
    if (this.#failure !== undefined && clock.now() - this.#failure.at < RETRY_MS) throw this.#failure.error
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(): Promise<GrantStore> {
    const { clock, log, key, now } = this.#options
    try {
      const seal = new RowSeal((await key()) ?? randomBytes(32))
      const database = openDatabase(this.#path)
      try {
        const file = fileOf(this.#path)
        this.#store = told(file, () => new GrantStore(database, seal, file, now))
      } catch (error) {
        database.close()
        throw error
      }
      if (this.#failure !== undefined) log.info('logins can be used again')
      this.#failure = undefined
      return this.#store
    } catch (error) {
      if (this.#failure === undefined) log.error('logins cannot be used', { why: reasonOf(error) })
      this.#failure = { error, at: clock.now() }
      throw error
    }
  }
}
