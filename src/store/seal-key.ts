import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Log } from '../api/index.ts'
import { reasonOf } from '../errors/errors.ts'
import { keyFile } from '../util/storage/key-file.ts'

const NAME = 'seal.key'
const BYTES = 32

interface SealKeyOptions {
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
    return await keyFile(path, BYTES, fresh)
  } catch (error) {
    log.warn('the key of this gateway is not kept: ids of tasks mean nothing after a restart', {
      file: path,
      why: reasonOf(error),
    })
    return randomBytes(BYTES)
  }
}
