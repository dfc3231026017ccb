import { join } from 'node:path'
import type { Clock, Log } from '../../src/plugin.ts'
import {
  BoundedMap,
  getErrorMessage,
  getSqlNumber,
  getSqlText,
  loadSqlite,
  makeDirectorySync,
  SqlDatabase,
} from '../../src/plugin.ts'

export const DAY_MS = 86_400_000
/** A crash loses the calls during this time. */
const SAVE_MS = 1000
const BUSY_MS = 2000
/** Maximum keys over all rules; the oldest is dropped, and read from the file when it is saved again. */
const MAX_KEYS = 100_000

const TABLE = `PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS calls (day INTEGER, rule TEXT, key TEXT, used INTEGER NOT NULL,
    PRIMARY KEY (day, rule, key)) WITHOUT ROWID`
const ADD = `INSERT INTO calls VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET used = used + excluded.used RETURNING used`

/** Returns the number of the UTC day. */
export function getDay(time: number): number {
  return Math.floor(time / DAY_MS)
}

interface DayCount {
  readonly day: number
  readonly rule: string
  readonly key: string
  used: number
  unsaved: number
}

interface DayCountsDeps {
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * Calls per UTC day in memory, added to a file every second. Processes that share the file see each other's calls
 * after they have saved.
 */
export class DayCounts {
  readonly directory: string
  readonly #clock: Clock
  readonly #log: Log
  readonly #counts = new BoundedMap<string, DayCount>({ max: MAX_KEYS })
  readonly #unsaved = new Set<DayCount>()
  #file: SqlDatabase | undefined
  #day = -1
  #isFailing = false
  #stopTimer: (() => void) | undefined

  constructor({ directory, clock, log }: DayCountsDeps) {
    this.directory = directory
    this.#clock = clock
    this.#log = log
  }

  /** Returns today's calls; undefined while the file is unavailable. */
  read(rule: string, key: string): number | undefined {
    // While the file fails, the timer tries it again.
    const isDue = this.#isFailing ? this.#stopTimer === undefined : getDay(Date.now()) !== this.#day
    if (isDue) this.#save()
    return this.#isFailing ? undefined : (this.#counts.get(createCountId(rule, key))?.used ?? 0)
  }

  /** Counts a call, unless the file is unavailable. */
  add(rule: string, key: string): void {
    if (this.#isFailing) return
    const id = createCountId(rule, key)
    let count = this.#counts.get(id)
    if (count === undefined) this.#counts.set(id, (count = { day: this.#day, rule, key, used: 0, unsaved: 0 }))
    count.used++
    count.unsaved++
    this.#unsaved.add(count)
    this.#startTimer()
  }

  /** Saves, and closes the file until it is needed again. */
  close(): void {
    if (this.#unsaved.size > 0) this.#save()
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#closeFile()
  }

  #startTimer(): void {
    this.#stopTimer ??= this.#clock.after(SAVE_MS, () => this.#save())
  }

  #save(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    try {
      const file = (this.#file ??= openDayFile(this.directory))
      file.runTransaction(() => this.#saveCounts(file))
      for (const count of this.#unsaved) count.unsaved = 0
      this.#unsaved.clear()
      if (getDay(Date.now()) !== this.#day) this.#loadDay(file, getDay(Date.now()))
      if (this.#isFailing) this.#log.warn('daily quotas are available again')
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        this.#log.error('daily quotas are unavailable', { reason: getErrorMessage(error), directory: this.directory })
      this.#isFailing = true
      this.#closeFile()
      this.#startTimer()
    }
  }

  #saveCounts(file: SqlDatabase): void {
    for (const count of this.#unsaved) {
      const row = file.get(ADD, count.day, count.rule, count.key, count.unsaved)
      count.used = getSqlNumber(row?.used)
    }
  }

  #loadDay(file: SqlDatabase, day: number): void {
    // Keep yesterday's counts: setting the clock back must not reset them.
    file.run('DELETE FROM calls WHERE day < ?', day - 1)
    this.#counts.clear()
    for (const row of file.all('SELECT rule, key, used FROM calls WHERE day = ? LIMIT ?', day, MAX_KEYS)) {
      const [rule = '', key = ''] = [getSqlText(row.rule), getSqlText(row.key)]
      this.#counts.set(createCountId(rule, key), { day, rule, key, used: getSqlNumber(row.used), unsaved: 0 })
    }
    this.#day = day
  }

  #closeFile(): void {
    try {
      this.#file?.close()
    } finally {
      this.#file = undefined
    }
  }
}

/** Rule names contain no spaces. */
function createCountId(rule: string, key: string): string {
  return `${rule} ${key}`
}

/** Opens the counts; creates the directory for the owner only. */
function openDayFile(directory: string): SqlDatabase {
  makeDirectorySync(directory, 0o700)
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(join(directory, 'quota.sqlite'))
  try {
    database.exec(TABLE)
    return new SqlDatabase(database)
  } catch (error) {
    database.close()
    throw error
  }
}
