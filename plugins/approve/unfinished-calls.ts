import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { getSqlText, loadSqlite, makeDirectorySync, SqlDatabase } from '../../src/plugin.ts'

/** An approved call, recorded before it is sent upstream. */
export interface GrantedCall {
  readonly id: string
  readonly digest: string
  readonly method: string
  readonly name: string
  readonly upstream: string
  readonly rule: string
  readonly by: string
}

/** This process's open journals. */
const openJournals = new Set<string>()

/** Maximum wait for another process that writes, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000

/**
 * Records approved calls in progress. Entries of dead processes have an unknown outcome: they are reported, never
 * rerun.
 */
export class ApprovalJournal {
  readonly #directory: string | undefined
  /** Process id, and a random part because a later process may have the same id. */
  readonly #owner = `${process.pid} ${randomUUID()}`
  #database: SqlDatabase | undefined

  /** Without a directory nothing is recorded. */
  constructor(directory: string | undefined) {
    this.#directory = directory
  }

  /** Records a call; synced to disk on return. @throws Error if it cannot be written */
  recordStart(granted: GrantedCall): void {
    if (this.#directory === undefined) return
    const database = this.#open(this.#directory)
    database.run('INSERT INTO calls VALUES (?, ?, ?)', granted.id, this.#owner, JSON.stringify(granted))
  }

  /**
   * Records that a call ended.
   * @throws Error if it cannot be written: after a crash the call would be reported as unfinished
   */
  recordEnd(id: string): void {
    this.#database?.run('DELETE FROM calls WHERE id = ?', id)
  }

  /**
   * Returns unfinished calls of dead processes. One process claims each; a crash before `forgetClaimed` leaves them for
   * the next one.
   */
  claimUnfinished(): GrantedCall[] {
    if (this.#directory === undefined || !existsSync(getFile(this.#directory))) return []
    const database = this.#open(this.#directory)
    return database.runTransaction(() =>
      database
        .all('SELECT id, owner, call FROM calls')
        .filter(({ owner }) => isAbandoned(getSqlText(owner) ?? ''))
        .map(({ id, call }) => {
          database.run('UPDATE calls SET owner = ? WHERE id = ?', `${this.#owner} claimed`, id ?? null)
          return JSON.parse(getSqlText(call) ?? '') as GrantedCall
        }),
    )
  }

  /** Deletes the claimed calls after they were reported. */
  forgetClaimed(): void {
    this.#database?.run('DELETE FROM calls WHERE owner = ?', `${this.#owner} claimed`)
  }

  close(): void {
    openJournals.delete(this.#owner)
    this.#database?.close()
    this.#database = undefined
  }

  #open(directory: string): SqlDatabase {
    if (this.#database !== undefined) return this.#database
    makeDirectorySync(directory, 0o700)
    const { DatabaseSync } = loadSqlite()
    const database = new DatabaseSync(getFile(directory), { timeout: BUSY_TIMEOUT_MS })
    database.exec('CREATE TABLE IF NOT EXISTS calls (id TEXT PRIMARY KEY, owner TEXT NOT NULL, call TEXT NOT NULL)')
    openJournals.add(this.#owner)
    this.#database = new SqlDatabase(database)
    return this.#database
  }
}

function getFile(directory: string): string {
  return join(directory, 'approvals.db')
}

/** Returns true if the owner's process is dead, or was an earlier one with this process id. */
function isAbandoned(owner: string): boolean {
  const [pid = '', random] = owner.split(' ')
  return Number(pid) === process.pid ? !openJournals.has(`${pid} ${random ?? ''}`) : !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
