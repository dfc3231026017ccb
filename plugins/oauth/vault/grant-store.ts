import type { JsonObject, SqlDatabase, SqlRow } from '../../../src/plugin.ts'
import { isObject, getSqlNumber, getSqlText } from '../../../src/plugin.ts'
import type {
  CallerIdentity,
  CallerCounts,
  ClientIdentity,
  Grant,
  GrantKey,
  StoredGrant,
  LostGrant,
  NewGrant,
  PendingLogin,
} from '../types.ts'
import { GATEWAY_ACCOUNT } from '../types.ts'
import { vaultError } from '../errors.ts'
import type { RowSeal } from './seal.ts'
import { hashLookupKey } from './seal.ts'

/** Maximum grants over all callers. */
const MAX_GRANTS = 100_000
const MAX_REGISTRATIONS = 1000
const MAX_LOST = 1000
/** Maximum pending logins: per account, and in total. */
const MAX_PENDING_EACH = 8
const MAX_PENDING = 1000
const MAX_PENDING_MS = 10 * 60_000
/** Maximum wanted scopes per grant. */
const MAX_WANTED = 200

const OF_KEY = 'account = ? AND resource = ? AND issuer = ?'
const PROOF = 'tapgate'

/** Rows of the vault; each call is one transaction. @throws Error of SQLite, and GatewayError GW_VAULT_* */
export class GrantStore {
  readonly #database: SqlDatabase
  readonly #seal: RowSeal
  readonly #file: string
  readonly #now: () => number

  /** @throws GatewayError GW_VAULT_KEY if the rows were sealed with another key */
  constructor(database: SqlDatabase, seal: RowSeal, file: string, now: () => number = Date.now) {
    this.#database = database
    this.#seal = seal
    this.#file = file
    this.#now = now
    this.#verifyKey()
  }

  find(account: string, resource: string, issuer?: string): StoredGrant | undefined {
    const row =
      issuer === undefined
        ? this.#database.get(
            'SELECT * FROM grants WHERE account = ? AND resource = ? ORDER BY generation DESC LIMIT 1',
            account,
            resource,
          )
        : this.#database.get(`SELECT * FROM grants WHERE ${OF_KEY}`, account, resource, issuer)
    return row === undefined ? undefined : this.#openGrant(row)
  }

  list(): StoredGrant[] {
    const rows = this.#database.all('SELECT * FROM grants ORDER BY resource, account, issuer')
    return rows.map(row => this.#openGrant(row))
  }

  put(key: GrantKey, grant: NewGrant, over?: number): number | undefined {
    return this.#database.runTransaction(() => {
      const before = this.#getGeneration(key)
      if (over !== undefined && over !== before) return undefined
      if (before === 0) this.#checkCapacity()
      const counted = this.#database.get('UPDATE counter SET last = last + 1 RETURNING last')
      const generation = getSqlNumber(counted?.last)
      const complete = over === undefined ? grant : { ...this.#readStickyMembers(key), ...grant }
      const value = this.#seal.seal(pickMembers(complete), createPlace('grants', key, generation))
      const at = this.#now()
      this.#database.run(
        'INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?)',
        ...columns(key),
        generation,
        at,
        value,
      )
      this.#database.run(`DELETE FROM lost WHERE ${OF_KEY}`, ...columns(key))
      return generation
    })
  }

  remove(key: GrantKey, generation: number, reason?: string): boolean {
    return this.#database.runTransaction(() => {
      const { caller } = reason === undefined ? {} : this.#readStickyMembers(key)
      const sql = `DELETE FROM grants WHERE ${OF_KEY} AND generation = ?`
      if (this.#database.run(sql, ...columns(key), generation) === 0) return false
      if (reason !== undefined) this.#insertLost(key, reason, caller)
      return true
    })
  }

  /** Keeps the generation, as the tokens are the same. */
  addWantedScopes(account: string, resource: string, generation: number, scopes: readonly string[]): void {
    this.#database.runTransaction(() => {
      const sql = 'SELECT * FROM grants WHERE account = ? AND resource = ? AND generation = ?'
      const row = this.#database.get(sql, account, resource, generation)
      if (row === undefined) return
      const grant = this.#openGrant(row)
      const scopesWanted = [...new Set([...(grant.scopesWanted ?? []), ...scopes])].slice(0, MAX_WANTED)
      const value = this.#seal.seal(pickMembers({ ...grant, scopesWanted }), createPlace('grants', grant, generation))
      this.#database.run(`UPDATE grants SET value = ? WHERE ${OF_KEY}`, value, ...columns(grant))
    })
  }

  getGrantTime(account: string, resource: string): number | undefined {
    const sql = 'SELECT max(at) AS at FROM grants WHERE account = ? AND resource = ?'
    const at = this.#database.get(sql, account, resource)?.at
    return at === null || at === undefined ? undefined : getSqlNumber(at)
  }

  countCallers(resource: string): CallerCounts {
    const own = 'resource = ? AND account <> ?'
    const counting = `SELECT count(DISTINCT account) AS n FROM grants WHERE ${own}`
    const losing = `SELECT DISTINCT account FROM lost WHERE ${own}
      AND account NOT IN (SELECT account FROM grants WHERE ${own})`
    const { n } = this.#database.get(counting, resource, GATEWAY_ACCOUNT) ?? {}
    const lost = this.#database.all(losing, ...[resource, GATEWAY_ACCOUNT, resource, GATEWAY_ACCOUNT])
    return { granted: getSqlNumber(n), lost: lost.map(({ account }) => getSqlText(account) ?? '') }
  }

  listLost(): LostGrant[] {
    return this.#database.all('SELECT * FROM lost').flatMap(row => {
      const key = parseKey(row)
      const value = this.#openRow(row, createPlace('lost', key))
      const caller = isObject(value.caller) ? { caller: value.caller as unknown as CallerIdentity } : {}
      return [{ ...key, at: getSqlNumber(row.at), why: String(value.why), ...caller }]
    })
  }

  lease(key: GrantKey, owner: string, ms: number): boolean {
    const now = this.#now()
    // A lease in the far future was written before the clock was set back.
    const sql = `INSERT INTO leases VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET owner = excluded.owner, until = excluded.until
      WHERE owner = excluded.owner OR until <= ? OR until > ?`
    return this.#database.run(sql, ...columns(key), owner, now + ms, now, now + MAX_PENDING_MS) === 1
  }

  release(key: GrantKey, owner: string): void {
    this.#database.run(`DELETE FROM leases WHERE ${OF_KEY} AND owner = ?`, ...columns(key), owner)
  }

  registration(issuer: string, redirectUri: string): ClientIdentity | undefined {
    const sql = 'SELECT value FROM registrations WHERE issuer = ? AND redirect = ?'
    const row = this.#database.get(sql, issuer, redirectUri)
    if (row === undefined) return undefined
    return this.#openRow(row, ['registrations', issuer, redirectUri]) as unknown as ClientIdentity
  }

  saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): void {
    const value = this.#seal.seal(client, ['registrations', issuer, redirectUri])
    this.#database.runTransaction(() => {
      this.#database.run('INSERT OR REPLACE INTO registrations VALUES (?, ?, ?)', issuer, redirectUri, value)
      const { n } = this.#database.get('SELECT count(*) AS n FROM registrations') ?? {}
      if (getSqlNumber(n) > MAX_REGISTRATIONS) throw vaultError('GW_VAULT_FULL', { max: MAX_REGISTRATIONS })
    })
  }

  dropRegistration(issuer: string, redirectUri: string): void {
    this.#database.run('DELETE FROM registrations WHERE issuer = ? AND redirect = ?', issuer, redirectUri)
  }

  savePending({ state, account, expiresAt, value }: PendingLogin): boolean {
    const now = this.#now()
    const until = Math.min(expiresAt, now + MAX_PENDING_MS)
    const key = hashLookupKey(state)
    const sealed = this.#seal.seal({ account, value }, ['pending', key, until])
    return this.#database.runTransaction(() => {
      this.#database.run('DELETE FROM pending WHERE until <= ? OR until > ?', now, now + MAX_PENDING_MS)
      const sql = 'SELECT count(*) AS n, count(*) FILTER (WHERE account = ?) AS own FROM pending'
      const { n, own } = this.#database.get(sql, account) ?? {}
      if (getSqlNumber(own) >= MAX_PENDING_EACH || getSqlNumber(n) >= MAX_PENDING) return false
      return this.#database.run('INSERT INTO pending VALUES (?, ?, ?, ?)', key, account, until, sealed) === 1
    })
  }

  takePending(state: string): PendingLogin | undefined {
    const key = hashLookupKey(state)
    const row = this.#database.get('DELETE FROM pending WHERE state = ? RETURNING *', key)
    if (row === undefined) return undefined
    const expiresAt = getSqlNumber(row.until)
    const now = this.#now()
    if (expiresAt <= now || expiresAt > now + MAX_PENDING_MS) return undefined
    const { account, value } = this.#openRow(row, ['pending', key, expiresAt])
    return { state, account: String(account), expiresAt, value: isObject(value) ? value : {} }
  }

  version(): number {
    return this.#database.getVersion()
  }

  close(): void {
    this.#database.close()
  }

  /** Verifies the key; a new database takes the first one. */
  #verifyKey(): void {
    this.#database.runTransaction(() => {
      const row = this.#database.get('SELECT value FROM proof')
      if (row === undefined) {
        this.#database.run('INSERT INTO proof VALUES (?)', this.#seal.seal(PROOF, ['proof']))
        return
      }
      if (row.value instanceof Uint8Array && this.#seal.open(row.value, ['proof']) === PROOF) return
      const why = 'it was sealed with another key'
      throw vaultError('GW_VAULT_KEY', { file: this.#file, why })
    })
  }

  #getGeneration(key: GrantKey): number {
    const row = this.#database.get(`SELECT generation FROM grants WHERE ${OF_KEY}`, ...columns(key))
    return getSqlNumber(row?.generation)
  }

  #checkCapacity(): void {
    const { n } = this.#database.get('SELECT count(*) AS n FROM grants') ?? {}
    if (getSqlNumber(n) >= MAX_GRANTS) throw vaultError('GW_VAULT_FULL', { max: MAX_GRANTS })
  }

  /** Reads members that survive a renewal; none if the row is unreadable. */
  #readStickyMembers(key: GrantKey): Pick<Grant, 'caller' | 'scopesWanted'> {
    const row = this.#database.get(`SELECT * FROM grants WHERE ${OF_KEY}`, ...columns(key))
    if (!(row?.value instanceof Uint8Array)) return {}
    const opened = this.#seal.open(row.value, createPlace('grants', key, getSqlNumber(row.generation)))
    const { caller, scopesWanted } = (opened ?? {}) as Partial<Grant>
    return {
      ...(caller === undefined ? {} : { caller }),
      ...(scopesWanted === undefined ? {} : { scopesWanted }),
    }
  }

  #insertLost(key: GrantKey, why: string, caller: CallerIdentity | undefined): void {
    const value = this.#seal.seal({ why, caller }, createPlace('lost', key))
    const at = this.#now()
    this.#database.run('INSERT OR REPLACE INTO lost VALUES (?, ?, ?, ?, ?)', ...columns(key), at, value)
    const oldest = `DELETE FROM lost WHERE (account, resource, issuer) IN
      (SELECT account, resource, issuer FROM lost ORDER BY at DESC LIMIT -1 OFFSET ${MAX_LOST})`
    this.#database.run(oldest)
  }

  #openGrant(row: SqlRow): StoredGrant {
    const key = parseKey(row)
    const generation = getSqlNumber(row.generation)
    const grant = this.#openRow(row, createPlace('grants', key, generation)) as unknown as NewGrant
    return { ...key, ...grant, generation, at: getSqlNumber(row.at) }
  }

  #openRow({ value }: SqlRow, context: readonly (string | number)[]): JsonObject {
    const opened = value instanceof Uint8Array ? this.#seal.open(value, context) : undefined
    if (isObject(opened)) return opened
    const why = `a row of "${String(context[0])}" was modified`
    throw vaultError('GW_VAULT_DAMAGED', { file: this.#file, why })
  }
}

function columns({ account, resource, issuer }: GrantKey): [string, string, string] {
  return [account, resource, issuer]
}

function parseKey(row: SqlRow): GrantKey {
  const readColumn = (name: string): string => getSqlText(row[name]) ?? ''
  return { account: readColumn('account'), resource: readColumn('resource'), issuer: readColumn('issuer') }
}

function createPlace(table: string, key: GrantKey, ...more: number[]): (string | number)[] {
  return [table, ...columns(key), ...more]
}

/** Picks known members only: callers may pass a stored grant with key and generation. */
function pickMembers(grant: NewGrant): Omit<Grant, 'generation'> {
  const { access, audience, refresh, expiresAt, scopesRequested, scopesGranted, client } = grant
  const { scopesWanted = [], caller } = grant
  return {
    access,
    ...(audience === undefined ? {} : { audience }),
    ...(refresh === undefined ? {} : { refresh }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    scopesRequested,
    scopesGranted,
    ...(scopesWanted.length === 0 ? {} : { scopesWanted }),
    ...(caller === undefined ? {} : { caller: { issuer: caller.issuer, subject: caller.subject } }),
    client,
  }
}
