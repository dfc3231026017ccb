import { chmodSync, closeSync, fchmodSync, fstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type * as Sqlite from 'node:sqlite'
import type { JsonObject, Log, SqlDatabase } from '../../../src/plugin.ts'
import {
  gatewayError,
  hashSecret,
  isSqlBusy,
  loadSqlite,
  makeDirectorySync,
  getErrorMessage,
  getSqlNumber,
} from '../../../src/plugin.ts'
import type { TaskQuestion, RouteDecision, TaskEvent, TaskRequest, TaskState } from '../types.ts'

/** `tgag` in the file header; identifies our databases. */
const APPLICATION_ID = 0x74676167

/** Schema version; other versions are set aside. */
const VERSION = 3

/** Times are milliseconds since 1970. `output` contains events by number, and text and diff chunks by offset. */
const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  state TEXT NOT NULL,
  key TEXT,
  root TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  ended INTEGER,
  start TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_by_key ON tasks (owner, key) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_owner ON tasks (owner, created, id);
CREATE INDEX tasks_by_root ON tasks (root);
CREATE INDEX tasks_by_end ON tasks (ended);
CREATE TABLE output (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  what TEXT NOT NULL,
  at INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (task, what, at)
) STRICT;
`

/** A stopping gateway may still hold the lock. */
const BUSY_MS = 2000

/**
 * Opens the task database with an exclusive lock; in memory without a path. Sets foreign files aside. @throws
 * GatewayError GW_UPSTREAM_DOWN if another gateway holds the lock, Error if the path is unusable
 */
export function openTaskDatabase(path: string | undefined, log: Log): Sqlite.DatabaseSync {
  if (path === undefined) return prepareDatabase(':memory:')
  const directory = dirname(path)
  if (makeDirectorySync(directory, 0o700) !== undefined) chmodSync(directory, 0o700)
  try {
    checkFile(path)
    return prepareDatabase(path)
  } catch (error) {
    if (isSqlBusy(error)) {
      const why = `another gateway uses the task database: ${path} is locked`
      throw gatewayError('GW_UPSTREAM_DOWN', { upstream: 'agents', why })
    }
    moveAside(path, getErrorMessage(error), log)
    checkFile(path)
    return prepareDatabase(path)
  }
}

/** Creates the file if missing. @throws Error if other users can write it */
function checkFile(path: string): void {
  const file = openSync(path, 'a', 0o600)
  try {
    const { mode, uid } = fstatSync(file)
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0))
      throw new Error('other users can write the file')
    fchmodSync(file, 0o600)
  } finally {
    closeSync(file)
  }
}

function prepareDatabase(path: string): Sqlite.DatabaseSync {
  const database = new (loadSqlite().DatabaseSync)(path)
  const number = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0])
  try {
    // FULL syncs every commit, so a task is on disk before its caller gets an answer. The lock is exclusive to one
    // process.
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE`)
    if (number('SELECT count(*) FROM sqlite_master') === 0) database.exec(SCHEMA)
    else if (number('PRAGMA application_id') !== APPLICATION_ID) throw new Error('not a task database')
    else if (number('PRAGMA user_version') !== VERSION) throw new Error('unsupported schema version')
    database.exec('COMMIT')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function moveAside(path: string, why: string, log: Log): void {
  const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`
  log.warn('cannot read stored tasks; moved the file aside and started a new one', {
    file: path,
    aside,
    why,
  })
  renameSync(path, aside)
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
}

/** Final states. */
const FINAL: readonly TaskState[] = ['completed', 'failed', 'cancelled']
/** States with an active runner. */
export const ACTIVE: readonly TaskState[] = ['queued', 'starting', 'running', 'input_required']

/** Immutable task parameters. */
export interface TaskStart {
  readonly issuer: string
  readonly subject: string
  /** Redacted; undefined if prompts are not stored. */
  readonly prompt: string | undefined
  readonly request: Omit<TaskRequest, 'prompt' | 'idempotencyKey'>
  readonly cwd: string
  readonly files: readonly string[]
  readonly decision: RouteDecision
  readonly parent: string | undefined
  readonly depth: number
  /** Task whose worktree is used: this one, or the continued one. */
  readonly ground: string
  /** Session id to resume. */
  readonly resume: string | undefined
}

/** Mutable task data. */
export interface TaskData {
  /** Reason for the state, on one line. */
  why?: string | undefined
  agent?: string | undefined
  /** True if an agent may have started working. */
  wasPrompted: boolean
  /** True if an agent may have changed something. */
  hadEffect: boolean
  sessionId?: string | undefined
  stopReason?: string | undefined
  progress?: string | undefined
  usage?: JsonObject | undefined
  isError: boolean
  /** Bytes written by the agent, and stored bytes. */
  said: number
  kept: number
  diff: number
  diffKept: number
  /** Last event number. */
  seq: number
  filesChanged: string[]
  /** Denied actions, one line each. */
  denied: string[]
  warnings: string[]
  attempts: { agent: string; failure?: string | undefined }[]
  /** Open questions. */
  questions: TaskQuestion[]
}

/** A task row. Times are milliseconds since 1970. */
export interface TaskRecord extends TaskData {
  readonly id: string
  readonly owner: string
  readonly state: TaskState
  readonly root: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt: number | undefined
  readonly start: TaskStart
}

export function emptyData(): TaskData {
  return {
    ...{ wasPrompted: false, hadEffect: false, isError: false },
    ...{ said: 0, kept: 0, diff: 0, diffKept: 0, seq: 0 },
    ...{ filesChanged: [], denied: [], warnings: [], attempts: [], questions: [] },
  }
}

export function hasEnded(state: TaskState): boolean {
  return FINAL.includes(state)
}

/** A task to store. */
export type NewTask = Pick<TaskRecord, 'id' | 'owner' | 'root' | 'start'> & {
  /** Idempotency key. */
  readonly key: string | undefined
}

interface TaskLimits {
  readonly max: number
  readonly maxPerCaller: number
}

/** Rows per sweep, because it blocks the event loop. */
const MAX_SWEPT = 500
/** Deletes the oldest finished task of the owner with the most tasks, so that no owner displaces another. */
const DROP_OLDEST = `DELETE FROM tasks WHERE id IN (
  SELECT id FROM tasks WHERE ended IS NOT NULL AND owner = (
    SELECT owner FROM tasks WHERE ended IS NOT NULL GROUP BY owner ORDER BY count(*) DESC LIMIT 1
  ) ORDER BY ended, id LIMIT ?)`
/** Restricts a query to the owner's task. */
const OF_OWNER = 'task = (SELECT id FROM tasks WHERE id = ? AND owner = ?)'
const UNENDED = `('queued', 'starting', 'running', 'input_required', 'interrupted')`

/** Persistent tasks. All queries are restricted by owner. Only a task's journal writes it. */
export class TaskStore {
  readonly #database: SqlDatabase
  readonly #now: () => number
  /** Deleted task count; triggers workspace cleanup. */
  dropped = 0

  constructor(database: SqlDatabase, now: () => number) {
    this.#database = database
    this.#now = now
  }

  /** Adds a task. Returns the existing one with the same key, `full` variants at a limit, or undefined on success. */
  add(task: NewTask, bounds: TaskLimits): TaskRecord | 'full' | 'full-of-caller' | undefined {
    return this.#database.runTransaction(() => {
      const existing = task.key === undefined ? undefined : this.findByKey(task.owner, task.key)
      if (existing !== undefined) return existing
      if (this.#countOpen(task.owner) >= bounds.maxPerCaller) return 'full-of-caller'
      if (!this.#evictOldest(bounds.max)) return 'full'
      this.#insert(task)
      return undefined
    })
  }

  find(id: string, owner: string): TaskRecord | undefined {
    const row = this.#database.get('SELECT * FROM tasks WHERE id = ? AND owner = ?', id, owner)
    return row === undefined ? undefined : parseRecord(row)
  }

  findByKey(owner: string, key: string): TaskRecord | undefined {
    const row = this.#database.get('SELECT * FROM tasks WHERE owner = ? AND key = ?', owner, hashSecret(key))
    return row === undefined ? undefined : parseRecord(row)
  }

  /** Finds any owner's task, for control verbs. */
  findAny(id: string): TaskRecord | undefined {
    const row = this.#database.get('SELECT * FROM tasks WHERE id = ?', id)
    return row === undefined ? undefined : parseRecord(row)
  }

  /** Lists newest first; without an owner, all tasks, for control verbs. */
  list(owner: string | undefined, after: string | undefined, limit: number): TaskRecord[] {
    const from = after === undefined ? undefined : this.findAny(after)
    if (after !== undefined && from === undefined) return []
    const sql = `SELECT * FROM tasks WHERE owner = coalesce(?, owner) AND (created, id) < (?, ?)
      ORDER BY created DESC, id DESC LIMIT ?`
    const { createdAt, id } = from ?? { createdAt: Number.MAX_SAFE_INTEGER, id: '' }
    return this.#database.all(sql, owner ?? null, createdAt, id, limit).map(parseRecord)
  }

  /** Writes a task's state and data. */
  write(id: string, state: TaskState, data: TaskData): void {
    const now = this.#now()
    this.#database.run(
      'UPDATE tasks SET state = ?, updated = ?, ended = coalesce(ended, ?), data = ? WHERE id = ?',
      ...[state, now, hasEnded(state) ? now : null, JSON.stringify(data), id],
    )
  }

  /** Returns the stored tasks' worktrees and directories. */
  listWorkspaces(): ReadonlySet<string> {
    const sql = `SELECT DISTINCT json_extract(start, '$.ground') AS ground, json_extract(start, '$.cwd') AS cwd FROM tasks`
    return new Set(this.#database.all(sql).flatMap(row => [String(row.ground), basename(String(row.cwd))]))
  }

  /** Counts the tasks started by a root task and its children. */
  countDescendants(root: string, owner: string): number {
    const sql = 'SELECT count(*) AS n FROM tasks WHERE root = ? AND owner = ? AND id <> root'
    return getSqlNumber(this.#database.get(sql, root, owner)?.n)
  }

  /** Lists tasks that a stopped gateway left active. */
  listUnfinished(): TaskRecord[] {
    const sql = `SELECT * FROM tasks WHERE ended IS NULL AND state <> 'interrupted' ORDER BY created`
    return this.#database.all(sql).map(parseRecord)
  }

  /** Deletes expired tasks and cancels interrupted ones that were not resumed. */
  sweep(ttlMs: number): void {
    const before = this.#now() - ttlMs
    this.#database.runTransaction(() => {
      this.#database.run(
        `UPDATE tasks SET state = 'cancelled', ended = ?,
          data = json_set(data, '$.why', 'interrupted and not resumed')
          WHERE state = 'interrupted' AND updated < ?`,
        this.#now(),
        before,
      )
      const sql = `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE ended < ? ORDER BY ended LIMIT ?)`
      this.dropped += this.#database.run(sql, before, MAX_SWEPT)
    })
  }

  addEvent(task: string, { seq, ...event }: TaskEvent): void {
    this.#add(task, 'event', seq, Buffer.from(JSON.stringify(event)))
  }

  /** Deletes events up to this number. */
  dropEvents(task: string, upTo: number): void {
    this.#database.run(`DELETE FROM output WHERE task = ? AND what = 'event' AND at <= ?`, task, upTo)
  }

  events(id: string, owner: string, since: number, limit: number): TaskEvent[] {
    const sql = `SELECT at, body FROM output WHERE ${OF_OWNER} AND what = 'event' AND at > ? ORDER BY at LIMIT ?`
    return this.#database.all(sql, id, owner, since, limit).map(({ at, body }) => ({
      seq: getSqlNumber(at),
      ...(JSON.parse(toBuffer(body).toString()) as Omit<TaskEvent, 'seq'>),
    }))
  }

  addChunk(task: string, kind: 'text' | 'diff', offset: number, bytes: Buffer): void {
    this.#add(task, kind, offset, bytes)
  }

  dropChunks(task: string, kind: 'text' | 'diff'): void {
    this.#database.run('DELETE FROM output WHERE task = ? AND what = ?', task, kind)
  }

  /** Reads bytes from an offset, as far as available. */
  bytes(id: string, owner: string, kind: 'text' | 'diff', offset: number, length: number): Buffer {
    const rows = this.#database.all(
      `SELECT at, body FROM output WHERE ${OF_OWNER} AND what = ? AND at < ? AND at + length(body) > ? ORDER BY at`,
      ...[id, owner, kind, offset + length, offset],
    )
    const first = getSqlNumber(rows[0]?.at)
    const all = Buffer.concat(rows.map(({ body }) => toBuffer(body)))
    return all.subarray(Math.max(offset - first, 0), offset - first + length)
  }

  #add(task: string, kind: string, at: number, body: Buffer): void {
    this.#database.run('INSERT OR REPLACE INTO output VALUES (?, ?, ?, ?)', task, kind, at, body)
  }

  #insert({ id, owner, key, root, start }: NewTask): void {
    const now = this.#now()
    this.#database.run(
      `INSERT INTO tasks (id, owner, state, key, root, created, updated, start, data)
        VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?)`,
      ...[id, owner, key === undefined ? null : hashSecret(key), root, now, now],
      ...[JSON.stringify(start), JSON.stringify(emptyData())],
    )
  }

  #countOpen(owner: string): number {
    const sql = `SELECT count(*) AS n FROM tasks WHERE owner = ? AND state IN ${UNENDED}`
    return getSqlNumber(this.#database.get(sql, owner)?.n)
  }

  #evictOldest(max: number): boolean {
    let excess = getSqlNumber(this.#database.get('SELECT count(*) AS n FROM tasks')?.n) - max + 1
    while (excess > 0) {
      const dropped = this.#database.run(DROP_OLDEST, excess)
      if (dropped === 0) return false
      this.dropped += dropped
      excess -= dropped
    }
    return true
  }
}

function toBuffer(body: unknown): Buffer {
  return Buffer.from(body instanceof Uint8Array ? body : [])
}

function parseRecord(row: ReturnType<SqlDatabase['all']>[number]): TaskRecord {
  return {
    id: String(row.id),
    owner: String(row.owner),
    state: String(row.state) as TaskState,
    root: String(row.root),
    createdAt: getSqlNumber(row.created),
    updatedAt: getSqlNumber(row.updated),
    endedAt: row.ended === null ? undefined : getSqlNumber(row.ended),
    start: JSON.parse(String(row.start)) as TaskStart,
    ...(JSON.parse(String(row.data)) as TaskData),
  }
}
