import { createReadStream, existsSync } from 'node:fs'
import { hashIn, isIntact } from './chain.ts'

/** What came of checking an audit with `chain: true`. */
export interface Verification {
  readonly isIntact: boolean
  /** The files that were read, oldest first. */
  readonly files: readonly string[]
  readonly lines: number
  /** The hash of the last line. Kept elsewhere, it shows whether lines at the end were taken away later. */
  readonly head: string | undefined
  /** The first line that is not what was written. */
  readonly problem?: { readonly file: string; readonly line: number; readonly why: string }
}

/** Reads a file and those that were set aside before it, `<file>.1` and so on, and follows the chain through all of them. */
export async function verifyChain(file: string): Promise<Verification> {
  const files = filesOf(file)
  let before: string | undefined
  let lines = 0
  for (const path of files) {
    let number = 0
    for await (const line of linesOf(path)) {
      number++
      const start: string | undefined = number === 1 ? previousIn(line) : before
      const why = wrongWith(line, start, before)
      if (why !== undefined)
        return { isIntact: false, files, lines, head: before, problem: { file: path, line: number, why } }
      before = hashIn(line)
      lines++
    }
  }
  return { isIntact: true, files, lines, head: before }
}

function filesOf(file: string): string[] {
  const files = [file]
  for (let number = 1; existsSync(`${file}.${number}`); number++) files.unshift(`${file}.${number}`)
  return files
}

/** Lines end with `\n` alone: any other end would be a byte that nobody wrote. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of createReadStream(path, { encoding: 'latin1' })) {
    const lines = (rest + String(piece)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Read as Latin-1, so that every byte counts; a hash is taken over the bytes. */
function wrongWith(line: string, start: string | undefined, before: string | undefined): string | undefined {
  if (hashIn(line) === undefined) return 'it carries no hash'
  if (start === undefined) return 'the first line of a file must say what it follows'
  if (before !== undefined && start !== before) return 'it follows another line than the one before it'
  return isIntact(Buffer.from(line, 'latin1'), start)
    ? undefined
    : 'it is not what was written, or not where it was'
}

/** What the first line of a file follows. */
function previousIn(line: string): string | undefined {
  return /"previous":"([0-9a-f]{64})"/.exec(line)?.[1]
}
