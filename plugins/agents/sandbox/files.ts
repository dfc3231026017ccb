import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { JsonObject } from '../../../src/plugin.ts'
import type { Protected } from './gateway-files.ts'
import { existing, type Place, type Roots, whyNotRead, wrongPath } from './paths.ts'

const DESCRIPTORS = '/proc/self/fd'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

const BLOCK = 64 * 1024

/**
 * `fs/read_text_file`: some or all lines of a file below the roots, counted from 1.
 * @throws GatewayError GW_AGENT_PATH
 */
export async function readText(
  roots: Roots,
  params: JsonObject,
  maxFile: number,
  own?: Protected,
): Promise<JsonObject> {
  const [line, limit] = [countOf(params, 'line'), countOf(params, 'limit')]
  const found = existing('path', params.path, await roots.place('path', params.path))
  const why = whyNotRead(found.stats) ?? own?.whyNot(found.real, 'read')
  if (why !== undefined) throw wrongPath('path', params.path, why)
  const handle = await openFile(found.real)
  try {
    const changed = whyNotRead(await handle.stat())
    if (changed !== undefined) throw wrongPath('path', params.path, changed)
    return {
      content: linesOf(decoded(await readAll(handle, params.path, maxFile), params.path), line, limit),
    }
  } finally {
    await handle.close()
  }
}

/**
 * `fs/write_text_file`: the whole file at once, or not at all. Directories on the way are made.
 * @throws GatewayError GW_AGENT_PATH
 */
export async function writeText(
  roots: Roots,
  params: JsonObject,
  maxFile: number,
  own?: Protected,
): Promise<JsonObject> {
  const content = contentOf(params, maxFile)
  const place = await roots.place('path', params.path)
  const why = whyNotWritten(roots, place) ?? own?.whyNot(place.real, 'write')
  if (why !== undefined) throw wrongPath('path', params.path, why)
  const names = place.is === 'found' ? [path.posix.basename(place.real)] : place.names
  const from = place.is === 'found' ? path.posix.dirname(place.real) : place.existing
  const directory = await directoryAt(from, names.slice(0, -1))
  try {
    await replace(directory, names.at(-1) ?? '', content)
  } finally {
    await directory.close()
  }
  return {}
}

function whyNotWritten(roots: Roots, place: Place): string | undefined {
  if (place.is === 'missing' && (place.names.length === 0 || !roots.contains(place.existing)))
    return 'does not exist'
  if (roots.isRoot(place.real)) return 'is a directory'
  // Files in `.git` are run by whoever uses git next.
  if (place.real.split('/').some(name => name.toLowerCase() === '.git')) return "is git's own"
  return undefined
}

async function directoryAt(from: string, names: readonly string[]): Promise<OpenDirectory> {
  let directory = await OpenDirectory.open(from)
  for (const name of names) {
    const outer = directory
    directory = await outer.within(name).finally(() => outer.close())
  }
  return directory
}

/** A file of its own takes the place of the old one, so that nobody sees half of it, and no other name of it changes. */
async function replace(directory: OpenDirectory, name: string, content: string): Promise<void> {
  const file = path.posix.join(directory.real, name)
  const mode = await modeOf(directory.entry(name), file)
  const draft = directory.entry(`.tapgate-${randomBytes(9).toString('hex')}.tmp`)
  try {
    const handle = await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? 0o666)
    try {
      if (mode !== undefined) await handle.chmod(mode)
      await handle.writeFile(content)
    } finally {
      await handle.close()
    }
    await rename(draft, directory.entry(name))
  } catch (error) {
    await rm(draft, { force: true })
    throw wrongPath('path', file, `cannot be written (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
}

/** The mode of what is there now; undefined for a new file. */
async function modeOf(entry: string, file: string): Promise<number | undefined> {
  const stats = await lstat(entry).catch(() => undefined)
  if (stats === undefined) return undefined
  const why = whyNotRead(stats) ?? ((stats.mode & 0o222) === 0 ? 'is read-only' : undefined)
  if (why !== undefined) throw wrongPath('path', file, why)
  return stats.mode & 0o777
}

async function readAll(handle: FileHandle, written: unknown, maxFile: number): Promise<Buffer> {
  const blocks: Buffer[] = []
  let length = 0
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(BLOCK), 0, BLOCK, null)
    if (bytesRead === 0) return Buffer.concat(blocks, length)
    length += bytesRead
    if (length > maxFile) throw wrongPath('path', written, `is larger than ${maxFile} bytes`)
    blocks.push(buffer.subarray(0, bytesRead))
  }
}

function decoded(bytes: Buffer, written: unknown): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw wrongPath('path', written, 'is no UTF-8 text')
  }
}

function linesOf(text: string, line: number | undefined, limit: number | undefined): string {
  if (line === undefined && limit === undefined) return text
  const from = startOfLine(text, 0, Math.max(0, (line ?? 1) - 1))
  return text.slice(from, limit === undefined ? undefined : startOfLine(text, from, limit))
}

/** Start of the line that is so many lines further down; the end when there are not as many. */
function startOfLine(text: string, from: number, lines: number): number {
  let at = from
  for (let passed = 0; passed < lines; passed++) {
    const end = text.indexOf('\n', at)
    if (end < 0) return text.length
    at = end + 1
  }
  return at
}

function contentOf({ content, path: written }: JsonObject, maxFile: number): string {
  if (typeof content !== 'string') throw wrongPath('path', written, 'comes without content')
  if (!content.isWellFormed()) throw wrongPath('path', written, 'comes with content that is no Unicode text')
  if (Buffer.byteLength(content) > maxFile)
    throw wrongPath('path', written, `would be larger than ${maxFile} bytes`)
  return content
}

function countOf(params: JsonObject, name: 'line' | 'limit'): number | undefined {
  const value = params[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return value
  throw wrongPath('path', params.path, `comes with a ${name} that is no whole number`)
}

/**
 * Opens a real path for reading, and makes sure afterwards that it was this one: what became a link since it was
 * looked up, or lies behind one, is not read. Never waits for the other end of a FIFO.
 * @throws GatewayError GW_AGENT_PATH
 */
export async function openFile(real: string): Promise<FileHandle> {
  return openExactly(real, real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
}

/** A directory that stays the same one while it is open, whatever becomes of its path. */
export class OpenDirectory {
  readonly real: string
  readonly #handle: FileHandle

  private constructor(real: string, handle: FileHandle) {
    this.real = real
    this.#handle = handle
  }

  /** @throws GatewayError GW_AGENT_PATH */
  static async open(real: string, way = real): Promise<OpenDirectory> {
    return new OpenDirectory(real, await openExactly(real, way, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
  }

  /** A path for something in it. Where there is no /proc it is looked up by name again. */
  entry(name: string): string {
    return path.posix.join(existsSync(DESCRIPTORS) ? `${DESCRIPTORS}/${this.#handle.fd}` : this.real, name)
  }

  /** The directory of that name in it, made when it is not there. @throws GatewayError GW_AGENT_PATH */
  async within(name: string): Promise<OpenDirectory> {
    await mkdir(this.entry(name)).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST')
        throw wrongPath('path', this.real, `cannot be written to (${codeOf(error)})`)
    })
    return OpenDirectory.open(path.posix.join(this.real, name), this.entry(name))
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

async function openExactly(real: string, way: string, flags: number): Promise<FileHandle> {
  const handle = await open(way, flags).catch((error: unknown) => {
    const isGone = codeOf(error) === 'ENOENT'
    throw wrongPath('path', real, isGone ? 'does not exist' : `cannot be opened (${codeOf(error)})`, isGone)
  })
  if (await isExactly(handle, real)) return handle
  await handle.close()
  throw wrongPath('path', real, 'changed while it was opened')
}

async function isExactly(handle: FileHandle, real: string): Promise<boolean> {
  if (existsSync(DESCRIPTORS)) return (await readlink(`${DESCRIPTORS}/${handle.fd}`)) === real
  const [ours, theirs] = await Promise.all([handle.stat(), lstat(real)])
  return ours.ino === theirs.ino && ours.dev === theirs.dev && (await realpath(real)) === real
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown'
}
