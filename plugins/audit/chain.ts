import { hash } from 'node:crypto'

/** What the first line of all follows. */
export const BEGINNING = '0'.repeat(64)
const END = /,"hash":"([0-9a-f]{64})"\}$/

/** A line that carries a hash over itself and the line before. */
export function chained(line: string, before: string): { readonly line: string; readonly hash: string } {
  const body = line.slice(0, -1)
  const own = hash('sha256', before + body, 'hex')
  return { line: `${body},"hash":"${own}"}`, hash: own }
}

/** The hash that a line carries; undefined when it carries none. */
export function hashIn(line: string): string | undefined {
  return END.exec(line)?.[1]
}

/**
 * How many files of the chain were set aside before the one that this line begins. Undefined when no file begins with
 * it: then lines before it were taken away.
 */
export function keptIn(line: string | undefined): number | undefined {
  if (line === undefined || hashIn(line) === undefined) return undefined
  try {
    const { kind, kept } = JSON.parse(line) as { kind?: unknown; kept?: unknown }
    return kind === 'opened' && typeof kept === 'number' ? kept : undefined
  } catch {
    return undefined
  }
}

/** Whether the bytes of a line are what was written after the line with the hash `before`. */
export function isIntact(line: Buffer, before: string): boolean {
  const said = hashIn(line.toString('latin1'))
  const body = line.subarray(0, line.length - TAIL)
  return said !== undefined && said === hash('sha256', Buffer.concat([Buffer.from(before), body]), 'hex')
}

const TAIL = `,"hash":"${BEGINNING}"}`.length
