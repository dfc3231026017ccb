import { randomBytes } from 'node:crypto'
import { link, open, rename } from 'node:fs/promises'
import { writeFileAtomic } from './files.ts'

/**
 * The random key in a file for its owner alone, made where there is none: all processes get the same one. With `fresh`
 * another one is made in its place.
 * @throws Error where it cannot be kept, or others may know it
 */
export async function loadKeyFile(path: string, bytes: number, fresh = false): Promise<Buffer> {
  const kept = fresh ? undefined : await readKey(path, bytes)
  return kept ?? (await createKey(path, bytes, fresh))
}

/** Undefined when there is none. @throws Error for one that others may know, or that is no key. */
async function readKey(path: string, bytes: number): Promise<Buffer | undefined> {
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
    if (size !== bytes) throw new Error(`it is not ${bytes} bytes long`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Whole or not at all. Of several processes that make one at the same time, all get that of the first. */
async function createKey(path: string, bytes: number, replaces: boolean): Promise<Buffer> {
  const key = randomBytes(bytes)
  try {
    await writeFileAtomic(path, key, replaces ? rename : link)
    return key
  } catch (error) {
    const theirs = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(path, bytes) : undefined
    if (theirs === undefined) throw error
    return theirs
  }
}
