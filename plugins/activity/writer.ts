import { renameSync, closeSync, existsSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import type { Clock, Metric, Log, CallRecord, Config } from '../../src/plugin.ts'
import { getErrorMessage, getSqlCode, isSqlBusy, makeDirectorySync, SqlDatabase } from '../../src/plugin.ts'

/** Schema version; files with other versions are set aside. */
const FORM = 2
const PAGE_BYTES = 4096
/** Share deleted when the file is full, as 1/n. */
const PART = 10
const BUSY_MS = 2000

const TEXT_COLUMNS = [
  'method',
  'name',
  'upstream',
  'principal',
  'scopes',
  'client',
  'era',
  'session',
  'profile',
  'outcome',
  'by',
  'shape',
  'args',
  'times',
] as const
const NUMBER_COLUMNS = ['at', 'ms', 'code', 'bytesIn', 'bytesOut'] as const
const COLUMNS = [...NUMBER_COLUMNS, ...TEXT_COLUMNS]

/** A recorded call: `principal`, `shape`, `args` and `times` are JSON, or empty. */
export type CallRow = Pick<CallRecord, (typeof NUMBER_COLUMNS)[number]> & Record<(typeof TEXT_COLUMNS)[number], string>

/** A call read from the database. */
export interface StoredCall extends CallRow {
  readonly id: number
}

const TABLE = `CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY,
  ${NUMBER_COLUMNS.map(name => `${name} ${name === 'ms' ? 'REAL' : 'INTEGER'} NOT NULL`).join(', ')},
  ${TEXT_COLUMNS.map(name => `${name} TEXT NOT NULL`).join(', ')});
  CREATE INDEX IF NOT EXISTS calls_at ON calls (at);
  PRAGMA user_version = ${FORM}`

const INSERT = `INSERT INTO calls (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`

/** Retention limits. */
interface ActivityLimits {
  readonly keepMs: number
  readonly maxCalls: number
  readonly maxBytes: number
}

/** Resolves the database path against the configuration directory. */
export function resolveDatabasePath({ file }: NonNullable<Config['activity']>, directory: string): string {
  return resolve(directory, file)
}

/** Database handle for writing. Fails on locks instead of waiting; the writer retries later. */
class ActivityDatabase {
  readonly #database: SqlDatabase

  /** Opens the file, readable only by its owner. */
  constructor(path: string, maxBytes: number) {
    makeDirectorySync(dirname(path), 0o700)
    // SQLite would create the file with default permissions.
    closeSync(openSync(path, 'a', 0o600))
    const database = new DatabaseSync(path)
    this.#database = new SqlDatabase(database)
    try {
      database.exec(`PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
        PRAGMA journal_size_limit = 4194304; PRAGMA max_page_count = ${Math.max(Math.floor(maxBytes / PAGE_BYTES), 64)}`)
      const form = this.#database.get('PRAGMA user_version')?.user_version
      if (form !== 0 && form !== FORM) throw new Error(`the file has schema version ${String(form)}, expected ${FORM}`)
      // Another process may do the same concurrently.
      if (form !== FORM) this.#database.runTransaction(() => database.exec(TABLE))
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** Inserts rows in one transaction. */
  write(rows: readonly CallRow[]): void {
    this.#database.runTransaction(() => {
      for (const row of rows) this.#database.run(INSERT, ...COLUMNS.map(column => row[column]))
    })
  }

  /** Deletes rows that exceed the age or count limit. */
  prune({ keepMs, maxCalls }: ActivityLimits, now: number): void {
    this.#database.run('DELETE FROM calls WHERE at < ?', now - keepMs)
    this.#database.run('DELETE FROM calls WHERE id <= (SELECT max(id) - ? FROM calls)', maxCalls)
  }

  /** Deletes the oldest tenth when the file is full. */
  pruneOldest(): void {
    const { first, last } = this.#database.get('SELECT min(id) AS first, max(id) AS last FROM calls') ?? {}
    const part = Math.ceil((Number(last ?? 0) - Number(first ?? 0) + 1) / PART)
    this.#database.run('DELETE FROM calls WHERE id < ?', Number(first ?? 0) + part)
  }

  close(): void {
    this.#database.close()
  }
}

/** Search conditions, combined with AND. */
export interface CallFilter {
  /** Tool name; `*` is a wildcard. */
  readonly tool?: string | undefined
  readonly principal?: string | undefined
  /** True to select unsuccessful calls only. */
  readonly failed?: boolean | undefined
  /** Milliseconds since 1970. */
  readonly since?: number | undefined
  /** Select calls after this row id, oldest first. */
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** Call statistics per tool. */
export interface UsageRow {
  readonly name: string
  readonly upstream: string
  readonly calls: number
  readonly failures: number
  readonly callers: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly ms: number
  readonly last: number
}

const FAILED = `outcome NOT IN ('ok', 'input_required', 'task')`

const SEARCH = `SELECT * FROM calls WHERE (:tool IS NULL OR name GLOB :tool)
  AND (:principal IS NULL OR json_extract(principal, '$[2]') = :principal)
  AND (NOT :failed OR ${FAILED}) AND at >= :since AND id > :after`

/** Returns matching calls, newest first; none if the file is missing. */
export function queryCalls(path: string, filter: CallFilter): StoredCall[] {
  const { tool = null, principal = null, failed = false, since = 0, after, limit = 50 } = filter
  const text = `${SEARCH} ORDER BY id ${after === undefined ? 'DESC' : 'ASC'} LIMIT :limit`
  const values = { tool, principal, failed: Number(failed), since, after: after ?? 0, limit }
  return queryRows(path, text, values) as unknown as StoredCall[]
}

/** Returns statistics per tool, most called first. */
export function queryUsage(path: string, since: number): UsageRow[] {
  const text = `SELECT name, max(upstream) AS upstream, count(*) AS calls,
    sum(${FAILED}) AS failures, count(DISTINCT principal) AS callers,
    sum(bytesIn) AS bytesIn, sum(bytesOut) AS bytesOut, avg(ms) AS ms, max(at) AS last
    FROM calls WHERE method = 'tools/call' AND at >= :since GROUP BY name ORDER BY calls DESC, name`
  return queryRows(path, text, { since }) as unknown as UsageRow[]
}

function queryRows(path: string, text: string, values: Record<string, SQLInputValue>): Record<string, unknown>[] {
  if (!existsSync(path)) return []
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    return database.prepare(text).all(values)
  } finally {
    database.close()
  }
}

/** Queue limit; further records are dropped and counted. */
const MAX_WAITING = 10_000
/** Records per transaction: a write blocks the event loop. */
const MAX_BATCH = 250
const PRUNE_MS = 60_000
/** SQLite result codes. */
const FULL = 13
const DAMAGED: ReadonlySet<number | undefined> = new Set([11, 26])
/** Prune attempts on a full file before giving up. */
const MAX_ATTEMPTS = 20
/** Delay after a persistent failure. */
const RETRY_MS = 30_000

/** Counts written and dropped records; survives reloads. */
export class RecordCounters {
  written = 0
  dropped = 0

  figures(): Metric[] {
    const samples = Object.entries({ written: this.written, dropped: this.dropped })
    return [
      {
        name: 'tapgate_activity_records',
        type: 'counter',
        help: 'Activity records by result: written, or dropped because of a write failure.',
        samples: samples.map(([outcome, value]) => ({ suffix: '_total', labels: { outcome }, value })),
      },
    ]
  }
}

interface WriterSettings extends ActivityLimits {
  readonly path: string
  readonly everyMs: number
}

/** Writes records in background batches. A locked, full or damaged file never affects calls. */
export class ActivityWriter {
  readonly #settings: WriterSettings
  readonly #counts: RecordCounters
  readonly #clock: Clock
  readonly #log: Log
  #waiting: CallRow[] = []
  #database: ActivityDatabase | undefined
  #stopTimer: (() => void) | undefined
  #prunedAt = -Infinity
  #isFailing = false
  #isClosed = false

  constructor(settings: WriterSettings, counts: RecordCounters, { clock, log }: { clock: Clock; log: Log }) {
    this.#settings = settings
    this.#counts = counts
    this.#clock = clock
    this.#log = log
  }

  add(record: CallRow): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#counts.dropped++
      return
    }
    this.#waiting.push(record)
    this.#stopTimer ??= this.#clock.after(this.#settings.everyMs, () => this.#tick())
  }

  /** Writes pending records as far as possible; returns the number written. */
  flush(): number {
    let written = 0
    while (this.#waiting.length > 0) {
      const count = this.#writeBatch()
      if (count === 0) break
      written += count
    }
    return written
  }

  close(): void {
    this.flush()
    this.#isClosed = true
    this.#stopTimer?.()
    this.#counts.dropped += this.#waiting.length
    this.#waiting = []
    this.#closeFile()
  }

  /** Writes one batch per tick so that calls can run in between. */
  #tick(): void {
    this.#stopTimer = undefined
    if (this.#isClosed) return
    const written = this.#writeBatch()
    if (this.#waiting.length === 0) return
    const pause = written > 0 ? 0 : this.#isFailing ? RETRY_MS : this.#settings.everyMs
    this.#stopTimer ??= this.#clock.after(pause, () => this.#tick())
  }

  #writeBatch(): number {
    const some = this.#waiting.slice(0, MAX_BATCH)
    try {
      this.#database ??= openFile(this.#settings, this.#log)
      this.#insertBatch(some, this.#database)
    } catch (error) {
      this.#reportFailure(error)
      return 0
    }
    this.#waiting.splice(0, some.length)
    this.#counts.written += some.length
    if (this.#isFailing) this.#log.info('activity recording resumed')
    this.#isFailing = false
    return some.length
  }

  #insertBatch(some: readonly CallRow[], database: ActivityDatabase): void {
    const now = this.#clock.now()
    if (now - this.#prunedAt >= PRUNE_MS) {
      database.prune(this.#settings, Date.now())
      this.#prunedAt = now
    }
    for (let tries = 1; ; tries++)
      try {
        return database.write(some)
      } catch (error) {
        if (getSqlCode(error) !== FULL || tries > MAX_ATTEMPTS) throw error
        database.pruneOldest()
      }
  }

  #reportFailure(error: unknown): void {
    if (isSqlBusy(error)) return
    // Reopening detects damage that occurred while the file was open.
    this.#closeFile()
    if (!this.#isFailing) this.#log.warn('cannot write activity', { reason: getErrorMessage(error) })
    this.#isFailing = true
  }

  #closeFile(): void {
    try {
      this.#database?.close()
    } catch {
      // Closing a damaged file may fail too.
    }
    this.#database = undefined
  }
}

/** Moves an unreadable file aside for inspection, replacing an earlier one. */
function openFile({ path, maxBytes }: WriterSettings, log: Log): ActivityDatabase {
  try {
    return new ActivityDatabase(path, maxBytes)
  } catch (error) {
    const code = getSqlCode(error)
    const isDamaged = DAMAGED.has(code) || getErrorMessage(error).startsWith('the file has schema version')
    if (!isDamaged) throw error
    const kept = `${path}.damaged`
    log.warn('the activity file is damaged; starting a new one', { reason: getErrorMessage(error), kept })
    renameSync(path, kept)
    return new ActivityDatabase(path, maxBytes)
  }
}
