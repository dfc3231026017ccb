import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isSqlBusy, makeDirectorySync, SqlDatabase } from '../../src/plugin.ts'
import { DAY_MS, dayOf } from './days.ts'

const FILE = /^quota-([0-9a-f-]{36})\.(?:lock|used)$/
const COUNT_BYTES = 4

/**
 * How many of its reserved calls one process has let in, in a file beside the counts: a number of four bytes for each
 * reservation, with the operating system before the call goes on. Another file is locked for as long as the process lives, so
 * that others know when it is dead, and give back what it had not used.
 */
class Reserve {
  readonly owner = randomUUID()
  readonly #directory: string
  readonly #lock: DatabaseSync
  readonly #file: number
  readonly #count = Buffer.alloc(COUNT_BYTES)

  /** Made while no other process looks for dead ones. */
  constructor(directory: string) {
    this.#directory = directory
    this.#lock = new DatabaseSync(lockOf(directory, this.owner))
    this.#lock.exec('PRAGMA busy_timeout = 2000; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    this.#file = openSync(usedOf(directory, this.owner), 'wx', 0o600)
  }

  /** Notes that so many calls of a reservation were let in. */
  note(slot: number, used: number): void {
    this.#count.writeUInt32LE(used)
    writeSync(this.#file, this.#count, 0, COUNT_BYTES, slot * COUNT_BYTES)
  }

  /** Ends it; the files stay where its reservations could not be given back. */
  close(areGivenBack: boolean): void {
    closeSync(this.#file)
    this.#lock.close()
    if (areGivenBack) removeReserve(this.#directory, this.owner)
  }
}

/** Processes that have left files here, but for those that live. */
function deadOwners(directory: string, own: string | undefined): string[] {
  const owners = new Set(readdirSync(directory).flatMap(name => FILE.exec(name)?.[1] ?? []))
  return [...owners].filter(owner => owner !== own && !isAlive(lockOf(directory, owner)))
}

/** Calls of a reservation that a dead process has let in; undefined where nobody can say. */
function usedBy(directory: string, owner: string): (slot: number) => number | undefined {
  let counts: Buffer
  try {
    counts = readFileSync(usedOf(directory, owner))
  } catch {
    return () => undefined
  }
  return slot =>
    counts.length < (slot + 1) * COUNT_BYTES ? undefined : counts.readUInt32LE(slot * COUNT_BYTES)
}

function removeReserve(directory: string, owner: string): void {
  for (const path of [usedOf(directory, owner), lockOf(directory, owner)]) rmSync(path, { force: true })
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

function lockOf(directory: string, owner: string): string {
  return join(directory, `quota-${owner}.lock`)
}

function usedOf(directory: string, owner: string): string {
  return join(directory, `quota-${owner}.used`)
}

const BUSY_MS = 2000
/** Calls that are reserved at a time, as long as there is room for so many times as many: the last ones are counted one by one. */
const BATCH = 256
const AMPLE = 4
/** Least time between two looks for the reservations of dead processes, by the wall clock. */
const LOOK_MS = 1000

const ADD = `INSERT INTO quota VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1 WHERE used < ?`
const RESERVE = `INSERT INTO quota VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = used + excluded.used`
const GIVE_BACK = 'UPDATE quota SET used = max(0, used - ?) WHERE day = ? AND rule = ? AND key = ?'

/** Calls that this process may let in before it asks the file again; the file counts them already. */
interface Reserved {
  readonly day: string
  readonly rule: string
  readonly key: string
  readonly max: number
  readonly slot: number
  used: number
  left: number
}

/**
 * Counts of days, in a file. Each count is with the operating system before the call goes on, so that no end of the
 * process loses one; only a machine that loses its power may. Many are reserved at a time, as a transaction for each call costs
 * more than the call; how many of those were used is noted call by call.
 */
export class Quotas {
  readonly #database: DatabaseSync
  readonly #sql: SqlDatabase
  readonly #directory: string
  readonly #reserved = new Map<string, Reserved>()
  /** Keys of which one was counted since the last giving back: who comes again is worth a reservation. */
  readonly #seen = new Set<string>()
  #reserve: Reserve | undefined
  #slots = 0
  #day = ''
  #dayNumber = -1
  #lookedAt = -Infinity

  constructor(database: DatabaseSync, directory: string) {
    this.#database = database
    this.#sql = new SqlDatabase(database)
    this.#directory = directory
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS quota (day TEXT, rule TEXT, key TEXT, used INTEGER NOT NULL,
        PRIMARY KEY (day, rule, key)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS reserved (owner TEXT, slot INTEGER, day TEXT, rule TEXT, key TEXT,
        size INTEGER NOT NULL, PRIMARY KEY (owner, slot)) WITHOUT ROWID`)
    this.#bury()
  }

  /** True if one more is allowed today. */
  hasRoom(rule: string, key: string, max: number, now: number): boolean {
    const day = this.#today(now)
    if (this.#own(rule, key, max, day) !== undefined || this.#used(day, rule, key) < max) return true
    if (Math.abs(now - this.#lookedAt) < LOOK_MS) return false
    this.#lookedAt = now
    this.#bury()
    return this.#used(day, rule, key) < max
  }

  /** Counts one; false when another has taken the last meanwhile. */
  take(rule: string, key: string, max: number, now: number): boolean {
    const day = this.#today(now)
    const reserved = this.#own(rule, key, max, day)
    if (reserved === undefined) return this.#ask(rule, key, max, day)
    this.#reserve?.note(reserved.slot, ++reserved.used)
    reserved.left--
    return true
  }

  /** Gives back what is reserved and not used: other processes may want it. */
  giveBack(): void {
    this.#seen.clear()
    if (this.#reserved.size === 0) return
    this.#sql.whole(() => {
      for (const { day, rule, key, left } of this.#reserved.values())
        if (left > 0) this.#sql.run(GIVE_BACK, left, day, rule, key)
      this.#sql.run('DELETE FROM reserved WHERE owner = ?', this.#reserve?.owner ?? '')
    })
    this.#reserved.clear()
    this.#slots = 0
  }

  close(): void {
    let areGivenBack = false
    try {
      this.giveBack()
      areGivenBack = true
    } finally {
      this.#reserve?.close(areGivenBack)
      this.#database.close()
    }
  }

  #own(rule: string, key: string, max: number, day: string): Reserved | undefined {
    const own = this.#reserved.get(idOf(rule, key))
    return own !== undefined && own.left > 0 && own.day === day && own.max === max ? own : undefined
  }

  #used(day: string, rule: string, key: string): number {
    const row = this.#sql.get('SELECT used FROM quota WHERE day = ? AND rule = ? AND key = ?', day, rule, key)
    return Number(row?.used ?? 0)
  }

  /** One statement or one transaction, so that two generations, or two processes, never count the same one. */
  #ask(rule: string, key: string, max: number, day: string): boolean {
    const id = idOf(rule, key)
    if (max < AMPLE * BATCH || !this.#seen.has(id)) {
      this.#seen.add(id)
      return this.#add(rule, key, max, day)
    }
    const made = this.#sql.whole(() =>
      max - this.#used(day, rule, key) < AMPLE * BATCH
        ? this.#add(rule, key, max, day)
        : this.#makeReserve(rule, key, max, day),
    )
    if (typeof made === 'boolean') return made
    this.#reserved.set(id, made)
    return true
  }

  #add(rule: string, key: string, max: number, day: string): boolean {
    return this.#sql.run(ADD, day, rule, key, max) === 1
  }

  /** Reserves some calls, and counts the first of them. Each reservation has a place of its own, which no row names yet. */
  #makeReserve(rule: string, key: string, max: number, day: string): Reserved {
    const reserve = (this.#reserve ??= new Reserve(this.#directory))
    const before = this.#reserved.get(idOf(rule, key))
    const slot = this.#slots++
    reserve.note(slot, 1)
    this.#sql.run(RESERVE, day, rule, key, BATCH)
    this.#sql.run(
      'INSERT INTO reserved VALUES (?, ?, ?, ?, ?, ?)',
      reserve.owner,
      slot,
      day,
      rule,
      key,
      BATCH,
    )
    if (before !== undefined) {
      if (before.left > 0) this.#sql.run(GIVE_BACK, before.left, before.day, before.rule, before.key)
      this.#sql.run('DELETE FROM reserved WHERE owner = ? AND slot = ?', reserve.owner, before.slot)
    }
    return { day, rule, key, max, slot, used: 1, left: BATCH - 1 }
  }

  /** Gives back what processes had reserved that have died. */
  #bury(): void {
    if (deadOwners(this.#directory, this.#reserve?.owner).length === 0) return
    this.#sql.whole(() => {
      // Looked for again, as nobody begins or ends meanwhile.
      for (const owner of deadOwners(this.#directory, this.#reserve?.owner)) {
        const usedOf = usedBy(this.#directory, owner)
        for (const { slot, day, rule, key, size } of this.#sql.all(
          'SELECT * FROM reserved WHERE owner = ?',
          owner,
        )) {
          const left = Number(size) - (usedOf(Number(slot)) ?? Number(size))
          if (left > 0) this.#sql.run(GIVE_BACK, left, day ?? '', rule ?? '', key ?? '')
        }
        this.#sql.run('DELETE FROM reserved WHERE owner = ?', owner)
        removeReserve(this.#directory, owner)
      }
    })
  }

  #today(now: number): string {
    const number = Math.floor(now / DAY_MS)
    if (number !== this.#dayNumber) {
      this.#dayNumber = number
      this.#day = dayOf(now)
      // Yesterday is kept: a clock that is set back must not give it anew.
      this.#sql.run('DELETE FROM quota WHERE day < ?', dayOf(now - DAY_MS))
    }
    return this.#day
  }
}

/** Names of rules are configured, and have no line ends. */
function idOf(rule: string, key: string): string {
  return `${rule}\n${key}`
}

/** Opens the counts in a directory, which is made for the owner alone where there is none. */
export function openQuotas(directory: string): Quotas {
  makeDirectorySync(directory, 0o700)
  const database = new DatabaseSync(join(directory, 'quota.sqlite'))
  try {
    return new Quotas(database, directory)
  } catch (error) {
    database.close()
    throw error
  }
}
