import { renameSync } from 'node:fs'
import type { Clock, Metric, Log } from '../../src/plugin.ts'
import { getErrorMessage } from '../../src/plugin.ts'
import type { ActivityDatabase, ActivityLimits } from './database.ts'
import { openActivityDatabase, classifyError } from './database.ts'
import type { CallRecord } from './call-record.ts'

/** Queue limit; further records are dropped and counted. */
const MAX_WAITING = 10_000
/** Records per transaction: a write blocks the event loop. */
const MAX_BATCH = 250
const PRUNE_MS = 60_000
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
  #waiting: CallRecord[] = []
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

  add(record: CallRecord): void {
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
      this.#database ??= this.#openFile()
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

  #insertBatch(some: readonly CallRecord[], database: ActivityDatabase): void {
    const now = this.#clock.now()
    if (now - this.#prunedAt >= PRUNE_MS) database.prune(this.#settings, Date.now())
    this.#prunedAt = now - this.#prunedAt >= PRUNE_MS ? now : this.#prunedAt
    for (let tries = 0; !tryInsert(some, database); tries++) {
      if (tries >= MAX_ATTEMPTS) throw new Error('the file is full and contains no deletable records')
      database.pruneOldest()
    }
  }

  #openFile(): ActivityDatabase {
    const { path, maxBytes } = this.#settings
    try {
      return openActivityDatabase(path, maxBytes)
    } catch (error) {
      if (classifyError(error) !== 'damaged') throw error
      return this.#recreateFile(error)
    }
  }

  /** Moves an unreadable file aside for inspection, replacing an earlier one. */
  #recreateFile(error: unknown): ActivityDatabase {
    const { path, maxBytes } = this.#settings
    this.#log.warn('the activity file is damaged; starting a new one', {
      reason: getErrorMessage(error),
      kept: `${path}.damaged`,
    })
    renameSync(path, `${path}.damaged`)
    return openActivityDatabase(path, maxBytes)
  }

  #reportFailure(error: unknown): void {
    const trouble = classifyError(error)
    if (trouble === 'busy') return
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

/** Returns false if the file is full. */
function tryInsert(some: readonly CallRecord[], database: ActivityDatabase): boolean {
  try {
    database.write(some)
    return true
  } catch (error) {
    if (classifyError(error) === 'full') return false
    throw error
  }
}
