import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isSqlBusy, makeDirectorySync, SqlDatabase } from '../../src/plugin.ts'
import { DAY_MS, formatDay } from './day-counts.ts'

const FILE = /^quota-([0-9a-f-]{36})\.(?:lock|used)$/
const COUNT_BYTES = 4

/**
 * File with the used call count for each reservation, four bytes each, written before the call proceeds. A second
 * file is locked while the process lives, so that other processes detect its death and return its unused calls.
 */
class ReserveFile {
  readonly owner = randomUUID()
  readonly #directory: string
  readonly #lock: DatabaseSync
  readonly #file: number
  readonly #count = Buffer.alloc(COUNT_BYTES)

  /** Must be created while no other process reclaims dead ones. */
  constructor(directory: string) {
    this.#directory = directory
    this.#lock = new DatabaseSync(getLockPath(directory, this.owner))
    this.#lock.exec('PRAGMA busy_timeout = 2000; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    this.#file = openSync(getUsedPath(directory, this.owner), 'wx', 0o600)
  }

  recordUse(slot: number, used: number): void {
    this.#count.writeUInt32LE(used)
    writeSync(this.#file, this.#count, 0, COUNT_BYTES, slot * COUNT_BYTES)
  }

  /** Closes it; keeps the files if the reservations could not be returned. */
  close(areGivenBack: boolean): void {
    closeSync(this.#file)
    this.#lock.close()
    if (areGivenBack) removeReserve(this.#directory, this.owner)
  }
}

/** Lists dead processes with files in the directory. */
function listDeadOwners(directory: string, own: string | undefined): string[] {
  const owners = new Set(readdirSync(directory).flatMap(name => FILE.exec(name)?.[1] ?? []))
  return [...owners].filter(owner => owner !== own && !isAlive(getLockPath(directory, owner)))
}

/** Reads the used calls of a dead process's reservations; undefined if unknown. */
function readUsedCounts(directory: string, owner: string): (slot: number) => number | undefined {
  let counts: Buffer
  try {
    counts = readFileSync(getUsedPath(directory, owner))
  } catch {
    return () => undefined
  }
  return slot => (counts.length < (slot + 1) * COUNT_BYTES ? undefined : counts.readUInt32LE(slot * COUNT_BYTES))
}

function removeReserve(directory: string, owner: string): void {
  for (const path of [getUsedPath(directory, owner), getLockPath(directory, owner)]) rmSync(path, { force: true })
}

function isAlive(lock: string): boolean {
  const database = new DatabaseSync(lock)
  try {
    database.exec('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch (error) {
    if (isSqlBusy(error)) return true
    throw error
  } finally {
    database.close()
  }
}

function getLockPath(directory: string, owner: string): string {
  return join(directory, `quota-${owner}.lock`)
}

function getUsedPath(directory: string, owner: string): string {
  return join(directory, `quota-${owner}.used`)
}

const BUSY_MS = 2000
/** Calls reserved at a time, while at least AMPLE times as many are left; the last ones are counted singly. */
const BATCH = 256
const AMPLE = 4
/** Minimum interval between searches for dead processes. */
const RECLAIM_INTERVAL_MS = 1000

const ADD = `INSERT INTO quota VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1 WHERE used < ?`
const RESERVE = `INSERT INTO quota VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = used + excluded.used`
const GIVE_BACK = 'UPDATE quota SET used = max(0, used - ?) WHERE day = ? AND rule = ? AND key = ?'

/** Calls that this process may admit without the database, which has counted them already. */
interface ReservedCalls {
  readonly day: string
  readonly rule: string
  readonly key: string
  readonly max: number
  readonly slot: number
  used: number
  remaining: number
}

/**
 * Day counts in a database. Counts are written before the call proceeds, so only a power failure may lose them. Calls
 * are reserved in batches, as a transaction costs more than a call; used ones are recorded singly.
 */
export class DayQuotas {
  readonly #database: DatabaseSync
  readonly #sql: SqlDatabase
  readonly #directory: string
  readonly #reserved = new Map<string, ReservedCalls>()
  /** Keys counted since reservations were returned: a second call is worth a reservation. */
  readonly #seenIds = new Set<string>()
  #reserve: ReserveFile | undefined
  #slots = 0
  #day = ''
  #dayNumber = -1
  #reclaimedAt = -Infinity

  constructor(database: DatabaseSync, directory: string) {
    this.#database = database
    this.#sql = new SqlDatabase(database)
    this.#directory = directory
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS quota (day TEXT, rule TEXT, key TEXT, used INTEGER NOT NULL,
        PRIMARY KEY (day, rule, key)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS reserved (owner TEXT, slot INTEGER, day TEXT, rule TEXT, key TEXT,
        size INTEGER NOT NULL, PRIMARY KEY (owner, slot)) WITHOUT ROWID`)
    this.#reclaimDeadReserves()
  }

  /** Returns true if another call is allowed today. */
  hasCapacity(rule: string, key: string, max: number, now: number): boolean {
    const day = this.#getDay(now)
    if (this.#findReserved(rule, key, max, day) !== undefined || this.#readUsed(day, rule, key) < max) return true
    if (Math.abs(now - this.#reclaimedAt) < RECLAIM_INTERVAL_MS) return false
    this.#reclaimedAt = now
    this.#reclaimDeadReserves()
    return this.#readUsed(day, rule, key) < max
  }

  /** Counts a call; false if another process took the last one. */
  countCall(rule: string, key: string, max: number, now: number): boolean {
    const day = this.#getDay(now)
    const reserved = this.#findReserved(rule, key, max, day)
    if (reserved === undefined) return this.#countInDatabase(rule, key, max, day)
    this.#reserve?.recordUse(reserved.slot, ++reserved.used)
    reserved.remaining--
    return true
  }

  /** Returns unused reserved calls for other processes. */
  returnReserved(): void {
    this.#seenIds.clear()
    if (this.#reserved.size === 0) return
    this.#sql.runTransaction(() => {
      for (const { day, rule, key, remaining } of this.#reserved.values())
        if (remaining > 0) this.#sql.run(GIVE_BACK, remaining, day, rule, key)
      this.#sql.run('DELETE FROM reserved WHERE owner = ?', this.#reserve?.owner ?? '')
    })
    this.#reserved.clear()
    this.#slots = 0
  }

  close(): void {
    let areGivenBack = false
    try {
      this.returnReserved()
      areGivenBack = true
    } finally {
      this.#reserve?.close(areGivenBack)
      this.#database.close()
    }
  }

  #findReserved(rule: string, key: string, max: number, day: string): ReservedCalls | undefined {
    const own = this.#reserved.get(createCountKey(rule, key))
    return own !== undefined && own.remaining > 0 && own.day === day && own.max === max ? own : undefined
  }

  #readUsed(day: string, rule: string, key: string): number {
    const row = this.#sql.get('SELECT used FROM quota WHERE day = ? AND rule = ? AND key = ?', day, rule, key)
    return Number(row?.used ?? 0)
  }

  /** Uses one statement or transaction, so that no two processes or generations count the same call. */
  #countInDatabase(rule: string, key: string, max: number, day: string): boolean {
    const id = createCountKey(rule, key)
    if (max < AMPLE * BATCH || !this.#seenIds.has(id)) {
      this.#seenIds.add(id)
      return this.#addOne(rule, key, max, day)
    }
    const made = this.#sql.runTransaction(() =>
      max - this.#readUsed(day, rule, key) < AMPLE * BATCH
        ? this.#addOne(rule, key, max, day)
        : this.#reserveBatch(rule, key, max, day),
    )
    if (typeof made === 'boolean') return made
    this.#reserved.set(id, made)
    return true
  }

  #addOne(rule: string, key: string, max: number, day: string): boolean {
    return this.#sql.run(ADD, day, rule, key, max) === 1
  }

  /** Reserves a batch and counts its first call. Each reservation has a new slot that no row refers to yet. */
  #reserveBatch(rule: string, key: string, max: number, day: string): ReservedCalls {
    const reserve = (this.#reserve ??= new ReserveFile(this.#directory))
    const before = this.#reserved.get(createCountKey(rule, key))
    const slot = this.#slots++
    reserve.recordUse(slot, 1)
    this.#sql.run(RESERVE, day, rule, key, BATCH)
    this.#sql.run('INSERT INTO reserved VALUES (?, ?, ?, ?, ?, ?)', reserve.owner, slot, day, rule, key, BATCH)
    if (before !== undefined) {
      if (before.remaining > 0) this.#sql.run(GIVE_BACK, before.remaining, before.day, before.rule, before.key)
      this.#sql.run('DELETE FROM reserved WHERE owner = ? AND slot = ?', reserve.owner, before.slot)
    }
    return { day, rule, key, max, slot, used: 1, remaining: BATCH - 1 }
  }

  /** Returns dead processes' unused calls. */
  #reclaimDeadReserves(): void {
    if (listDeadOwners(this.#directory, this.#reserve?.owner).length === 0) return
    this.#sql.runTransaction(() => {
      // Search again inside the transaction.
      for (const owner of listDeadOwners(this.#directory, this.#reserve?.owner)) {
        const getUsed = readUsedCounts(this.#directory, owner)
        for (const { slot, day, rule, key, size } of this.#sql.all('SELECT * FROM reserved WHERE owner = ?', owner)) {
          const remaining = Number(size) - (getUsed(Number(slot)) ?? Number(size))
          if (remaining > 0) this.#sql.run(GIVE_BACK, remaining, day ?? '', rule ?? '', key ?? '')
        }
        this.#sql.run('DELETE FROM reserved WHERE owner = ?', owner)
        removeReserve(this.#directory, owner)
      }
    })
  }

  #getDay(now: number): string {
    const number = Math.floor(now / DAY_MS)
    if (number !== this.#dayNumber) {
      this.#dayNumber = number
      this.#day = formatDay(now)
      // Keep yesterday's counts: setting the clock back must not reset them.
      this.#sql.run('DELETE FROM quota WHERE day < ?', formatDay(now - DAY_MS))
    }
    return this.#day
  }
}

/** Rule names contain no line feeds. */
function createCountKey(rule: string, key: string): string {
  return `${rule}\n${key}`
}

/** Opens the counts; creates the directory for the owner only. */
export function openQuotas(directory: string): DayQuotas {
  makeDirectorySync(directory, 0o700)
  const database = new DatabaseSync(join(directory, 'quota.sqlite'))
  try {
    return new DayQuotas(database, directory)
  } catch (error) {
    database.close()
    throw error
  }
}
