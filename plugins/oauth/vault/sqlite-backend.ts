import { hkdfSync, randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fchmodSync, fstatSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Clock, Config, Log, PluginApi } from '../../../src/plugin.ts'
import {
  GatewayError,
  getErrorMessage,
  getSqlNumber,
  getSqlText,
  loadKeyFile,
  loadSqlite,
  makeDirectorySync,
  openWithKey,
  sealWithKey,
  SqlDatabase,
} from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { EntryOptions, StoredEntry, VaultBackend } from '../types.ts'

const VAULT_FILE = 'grants.sqlite'
const KEY_FILE = 'grants.key'
const KEY_BYTES = 32
/** Shorter keys are guessable. */
const MIN_KEY_LENGTH = 32
/** `tgrt` in the file header; identifies our database. */
const APPLICATION_ID = 0x74677274
const BUSY_MS = 2000
/** Minimum time between attempts to open the file. */
const RETRY_MS = 1000
/** Entry that proves the key. */
const PROOF = 'proof'

/** Each value is sealed for its name. `until` is in milliseconds since 1970. */
const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
CREATE TABLE entries (name TEXT PRIMARY KEY, value TEXT NOT NULL, until INTEGER) STRICT, WITHOUT ROWID;
`

interface SqliteBackendDeps {
  /** Undefined for a vault in memory. */
  readonly directory: string | undefined
  /** Loads the key; undefined for a temporary one. @throws GatewayError GW_VAULT_KEY */
  key(): Promise<Buffer | undefined>
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined
}

interface OpenDatabase {
  readonly rows: SqlDatabase
  readonly key: Buffer
}

/** Entries in a file, opened with its first use and again after a failure. */
export class SqliteBackend implements VaultBackend {
  readonly #deps: SqliteBackendDeps
  readonly #path: string | undefined
  #opening: Promise<OpenDatabase> | undefined
  /** Clock time of the last failure to open; NaN if there is none. */
  #failedAt = Number.NaN

  constructor(deps: SqliteBackendDeps) {
    this.#deps = deps
    this.#path = deps.directory === undefined ? undefined : join(deps.directory, VAULT_FILE)
  }

  readEntry(name: string): Promise<StoredEntry | undefined> {
    return this.#use(({ rows, key }) => {
      const sql = 'SELECT value FROM entries WHERE name = ? AND ifnull(until > ?, 1)'
      const tag = getSqlText(rows.get(sql, name, this.#getTime())?.value)
      return tag === undefined ? undefined : { value: openWithKey(key, tag, name), tag }
    })
  }

  put(name: string, value: unknown, { when, expiresInMs }: EntryOptions = {}): Promise<boolean> {
    return this.#use(({ rows, key }) => {
      const until = expiresInMs === undefined ? null : this.#getTime() + expiresInMs
      const row = [name, sealWithKey(key, value, name), until] as const
      if (when === undefined) return rows.run('INSERT OR REPLACE INTO entries VALUES (?, ?, ?)', ...row) === 1
      if (when !== 'absent') {
        const sql = 'UPDATE entries SET value = ?2, until = ?3 WHERE name = ?1 AND value = ?4'
        return rows.run(sql, ...row, when.tag) === 1
      }
      const sql = `INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT DO UPDATE
        SET value = excluded.value, until = excluded.until WHERE until <= ?`
      return rows.run(sql, ...row, this.#getTime()) === 1
    })
  }

  delete(name: string, tag?: string): Promise<boolean> {
    return this.#use(({ rows }) => {
      const sql = 'DELETE FROM entries WHERE name = ?1 AND value = ifnull(?2, value)'
      return rows.run(sql, name, tag ?? null) === 1
    })
  }

  list(): Promise<string[]> {
    return this.#use(({ rows }) =>
      rows.all('SELECT name FROM entries ORDER BY name').map(row => getSqlText(row.name) ?? ''),
    )
  }

  close(): void {
    void this.#opening?.then(
      ({ rows }) => rows.close(),
      () => undefined,
    )
    this.#opening = undefined
  }

  get location(): string {
    return this.#path ?? 'memory'
  }

  #getTime(): number {
    return (this.#deps.now ?? Date.now)()
  }

  async #use<T>(work: (database: OpenDatabase) => T): Promise<T> {
    const database = await this.#ensureOpen()
    return this.#mapErrors(() => work(database))
  }

  /** Opens the file; after a failure again only after a pause, as the key may come from a program. */
  #ensureOpen(): Promise<OpenDatabase> {
    const { clock, log } = this.#deps
    if (clock.now() - this.#failedAt >= RETRY_MS) this.#opening = undefined
    this.#opening ??= this.#open().catch((error: unknown) => {
      if (Number.isNaN(this.#failedAt)) log.error('login store unavailable', { why: getErrorMessage(error) })
      this.#failedAt = clock.now()
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<OpenDatabase> {
    const secret = (await this.#deps.key()) ?? randomBytes(KEY_BYTES)
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'tapgate grants 2', KEY_BYTES))
    const rows = this.#mapErrors(() => this.#openFile(key))
    if (!Number.isNaN(this.#failedAt)) this.#deps.log.info('login store available again')
    this.#failedAt = Number.NaN
    return { rows, key }
  }

  /** Opens the file for the owner only. An unusable file is not changed. */
  #openFile(key: Buffer): SqlDatabase {
    if (this.#path !== undefined) prepareFile(this.#path)
    const database = new (loadSqlite().DatabaseSync)(this.#path ?? ':memory:')
    const rows = new SqlDatabase(database)
    try {
      // FULL syncs each commit: a rotated refresh token must be on disk before its access token is used.
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        PRAGMA secure_delete = ON`)
      rows.runTransaction(() => {
        if (getSqlNumber(rows.get('SELECT count(*) AS n FROM sqlite_master')?.n) === 0) database.exec(SCHEMA)
        else this.#checkFile(rows)
        this.#checkKey(rows, key)
      })
      return rows
    } catch (error) {
      database.close()
      throw error
    }
  }

  #checkFile(rows: SqlDatabase): void {
    if (rows.get('PRAGMA application_id')?.application_id !== APPLICATION_ID)
      throw new Error('it is a different database')
    const check = String(rows.get('PRAGMA quick_check(1)')?.quick_check)
    if (check !== 'ok') throw new Error(check)
  }

  /** Verifies the key; a new database takes the first one. */
  #checkKey(rows: SqlDatabase, key: Buffer): void {
    const proof = getSqlText(rows.get('SELECT value FROM entries WHERE name = ?', PROOF)?.value)
    if (proof === undefined) rows.run('INSERT INTO entries VALUES (?, ?, NULL)', PROOF, sealWithKey(key, PROOF, PROOF))
    else if (openWithKey(key, proof, PROOF) !== PROOF)
      throw oauthError('GW_VAULT_KEY', { file: this.location, why: 'it was sealed with another key' })
  }

  #mapErrors<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause
      throw oauthError('GW_VAULT', { location: this.location, why: getErrorMessage(cause), cause })
    }
  }
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
    if (uid !== own) throw new Error('it belongs to another user')
    if ((mode & 0o077) !== 0) fchmodSync(descriptor, 0o600)
  } finally {
    closeSync(descriptor)
  }
}

/** Where the key comes from; without state directory it is temporary. */
type KeySources = Pick<PluginApi, 'directory' | 'state' | 'programs'> & { readonly config: Pick<Config, 'secrets'> }

/**
 * Loads the vault key. One in the state directory protects copies of the database, but not against processes that can
 * read all files of this user.
 * @throws GatewayError GW_VAULT_KEY
 */
export async function loadVaultKey({ config, directory, state, programs }: KeySources): Promise<Buffer | undefined> {
  const { keyCommand, keyFile } = config.secrets ?? {}
  try {
    if (keyCommand !== undefined) return stripLineEnd(Buffer.from(await programs.captureOutput(keyCommand, directory)))
    if (keyFile !== undefined) return stripLineEnd(await readFile(resolve(directory, keyFile)))
    return state === undefined ? undefined : await loadKeyFile(join(state, KEY_FILE), KEY_BYTES)
  } catch (cause) {
    const file = keyCommand === undefined ? (keyFile ?? KEY_FILE) : 'secrets.keyCommand'
    throw oauthError('GW_VAULT_KEY', { file, why: getErrorMessage(cause), cause })
  }
}

/** Strips the trailing line feed that editors add. */
function stripLineEnd(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1').replace(/\r?\n$/, '')
  if (text.length < MIN_KEY_LENGTH) throw new Error(`a key must have at least ${MIN_KEY_LENGTH} characters`)
  return Buffer.from(text, 'latin1')
}
