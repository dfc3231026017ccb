import { mkdirSync, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a directory with all above it; gives the first that was made, or undefined where all were there. Node's own
 * `recursive` never returns where a parent is there and takes nothing, as in /proc.
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<string | undefined> {
  try {
    await mkdir(path, { mode })
    return path
  } catch (error) {
    if (isThere(error) && (await stat(path)).isDirectory()) return undefined
    if (!lacksParent(error, path)) throw error
  }
  const first = await makeDirectory(dirname(path), mode)
  return mkdir(path, { mode }).then(
    () => first ?? path,
    (error: unknown) => {
      if (!isThere(error)) throw error
      return first
    },
  )
}

/** The same, at once. */
export function makeDirectorySync(path: string, mode = 0o777): string | undefined {
  try {
    mkdirSync(path, { mode })
    return path
  } catch (error) {
    if (isThere(error) && statSync(path).isDirectory()) return undefined
    if (!lacksParent(error, path)) throw error
  }
  const first = makeDirectorySync(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
    return first ?? path
  } catch (error) {
    if (!isThere(error)) throw error
    return first
  }
}

function isThere(error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

function lacksParent(error: unknown, path: string): boolean {
  return codeOf(error) === 'ENOENT' && dirname(path) !== path
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
