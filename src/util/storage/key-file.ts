import { randomBytes } from 'node:crypto'
import { link, open, rename } from 'node:fs/promises'
import { writeFileAtomic } from './files.ts'

/**
 * Loads the random key from an owner-only file and creates it if missing; all processes get the same key. `fresh`
 * replaces it.
 * @throws Error if it cannot be stored, or other users can read it
 */
export async function loadKeyFile(path: string, bytes: number, fresh = false): Promise<Buffer> {
  const existing = fresh ? undefined : await readKey(path, bytes)
  return existing ?? (await createKey(path, bytes, fresh))
}

/** Undefined if missing. @throws Error if other users can read it, or it is not a key */
async function readKey(path: string, bytes: number): Promise<Buffer | undefined> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { size, mode, uid } = await file.stat()
    const own = process.getuid?.()
    if (own !== undefined && (uid !== own || (mode & 0o077) !== 0)) throw new Error('it is readable by other users')
    if (size !== bytes) throw new Error(`it is not ${bytes} bytes long`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Creates the key atomically. If several processes create one concurrently, all get the first one. */
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
