import { randomBytes } from 'node:crypto'
import { link, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../api/index.ts'
import { reasonOf } from '../errors/errors.ts'
import { writeWhole } from './state-file.ts'

const NAME = 'seal.key'
const BYTES = 32

export interface SealKeyOptions {
  /** Absolute; made, for its owner alone. */
  readonly directory: string
  /** True to make another one: what was sealed before means nothing then. */
  readonly fresh?: boolean | undefined
  readonly log: Log
}

/**
 * The key that ids and cursors are sealed with, from one run to the next: all processes that share the directory get the
 * same one. Never rejects; where it cannot be kept, ids mean nothing after this run, and the log says so.
 */
export async function sealKey({ directory, fresh, log }: SealKeyOptions): Promise<Buffer> {
  const path = join(directory, NAME)
  try {
    const kept = fresh === true ? undefined : await read(path)
    return kept ?? (await make(path, fresh === true))
  } catch (error) {
    log.warn('the key of this gateway is not kept: ids of tasks mean nothing after a restart', {
      file: path,
      why: reasonOf(error),
    })
    return randomBytes(BYTES)
  }
}

/** Undefined when there is none. @throws Error for one that others may know, or that is no key. */
async function read(path: string): Promise<Buffer | undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { size, mode, uid } = await file.stat()
    const own = process.getuid?.()
    if (own !== undefined && (uid !== own || (mode & 0o077) !== 0))
      throw new Error('others than the user of this process can read it')
    if (size !== BYTES) throw new Error(`it is not ${BYTES} bytes long`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Whole or not at all. Of several processes that make one at the same time, all get that of the first. */
async function make(path: string, replaces: boolean): Promise<Buffer> {
  const key = randomBytes(BYTES)
  try {
    await writeWhole(path, key, replaces ? rename : link)
    return key
  } catch (error) {
    const theirs = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await read(path) : undefined
    if (theirs === undefined) throw error
    return theirs
  }
}
