import { randomBytes } from 'node:crypto'
import { chmod, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectory } from './make-directory.ts'

/**
 * Writes a file whole or not at all, for its owner alone unless `mode` says otherwise. `put` gives what was written its
 * name: `rename` replaces what has that name, `link` fails with EEXIST then.
 */
export async function writeWhole(
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
