import { createHash } from 'node:crypto'
import type { SQLInputValue } from 'node:sqlite'
import { sqlNumber, sqlText, type SqlDatabase, type SqlRow } from '../../../src/plugin.ts'
import type { TaskState } from '../types/tasks.ts'
import { hasEnded, type TaskData, type TaskRecord, type TaskStart } from './record.ts'

/** Columns that a change writes; those that are undefined stay. */
export interface Change {
  readonly state?: TaskState
  readonly why?: string
  readonly agent?: string
  readonly runner?: string
  readonly wasPrompted?: boolean
  readonly hadEffect?: boolean
}

/** A task that is to be kept. */
export interface NewTask {
  readonly id: string
  readonly owner: string
  readonly key: string | undefined
  readonly root: string
  readonly runner: string
  readonly start: TaskStart
  readonly data: TaskData
}

interface Bounds {
  readonly max: number
  readonly maxPerCaller: number
}

/** Tasks that one sweep removes: it holds everything up meanwhile. */
const MAX_SWEPT = 500
/** Of those that have ended, the oldest of whoever has the most: nobody's tasks push out another's. */
const DROP_OLDEST = `DELETE FROM tasks WHERE id IN (
  SELECT id FROM tasks WHERE ended IS NOT NULL AND owner = (
    SELECT owner FROM tasks WHERE ended IS NOT NULL GROUP BY owner ORDER BY count(*) DESC LIMIT 1
  ) ORDER BY ended, id LIMIT ?)`
const UNENDED = `('queued', 'starting', 'running', 'input_required', 'interrupted')`

/** The tasks on disk. Whoever asks for one says whose it is; a state changes only from those states that are named. */
export class TaskStore {
  readonly #database: SqlDatabase
  readonly #now: () => number
  /** Tasks that were dropped, for whoever tidies up behind them. */
  dropped = 0

  constructor(database: SqlDatabase, now: () => number) {
    this.#database = database
    this.#now = now
  }

  /** Keeps a new task: the one that has the key already, `full`, or undefined when it is on disk. */
  add(task: NewTask, bounds: Bounds): TaskRecord | 'full' | 'full-of-caller' | undefined {
    return this.#database.whole(() => {
      const known = task.key === undefined ? undefined : this.byKey(task.owner, task.key)
      if (known !== undefined) return known
      if (this.#unended(task.owner) >= bounds.maxPerCaller) return 'full-of-caller'
      if (!this.#makeRoom(bounds.max)) return 'full'
      this.#insert(task)
      return undefined
    })
  }

  find(id: string, owner: string): TaskRecord | undefined {
    const row = this.#database.get('SELECT * FROM tasks WHERE id = ? AND owner = ?', id, owner)
    return row === undefined ? undefined : recordOf(row)
  }

  byKey(owner: string, key: string): TaskRecord | undefined {
    const row = this.#database.get('SELECT * FROM tasks WHERE owner = ? AND key = ?', owner, digestOf(key))
    return row === undefined ? undefined : recordOf(row)
  }

  /** Newest first. */
  list(owner: string, after: string | undefined, limit: number): TaskRecord[] {
    const from = after === undefined ? undefined : this.find(after, owner)
    if (after !== undefined && from === undefined) return []
    const rows =
      from === undefined
        ? this.#database.all(
            'SELECT * FROM tasks WHERE owner = ? ORDER BY created DESC, id DESC LIMIT ?',
            owner,
            limit,
          )
        : this.#database.all(
            'SELECT * FROM tasks WHERE owner = ? AND (created, id) < (?, ?) ORDER BY created DESC, id DESC LIMIT ?',
            ...[owner, from.createdAt, from.id, limit],
          )
    return rows.map(recordOf)
  }

  /** A task, whoever's it is: for the owner of the gateway. */
  any(id: string): TaskRecord | undefined {
    const row = this.#database.get('SELECT * FROM tasks WHERE id = ?', id)
    return row === undefined ? undefined : recordOf(row)
  }

  /** The newest first, whoever's they are: for the owner of the gateway. */
  newest(after: string | undefined, limit: number): TaskRecord[] {
    const from = after === undefined ? undefined : this.any(after)
    if (after !== undefined && from === undefined) return []
    const [where, values] =
      from === undefined ? ['', []] : ['WHERE (created, id) < (?, ?)', [from.createdAt, from.id]]
    const sql = `SELECT * FROM tasks ${where} ORDER BY created DESC, id DESC LIMIT ?`
    return this.#database.all(sql, ...values, limit).map(recordOf)
  }

  /** Compare and set: false when it is in none of these states any more. */
  change(id: string, owner: string, from: readonly TaskState[], change: Change): boolean {
    const now = this.#now()
    const { state } = change
    const values: [string, SQLInputValue | undefined][] = [
      ['state', state],
      // Why it was in the state before is not why it is in this one.
      ['why', change.why ?? (state === undefined ? undefined : null)],
      ['agent', change.agent],
      ['runner', change.runner],
      ['prompted', bit(change.wasPrompted)],
      ['effect', bit(change.hadEffect)],
      ['ended', state !== undefined && hasEnded(state) ? now : undefined],
      ['updated', now],
    ]
    const given = values.filter((value): value is [string, SQLInputValue] => value[1] !== undefined)
    const sql = `UPDATE tasks SET ${given.map(([column]) => `${column} = ?`).join(', ')}
      WHERE id = ? AND owner = ? AND state IN (${from.map(() => '?').join(', ')})`
    return this.#database.run(sql, ...given.map(([, value]) => value), id, owner, ...from) === 1
  }

  /** Writes what a task has besides its state; only its runner does. */
  write(id: string, owner: string, data: TaskData): void {
    const sql = 'UPDATE tasks SET data = ? WHERE id = ? AND owner = ?'
    this.#database.run(sql, JSON.stringify(data), id, owner)
  }

  /** The tasks whose grounds are still somebody's to work on. For the gateway itself, whoever's they are. */
  grounds(): ReadonlySet<string> {
    const rows = this.#database.all(`SELECT DISTINCT json_extract(start, '$.ground') AS ground FROM tasks`)
    return new Set(rows.map(({ ground }) => String(ground)))
  }

  /** The directories that tasks work in. For the gateway itself, whoever's they are. */
  directories(): readonly string[] {
    const rows = this.#database.all(`SELECT DISTINCT json_extract(start, '$.cwd') AS cwd FROM tasks`)
    return rows.map(({ cwd }) => String(cwd))
  }

  /** Number of tasks that one task and its children have begun; they are its owner's. */
  descendants(root: string, owner: string): number {
    const sql = 'SELECT count(*) AS n FROM tasks WHERE root = ? AND owner = ? AND id <> root'
    return sqlNumber(this.#database.get(sql, root, owner)?.n)
  }

  /** Tasks that have not ended and are in the hands of none of these runners. For the gateway itself, whoever's they are. */
  abandoned(alive: readonly string[], limit: number): TaskRecord[] {
    return this.#database
      .all(
        `SELECT * FROM tasks WHERE ended IS NULL AND state <> 'interrupted'
          AND (runner IS NULL OR runner NOT IN (SELECT value FROM json_each(?))) ORDER BY created LIMIT ?`,
        JSON.stringify(alive),
        limit,
      )
      .map(recordOf)
  }

  /** Takes over a task of a runner that is gone: false when somebody else has. */
  takeOver({ id, owner, state, runner }: TaskRecord, by: string): boolean {
    const sql = `UPDATE tasks SET runner = ? WHERE id = ? AND owner = ? AND state = ? AND runner IS ?`
    return this.#database.run(sql, by, id, owner, state, runner ?? null) === 1
  }

  /** Drops what has been kept for its time, and gives up what nobody let go on. The tasks that are gone. */
  sweep(ttlMs: number): TaskRecord[] {
    const before = this.#now() - ttlMs
    return this.#database.whole(() => {
      this.#database.run(
        `UPDATE tasks SET state = 'cancelled', why = 'it was interrupted, and nobody let it go on', ended = ?
          WHERE state = 'interrupted' AND updated < ?`,
        this.#now(),
        before,
      )
      const sql = `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE ended < ? ORDER BY ended LIMIT ?) RETURNING *`
      const swept = this.#database.all(sql, before, MAX_SWEPT).map(recordOf)
      this.dropped += swept.length
      return swept
    })
  }

  #insert({ id, owner, key, root, runner, start, data }: NewTask): void {
    const now = this.#now()
    this.#database.run(
      `INSERT INTO tasks (id, owner, state, runner, key, root, created, updated, start, data)
        VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, owner, runner, key === undefined ? null : digestOf(key), root, now, now],
      ...[JSON.stringify(start), JSON.stringify(data)],
    )
  }

  #unended(owner: string): number {
    const sql = `SELECT count(*) AS n FROM tasks WHERE owner = ? AND state IN ${UNENDED}`
    return sqlNumber(this.#database.get(sql, owner)?.n)
  }

  #makeRoom(max: number): boolean {
    let excess = sqlNumber(this.#database.get('SELECT count(*) AS n FROM tasks')?.n) - max + 1
    while (excess > 0) {
      const dropped = this.#database.run(DROP_OLDEST, excess)
      if (dropped === 0) return false
      this.dropped += dropped
      excess -= dropped
    }
    return true
  }
}

function bit(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}

/** Keys are the callers' words: as long as they like, and nobody's business. */
function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

function recordOf(row: SqlRow): TaskRecord {
  return {
    id: String(row.id),
    owner: String(row.owner),
    state: String(row.state) as TaskState,
    why: sqlText(row.why),
    agent: sqlText(row.agent),
    runner: sqlText(row.runner),
    root: String(row.root),
    createdAt: sqlNumber(row.created),
    updatedAt: sqlNumber(row.updated),
    endedAt: row.ended === null ? undefined : sqlNumber(row.ended),
    wasPrompted: row.prompted === 1,
    hadEffect: row.effect === 1,
    start: JSON.parse(String(row.start)) as TaskStart,
    data: JSON.parse(String(row.data)) as TaskData,
  }
}
