import { renameSync } from 'node:fs'
import type { Clock, Metric, Log } from '../../src/plugin.ts'
import { getErrorMessage, getSqlCode, isSqlBusy } from '../../src/plugin.ts'
import type { ActivityLimits, CallRow } from './database.ts'
import { ActivityDatabase } from './database.ts'

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
