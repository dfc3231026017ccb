import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { chmod, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a directory and its parents; returns the first one created, or undefined if all existed. Node's `recursive`
 * option never returns if an existing parent rejects entries, as in /proc.
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<string | undefined> {
  try {
    await mkdir(path, { mode })
    return path
  } catch (error) {
    if (ignoreExisting(error) && (await stat(path)).isDirectory()) return undefined
    if (!lacksParent(error, path)) throw error
  }
  const first = await makeDirectory(dirname(path), mode)
  return mkdir(path, { mode }).then(
    () => first ?? path,
    (error: unknown) => {
      if (!ignoreExisting(error)) throw error
      return first
    },
  )
}

/** Creates a directory and its parents synchronously. */
export function makeDirectorySync(path: string, mode = 0o777): string | undefined {
  try {
    mkdirSync(path, { mode })
    return path
  } catch (error) {
    if (ignoreExisting(error) && statSync(path).isDirectory()) return undefined
    if (!lacksParent(error, path)) throw error
  }
  const first = makeDirectorySync(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
    return first ?? path
  } catch (error) {
    if (!ignoreExisting(error)) throw error
    return first
  }
}

function ignoreExisting(error: unknown): boolean {
  return getErrorCode(error) === 'EEXIST'
}

function lacksParent(error: unknown, path: string): boolean {
  return getErrorCode(error) === 'ENOENT' && dirname(path) !== path
}

function getErrorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/**
 * Writes a file atomically, readable by its owner only unless `mode` is given. `put` moves it into position: `rename`
 * replaces an existing file, `link` fails with EEXIST.
 */
export async function writeFileAtomic(
  path: string,
  bytes: Buffer,
  put: (from: string, to: string) => Promise<void>,
  mode = 0o600,
): Promise<void> {
  if ((await makeDirectory(dirname(path), 0o700)) !== undefined) await chmod(dirname(path), 0o700)
  const next = `${path}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(next, 'wx', 0o600)
    try {
      await file.chmod(mode)
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await put(next, path)
  } finally {
    await rm(next, { force: true }).catch(() => undefined)
  }
}
