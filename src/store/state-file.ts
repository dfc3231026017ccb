import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Log } from '../api/index.ts'
import { getErrorMessage } from '../errors/errors.ts'
import { writeFileAtomic } from '../util/storage/files.ts'

/** Limit for unreadable files retained for inspection. */
const MAX_SET_ASIDE = 3

interface StateFileOptions {
  readonly path: string
  /** Larger files are neither read nor written, in bytes. */
  readonly maxBytes: number
  /** Process owner; undefined if files have no owner. */
  readonly uid: number | undefined
  readonly log: Log
}

/**
 * A JSON document on disk with owner-only permissions: written atomically, set aside if unreadable. Never throws;
 * errors are logged once, and the gateway runs without it.
 */
export class StateFile {
  readonly #options: StateFileOptions
  #hasFailed = false

  constructor(options: StateFileOptions) {
    this.#options = options
  }

  /** Reads the document; undefined if it is missing or unusable. */
  async read(): Promise<unknown> {
    const { path, log } = this.#options
    let text: string | undefined
    try {
      text = this.#readText()
    } catch (error) {
      log.warn('ignoring the state file', { file: path, why: getErrorMessage(error) })
    }
    if (text === undefined) return undefined
    try {
      return JSON.parse(text) as unknown
    } catch (error) {
      await this.setAside(getErrorMessage(error))
      return undefined
    }
  }

  /** Reads the document before replacing it; logs nothing and sets nothing aside. */
  async peek(): Promise<unknown> {
    try {
      const text = this.#readText()
      return text === undefined ? undefined : (JSON.parse(text) as unknown)
    } catch {
      return undefined
    }
  }

  /** Replaces the document; returns false on failure. */
  async write(value: unknown): Promise<boolean> {
    const { path, log, maxBytes } = this.#options
    const text = Buffer.from(JSON.stringify(value))
    try {
      if (text.length > maxBytes) throw new Error(`would exceed ${maxBytes} bytes`)
      await writeFileAtomic(this.#options.path, text, rename)
      this.#hasFailed = false
      return true
    } catch (error) {
      if (!this.#hasFailed) log.warn('saving the state file failed', { file: path, why: getErrorMessage(error) })
      this.#hasFailed = true
      return false
    }
  }

  async setAside(reason: string): Promise<void> {
    const { path, log } = this.#options
    const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`
    log.warn('state file unreadable, moved aside and recreated', { file: path, aside, why: reason })
    try {
      await rename(path, aside)
      const names = (await readdir(dirname(path))).filter(name => name.startsWith(`${basename(path)}.corrupt-`))
      for (const name of names.sort().slice(0, -MAX_SET_ASIDE)) await rm(join(dirname(path), name))
    } catch {
      // If the rename fails, the file is ignored and replaced by the next write.
    }
  }

  // Synchronous: clients wait for the first read, and parsing blocks anyway.
  #readText(): string | undefined {
    const { path, maxBytes, uid } = this.#options
    const file = openNoFollow(path)
    if (file === undefined) return undefined
    try {
      const { size, mode, uid: owner } = fstatSync(file)
      if (size > maxBytes) throw new Error(`larger than ${maxBytes} bytes`)
      // Other users with write access could forge server descriptions.
      if (uid !== undefined && (owner !== uid || (mode & 0o022) !== 0)) throw new Error('writable by other users')
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
