import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises'
import path from 'node:path'
import { wrongPath } from './paths.ts'

const { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const DESCRIPTORS = '/proc/self/fd'

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
