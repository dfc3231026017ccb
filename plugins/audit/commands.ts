import { createReadStream, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { PluginCommands } from '../../src/plugin.ts'
import { gatewayError, getErrorMessage } from '../../src/plugin.ts'
import { parseHash, isIntact, parseKeptCount } from './audit-journal.ts'

/** Exit code if the audit log was modified. */
const CHANGED = 6

export const commands: PluginCommands = {
  'audit verify': {
    summary: 'Verify an audit log written with chain: true.',
    description: 'Reads <file> and its rotated files. Exit codes: 0 intact, 2 cannot be read, 6 changed.',
    examples: ['gateway audit verify audit.jsonl', 'gateway audit verify audit.jsonl --json'],
    args: { file: { required: true, description: 'Newest audit file.' } },
    flags: {
      head: {
        summary: 'Last hash of an earlier verification: fails if the log no longer contains that line.',
      },
    },
    async run({ args, flags, cwd, print }) {
      const verification = await verifyAudit(resolve(cwd, args.file ?? ''), flags.head as string | undefined)
      print(verification, () => [formatVerification(verification)])
      return verification.isIntact ? 0 : CHANGED
    },
  },
}

/** Verifies the hash chain across all files. @throws GatewayError GW_USAGE if a file cannot be read */
async function verifyAudit(path: string, head: string | undefined): Promise<Verification> {
  try {
    return await verifyChain(path, head)
  } catch (cause) {
    throw gatewayError('GW_USAGE', {
      what: `cannot read ${path}: ${isMissing(cause) ? 'not found' : getErrorMessage(cause)}`,
    })
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

function formatVerification({ lines, files, head, problem }: Verification): string {
  if (problem !== undefined) return `${problem.file}:${problem.line > 0 ? problem.line : ''} ${problem.why}`
  const read = `${lines} line${lines === 1 ? '' : 's'} in ${files.length} file${files.length === 1 ? '' : 's'}`
  return `${read} intact; the last hash is ${head ?? 'none'}`
}

/** Verification result for an audit log with `chain: true`. */
interface Verification {
  readonly isIntact: boolean
  /** Files read, oldest first. */
  readonly files: readonly string[]
  readonly lines: number
  /** Last line's hash. Store it separately to detect lines that are removed later. */
  readonly head: string | undefined
  /** The first invalid line; line 0 if a whole file is missing. */
  readonly problem?: { readonly file: string; readonly line: number; readonly why: string }
}

/**
 * Verifies the hash chain of a file and its rotated predecessors (`<file>.1` and so on). If `noted` is given, a line
 * with this hash must exist.
 */
export async function verifyChain(file: string, noted?: string): Promise<Verification> {
  const files = await listFiles(file)
  let before: string | undefined
  let lines = 0
  let isNotedFound = noted === undefined
  const describeBreak = (path: string, line: number, reason: string): Verification => ({
    isIntact: false,
    files,
    lines,
    head: before,
    problem: { file: path, line, why: reason },
  })
  for (const path of files) {
    if (!existsSync(path)) return describeBreak(path, 0, 'file is missing: a later file refers to it')
    let number = 0
    for await (const line of readLines(path)) {
      number++
      const start: string | undefined = number === 1 ? parsePreviousHash(line) : before
      const reason = findLineProblem(line, start, before)
      if (reason !== undefined) return describeBreak(path, number, reason)
      before = parseHash(line)
      isNotedFound ||= before === noted
      lines++
    }
    if (number === 0) return describeBreak(path, 0, 'file is empty: the first line is missing')
  }
  return isNotedFound
    ? { isIntact: true, files, lines, head: before }
    : describeBreak(file, 0, `no line has the hash ${noted}: lines at the end were removed, or the log was replaced`)
}

/** Lists the files, oldest first; the newest file's first line contains their number. */
async function listFiles(file: string): Promise<string[]> {
  const files = [file]
  const keptFiles = parseKeptCount(await readFirstLine(file)) ?? 0
  for (let number = 1; number <= keptFiles; number++) files.unshift(`${file}.${number}`)
  return files
}

async function readFirstLine(path: string): Promise<string | undefined> {
  for await (const line of readLines(path)) return line
  return undefined
}

/** Splits at `\n` only, because the writer uses no other line end. */
async function* readLines(path: string): AsyncGenerator<string> {
  let unparsed = ''
  for await (const piece of createReadStream(path, { encoding: 'latin1' })) {
    const lines = (unparsed + String(piece)).split('\n')
    unparsed = lines.pop() ?? ''
    yield* lines
  }
  if (unparsed !== '') yield unparsed
}

/** Lines are Latin-1 strings so that the hash covers the exact bytes. */
function findLineProblem(line: string, start: string | undefined, before: string | undefined): string | undefined {
  if (parseHash(line) === undefined) return 'the line has no hash'
  if (start === undefined) return 'earlier lines are missing: the first line of the file is absent'
  if (before !== undefined && start !== before) return 'the line does not follow the previous one'
  return isIntact(Buffer.from(line, 'latin1'), start) ? undefined : 'the line was modified or moved'
}

/** Parses the previous hash from a file's first line; undefined for any other line. */
function parsePreviousHash(line: string): string | undefined {
  return parseKeptCount(line) === undefined ? undefined : /"previous":"([0-9a-f]{64})"/.exec(line)?.[1]
}
