import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fchmodSync, fstatSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type * as Sqlite from 'node:sqlite'
import type { Clock, Log } from '../../../src/plugin.ts'
import {
  GatewayError,
  loadSqlite,
  makeDirectorySync,
  getErrorMessage,
  getSqlCode,
  SqlDatabase,
} from '../../../src/plugin.ts'
import { vaultError } from '../errors.ts'
import type {
  CallerCounts,
  ClientIdentity,
  GrantKey,
  StoredGrant,
  LostGrant,
  NewGrant,
  PendingLogin,
  Vault,
} from '../types.ts'
import { RowSeal } from './seal.ts'
import { GrantStore } from './grant-store.ts'

/** `tgrt` in the file header; identifies our database. */
const APPLICATION_ID = 0x74677274
/** Schema version. */
const VERSION = 1
const BUSY_MS = 2000

/** Times are milliseconds since 1970; each `value` is sealed for its row. `counter` stores the latest generation. */
const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
CREATE TABLE counter (last INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (0);
CREATE TABLE proof (value BLOB NOT NULL) STRICT;
CREATE TABLE grants (
  account TEXT NOT NULL,
  resource TEXT NOT NULL,
  issuer TEXT NOT NULL,
  generation INTEGER NOT NULL,
  at INTEGER NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (account, resource, issuer)
) STRICT, WITHOUT ROWID;
CREATE TABLE lost (
  account TEXT NOT NULL,
  resource TEXT NOT NULL,
  issuer TEXT NOT NULL,
  at INTEGER NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (account, resource, issuer)
) STRICT, WITHOUT ROWID;
CREATE TABLE leases (
  account TEXT NOT NULL,
  resource TEXT NOT NULL,
  issuer TEXT NOT NULL,
  owner TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (account, resource, issuer)
) STRICT, WITHOUT ROWID;
CREATE TABLE registrations (
  issuer TEXT NOT NULL,
  redirect TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (issuer, redirect)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending (
  state TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  until INTEGER NOT NULL,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_by_account ON pending (account);
`

/**
 * Opens the database for the owner only; in memory without a path. An unusable file is not changed. @throws
 * GatewayError GW_VAULT_*
 */
function openDatabase(path: string | undefined): SqlDatabase {
  const file = getFileName(path)
  return mapSqlErrors(file, () => {
    if (path !== undefined) prepareFile(path)
    const database = new (loadSqlite().DatabaseSync)(path ?? ':memory:')
    try {
      // FULL syncs each commit: a rotated refresh token must be on disk before its access token is used.
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        PRAGMA secure_delete = ON`)
      migrate(database, file)
      return new SqlDatabase(database)
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Creates the file if it is missing; rejects another user's file. */
function prepareFile(path: string): void {
  const directory = dirname(path)
  if (makeDirectorySync(directory, 0o700) !== undefined) chmodSync(directory, 0o700)
  const descriptor = openSync(path, 'a', 0o600)
  try {
    const own = process.getuid?.()
    if (own === undefined) return
    const { mode, uid } = fstatSync(descriptor)
    if (uid !== own) throw vaultError('GW_VAULT_DISK', { file: path, why: 'it belongs to another user' })
    if ((mode & 0o077) !== 0) fchmodSync(descriptor, 0o600)
  } finally {
    closeSync(descriptor)
  }
}

function migrate(database: Sqlite.DatabaseSync, file: string): void {
  const first = (sql: string): unknown => Object.values(database.prepare(sql).get() ?? {})[0]
  database.exec('BEGIN IMMEDIATE')
  try {
    const isNew = first('SELECT count(*) FROM sqlite_master') === 0
    if (isNew) database.exec(SCHEMA)
    else if (first('PRAGMA application_id') !== APPLICATION_ID)
      throw vaultError('GW_VAULT_DAMAGED', { file, why: 'it is a different database' })
    else if (first('PRAGMA user_version') !== VERSION)
      throw vaultError('GW_VAULT_DAMAGED', { file, why: 'it was written by another version of the gateway' })
    database.exec('COMMIT')
    const check = isNew ? 'ok' : String(first('PRAGMA quick_check(1)'))
    if (check !== 'ok') throw vaultError('GW_VAULT_DAMAGED', { file, why: check })
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** SQLite result codes for a damaged file. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

function getFileName(path: string | undefined): string {
  return path ?? 'memory'
}

/** Maps SQLite errors to vault errors. */
function mapSqlErrors<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    const isDamaged = DAMAGED.has(getSqlCode(cause) ?? 0)
    throw vaultError(isDamaged ? 'GW_VAULT_DAMAGED' : 'GW_VAULT_DISK', {
      file,
      why: getErrorMessage(cause),
      cause,
    })
  }
}

export const VAULT_FILE = 'grants.sqlite'
/** Minimum time between attempts to open the file. */
const RETRY_MS = 1000

interface VaultDeps {
  /** Undefined for a vault in memory. */
  readonly directory: string | undefined
  /** Loads the key; undefined for a temporary one. @throws GatewayError GW_VAULT_KEY */
  key(): Promise<Buffer | undefined>
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Called with each secret that is read or written, to hide it in output. */
  onSecret?(secret: string): void
}

/** A vault in a file, opened with its first use and again after a failure. */
export class FileVault implements Vault {
  readonly #options: VaultDeps
  readonly #path: string | undefined
  #store: GrantStore | undefined
  #opening: Promise<GrantStore> | undefined
  #failure: { readonly error: unknown; readonly at: number } | undefined

  constructor(options: VaultDeps) {
    this.#options = options
    this.#path = options.directory === undefined ? undefined : join(options.directory, VAULT_FILE)
  }

  find(account: string, resource: string, issuer?: string): Promise<StoredGrant | undefined> {
    return this.#runWithStore(store => this.#reportSecrets(store.find(account, resource, issuer)))
  }

  list(): Promise<readonly StoredGrant[]> {
    return this.#runWithStore(store => store.list())
  }

  put(key: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined> {
    return this.#runWithStore(store => store.put(key, this.#reportSecrets(grant), over))
  }

  remove(key: GrantKey, generation: number, why?: string): Promise<boolean> {
    return this.#runWithStore(store => store.remove(key, generation, why))
  }

  addWantedScopes(account: string, resource: string, generation: number, scopes: readonly string[]): Promise<void> {
    return this.#runWithStore(store => store.addWantedScopes(account, resource, generation, scopes))
  }

  getGrantTime(account: string, resource: string): number | undefined {
    return this.#readIfOpen(store => store.getGrantTime(account, resource))
  }

  countCallers(resource: string): CallerCounts | undefined {
    return this.#readIfOpen(store => store.countCallers(resource))
  }

  listLost(): Promise<readonly LostGrant[]> {
    return this.#runWithStore(store => store.listLost())
  }

  lease(key: GrantKey, owner: string, ms: number): Promise<boolean> {
    return this.#runWithStore(store => store.lease(key, owner, ms))
  }

  release(key: GrantKey, owner: string): Promise<void> {
    return this.#runWithStore(store => store.release(key, owner))
  }

  registration(issuer: string, redirectUri: string): Promise<ClientIdentity | undefined> {
    return this.#runWithStore(store => store.registration(issuer, redirectUri))
  }

  saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): Promise<void> {
    return this.#runWithStore(store => store.saveRegistration(issuer, redirectUri, client))
  }

  dropRegistration(issuer: string, redirectUri: string): Promise<void> {
    return this.#runWithStore(store => store.dropRegistration(issuer, redirectUri))
  }

  savePending(login: PendingLogin): Promise<boolean> {
    return this.#runWithStore(store => store.savePending(login))
  }

  takePending(state: string): Promise<PendingLogin | undefined> {
    return this.#runWithStore(store => store.takePending(state))
  }

  version(): Promise<number> {
    return this.#runWithStore(store => store.version())
  }

  close(): void {
    this.#store?.close()
    this.#store = undefined
  }

  /** Reason why the vault is unusable; undefined if it is usable or not opened yet. */
  get problem(): string | undefined {
    return this.#failure === undefined ? undefined : getErrorMessage(this.#failure.error)
  }

  #reportSecrets<G extends NewGrant | undefined>(grant: G): G {
    const { onSecret } = this.#options
    for (const secret of [grant?.access, grant?.refresh, grant?.client.secret])
      if (secret !== undefined) onSecret?.(secret)
    return grant
  }

  /** Reads only if the store is open, so that counting neither waits nor fails. */
  #readIfOpen<T>(use: (store: GrantStore) => T): T | undefined {
    try {
      return this.#store && use(this.#store)
    } catch {
      return undefined
    }
  }

  async #runWithStore<T>(use: (store: GrantStore) => T): Promise<T> {
    const store = this.#store ?? (await this.#ensureOpen())
    return mapSqlErrors(getFileName(this.#path), () => use(store))
  }

  async #ensureOpen(): Promise<GrantStore> {
    const { clock } = this.#options
    if (this.#failure !== undefined && clock.now() - this.#failure.at < RETRY_MS) throw this.#failure.error
    this.#opening ??= this.#openStore().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #openStore(): Promise<GrantStore> {
    const { clock, log, key, now } = this.#options
    try {
      const seal = new RowSeal((await key()) ?? randomBytes(32))
      const database = openDatabase(this.#path)
      try {
        const file = getFileName(this.#path)
        this.#store = mapSqlErrors(file, () => new GrantStore(database, seal, file, now))
      } catch (error) {
        database.close()
        throw error
      }
      if (this.#failure !== undefined) log.info('login store available again')
      this.#failure = undefined
      return this.#store
    } catch (error) {
      if (this.#failure === undefined) log.error('login store unavailable', { why: getErrorMessage(error) })
      this.#failure = { error, at: clock.now() }
      throw error
    }
  }
}
