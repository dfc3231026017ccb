import { randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { sqlNumber, type SqlDatabase, type SqlRow } from '../../../src/plugin.ts'

/** A gateway that cannot be looked at from here counts as gone after this silence. */
const SILENCE_MS = 90_000

/** The gateways that run tasks of this file. Those on this machine are looked at, others must give a sign of life. */
export class Runners {
  /** This one. */
  readonly id = `r_${randomBytes(12).toString('hex')}`
  readonly #database: SqlDatabase
  readonly #now: () => number

  constructor(database: SqlDatabase, now: () => number) {
    this.#database = database
    this.#now = now
    const sql = 'INSERT INTO runners VALUES (?, ?, ?, ?, ?)'
    database.run(sql, this.id, hostOf(), process.pid, bornOf(process.pid), now())
  }

  /** A sign of life. */
  beat(): void {
    this.#database.run('UPDATE runners SET beat = ? WHERE id = ?', this.#now(), this.id)
  }

  /** Those that still run, this one among them; the others are forgotten. */
  alive(): string[] {
    const rows = this.#database.all('SELECT * FROM runners')
    const gone = rows.filter(row => row.id !== this.id && !this.#isAlive(row))
    for (const { id } of gone) this.#database.run('DELETE FROM runners WHERE id = ?', String(id))
    return rows.filter(row => !gone.includes(row)).map(({ id }) => String(id))
  }

  /** From now on its tasks are anybody's. */
  leave(): void {
    this.#database.run('DELETE FROM runners WHERE id = ?', this.id)
  }

  #isAlive({ host, pid, born, beat }: SqlRow): boolean {
    if (host !== hostOf()) return this.#now() - sqlNumber(beat) < SILENCE_MS
    try {
      process.kill(sqlNumber(pid), 0)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    }
    return bornOf(sqlNumber(pid)) === born
  }
}

/** Key of the system in which process ids mean the same: containers may share the file and a name. */
function hostOf(): string {
  try {
    return `${hostname()} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** When a process started: an id is given anew some time. Empty where that cannot be known. */
function bornOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; only nobody has asked for its exit code yet.
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? '')
  } catch {
    return ''
  }
}
