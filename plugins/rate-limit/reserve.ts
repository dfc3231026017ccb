import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { isSqlBusy } from '../../src/plugin.ts'

const FILE = /^quota-([0-9a-f-]{36})\.(?:lock|used)$/
const COUNT_BYTES = 4

/**
 * How many of its reserved calls one process has let in, in a file beside the counts: a number of four bytes for each
 * reservation, with the operating system before the call goes on. Another file is locked for as long as the process lives, so
 * that others know when it is dead, and give back what it had not used.
 */
export class Reserve {
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
export function deadOwners(directory: string, own: string | undefined): string[] {
  const owners = new Set(readdirSync(directory).flatMap(name => FILE.exec(name)?.[1] ?? []))
  return [...owners].filter(owner => owner !== own && !isAlive(lockOf(directory, owner)))
}

/** Calls of a reservation that a dead process has let in; undefined where nobody can say. */
export function usedBy(directory: string, owner: string): (slot: number) => number | undefined {
  let counts: Buffer
  try {
    counts = readFileSync(usedOf(directory, owner))
  } catch {
    return () => undefined
  }
  return slot =>
    counts.length < (slot + 1) * COUNT_BYTES ? undefined : counts.readUInt32LE(slot * COUNT_BYTES)
}

export function removeReserve(directory: string, owner: string): void {
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
