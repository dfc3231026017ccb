import { accessSync, constants, readFileSync, statSync } from 'node:fs'

/** File contents or a read error. */
export type FileContents = { readonly text: string } | { readonly why: string }

/** Reads a text file up to a size limit. Special files are not opened. */
export function readText(file: string, maxBytes: number): FileContents {
  try {
    const stats = statSync(file)
    if (!stats.isFile()) return { why: 'not a file' }
    if (stats.size > maxBytes) return createTooLarge(stats.size, maxBytes)
    const bytes = readFileSync(file)
    return bytes.length > maxBytes ? createTooLarge(bytes.length, maxBytes) : decode(bytes)
  } catch (thrown) {
    return describeReadError(thrown)
  }
}

/** Reason why a file is unreadable; undefined if it is readable. */
export function explainUnreadable(file: string): string | undefined {
  try {
    accessSync(file, constants.R_OK)
    return statSync(file).isFile() ? undefined : 'not a file'
  } catch (thrown) {
    return describeReadError(thrown).why
  }
}

function decode(bytes: Uint8Array): FileContents {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { why: isUtf16(bytes) ? 'UTF-16 encoding: save it as UTF-8' : 'not UTF-8 text' }
  }
}

/** Detects a UTF-16 byte order mark, common on Windows. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

function createTooLarge(bytes: number, maxBytes: number): FileContents {
  return { why: `too large: ${formatKib(bytes)}, limit ${formatKib(maxBytes)}` }
}

function formatKib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'name too long',
}

function describeReadError(thrown: unknown): { readonly why: string } {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  return { why: REASONS[code] ?? (code || String(thrown)) }
}
