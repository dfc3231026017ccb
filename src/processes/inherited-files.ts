import { readdirSync } from 'node:fs'
import { platformOf } from '../util/platform.ts'
import { readProcSync } from '../util/process/proc-files.ts'

const PLACE = '/proc/self'
/** The standard streams, which each process has of its own. */
const FIRST = 3
/** A file beyond that number would cost each start a table of that length. */
const LAST = 65_535
/** The flag of a file that no other program gets (`O_CLOEXEC`). */
const CLOSED_BY_EXEC = 0o2000000

let known: readonly number[] | undefined

/**
 * The numbers of files that whoever started the gateway left open in it, such as the lock of a shell script. Each program that it
 * starts would have them too, and could use them: a directory among them is a way out of any sandbox. They are there from the
 * beginning, and all that Node opens itself is closed by `exec`, so that one look is enough.
 */
export function inheritedFiles(): readonly number[] {
  known ??= platformOf().hasProc ? lookedUp() : []
  return known
}

function lookedUp(): number[] {
  try {
    const numbers = readdirSync(`${PLACE}/fd`).map(Number)
    return numbers.filter(number => number >= FIRST && number <= LAST && isHandedOn(number))
  } catch {
    return []
  }
}

function isHandedOn(number: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readProcSync(`${PLACE}/fdinfo/${number}`)) ?? []
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_BY_EXEC) === 0
  } catch {
    // The look itself had opened that file, and has closed it.
    return false
  }
}
