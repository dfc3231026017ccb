import { oneLine, plainText } from '../../src/plugin.ts'
import type { Page } from './types.ts'

/** Words of an agent without escape sequences, control characters, changes of direction and half characters. */
export function cleanText(text: string): string {
  return plainText(text.toWellFormed())
}

/** One line of it, for logs and messages, of at most so many characters. */
export function cleanLine(text: string, max = 200): string {
  const line = oneLine(text.toWellFormed())
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`
}

/** Takes secrets out of texts of others. */
export interface Cleaner {
  readonly environment: { hide(text: string): string }
}

/** Data of others without secrets and control characters; empty if nothing would be left that can be read. */
export function cleanJson<T extends object>({ environment }: Cleaner, value: T): Partial<T> {
  const clean = (_: string, each: unknown): unknown =>
    typeof each === 'string' ? cleanLine(each, 500) : each
  try {
    return JSON.parse(environment.hide(JSON.stringify(value, clean))) as Partial<T>
  } catch {
    // A secret was more than the inside of a text, or it is too deep to be written.
    return {}
  }
}

/** Text of others as one line: without secrets and control characters, and not too long. */
export function lineOf({ environment }: Cleaner, text: string, max = 500): string {
  return cleanLine(environment.hide(cleanText(text)), max)
}

/** A piece of some bytes that begins and ends between characters. */
export function pageOf(
  bytes: Buffer,
  { offset, kept, total }: { offset: number; kept: number; total: number },
): Page {
  const start = firstBoundary(bytes)
  const isLast = offset + bytes.length >= kept
  const end = isLast ? bytes.length : lastBoundary(bytes)
  const next = offset + end
  return {
    text: bytes.toString('utf8', start, Math.max(end, start)),
    next: isLast ? undefined : next,
    end: next,
    total,
    cut: total > kept,
  }
}

/** Start of the first whole character. */
function firstBoundary(bytes: Buffer): number {
  let at = 0
  while (at < 3 && at < bytes.length && isInside(bytes[at])) at++
  return at
}

/** End of the last whole character; all of it when it is too short to hold one. */
export function lastBoundary(bytes: Buffer): number {
  let start = bytes.length - 1
  while (start > 0 && start > bytes.length - 4 && isInside(bytes[start])) start--
  const lead = bytes[start] ?? 0
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  if (start + length <= bytes.length) return bytes.length
  return start === 0 ? bytes.length : start
}

function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
