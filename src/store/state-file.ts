import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Log } from '../api/index.ts'
import { getErrorMessage } from '../errors/errors.ts'
import { writeFileAtomic } from '../util/storage/files.ts'

/** Files that could not be read and are kept for people to look at. */
const MAX_SET_ASIDE = 3

/** Description of a state file. */
interface StateFileOptions {
  readonly path: string
  /** Larger ones are neither read nor written, in bytes. */
  readonly maxBytes: number
  /** Of this process; undefined where files have no owner. */
  readonly uid: number | undefined
  readonly log: Log
}

/**
 * One JSON document on disk, for its owner alone: replaced as a whole or not at all, set aside when it cannot be read.
 * Nothing here throws; what goes wrong is said in the log once, and the gateway does without.
 */
export class StateFile {
  readonly #options: StateFileOptions
  #hasFailed = false

  constructor(options: StateFileOptions) {
    this.#options = options
  }

  /** Reads its content; undefined when there is none, or none that can be used. */
  async read(): Promise<unknown> {
    const { path, log } = this.#options
    let text: string | undefined
    try {
      text = this.#readText()
    } catch (error) {
      log.warn('what was saved is not used', { file: path, why: getErrorMessage(error) })
    }
    if (text === undefined) return undefined
    try {
      return JSON.parse(text) as unknown
    } catch (error) {
      await this.setAside(getErrorMessage(error))
      return undefined
    }
  }

  /** The same for who is about to replace it, and can do without: nothing is said or set aside. */
  async peek(): Promise<unknown> {
    try {
      const text = this.#readText()
      return text === undefined ? undefined : (JSON.parse(text) as unknown)
    } catch {
      return undefined
    }
  }

  /** Replaces it; false when that failed. */
  async write(value: unknown): Promise<boolean> {
    const { path, log, maxBytes } = this.#options
    const text = Buffer.from(JSON.stringify(value))
    try {
      if (text.length > maxBytes) throw new Error(`it would be larger than ${maxBytes} bytes`)
      await writeFileAtomic(this.#options.path, text, rename)
      this.#hasFailed = false
      return true
    } catch (error) {
      if (!this.#hasFailed)
        log.warn('what is known of the servers is not saved', { file: path, why: getErrorMessage(error) })
      this.#hasFailed = true
      return false
    }
  }

  /** Sets an unreadable file aside, and logs it. */
  async setAside(why: string): Promise<void> {
    const { path, log } = this.#options
    const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`
    log.warn('what was saved cannot be read; it is set aside and learnt anew', { file: path, aside, why })
    try {
      await rename(path, aside)
      const names = (await readdir(dirname(path))).filter(name =>
        name.startsWith(`${basename(path)}.corrupt-`),
      )
      for (const name of names.sort().slice(0, -MAX_SET_ASIDE)) await rm(join(dirname(path), name))
    } catch {
      // A file that cannot be set aside is read by nobody, and replaced by the next write.
    }
  }

  // Without promises: clients wait for the first reading, and what is read is parsed in one go anyway.
  #readText(): string | undefined {
    const { path, maxBytes, uid } = this.#options
    const file = openNoFollow(path)
    if (file === undefined) return undefined
    try {
      const { size, mode, uid: owner } = fstatSync(file)
      if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
      // Whoever can write it could put words into the mouths of the servers.
      if (uid !== undefined && (owner !== uid || (mode & 0o022) !== 0))
        throw new Error('others than the user of this process can write it')
      return readFileSync(file, 'utf8')
    } finally {
      closeSync(file)
    }
  }
}

function openNoFollow(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
