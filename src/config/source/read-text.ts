import { accessSync, constants, readFileSync, statSync } from 'node:fs'

/** Text of a file, or the reason why it could not be read. */
export type FileContents = { readonly text: string } | { readonly why: string }

/** Reads a text file of bounded size; anything but a plain file is refused before it is opened. */
export function readText(file: string, mostBytes: number): FileContents {
  try {
    const stats = statSync(file)
    if (!stats.isFile()) return { why: 'it is not a file' }
    if (stats.size > mostBytes) return createTooLarge(stats.size, mostBytes)
    const bytes = readFileSync(file)
    return bytes.length > mostBytes ? createTooLarge(bytes.length, mostBytes) : decode(bytes)
  } catch (thrown) {
    return describeReadError(thrown)
  }
}

/** Why a file cannot be opened for reading; undefined when it can. */
export function explainUnreadable(file: string): string | undefined {
  try {
    accessSync(file, constants.R_OK)
    return statSync(file).isFile() ? undefined : 'it is not a file'
  } catch (thrown) {
    return describeReadError(thrown).why
  }
}

function decode(bytes: Uint8Array): FileContents {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { why: isUtf16(bytes) ? 'it is UTF-16: save it as UTF-8' : 'it is not UTF-8 text' }
  }
}

/** True with the mark that some editors, and shells of Windows, begin a file with. */
function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

function createTooLarge(bytes: number, most: number): FileContents {
  return { why: `it has ${formatKib(bytes)}, and ${formatKib(most)} is the most` }
}

function formatKib(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KiB`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
}

function describeReadError(thrown: unknown): { readonly why: string } {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  return { why: REASONS[code] ?? (code || String(thrown)) }
}
