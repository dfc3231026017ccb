import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Length of a socket's address that every system has room for. */
const MAX_BYTES = 100
/** Most bytes of a name in it. */
const NAME_BYTES = 24

/** Makes the directory of the sockets between the processes of one gateway: anew, and only this user can enter it. */
export async function makeSocketDirectory(): Promise<string> {
  const start = 'tapgate-workers-'
  const base = [tmpdir(), '/tmp'].find(
    path => Buffer.byteLength(join(path, start)) + 6 + NAME_BYTES < MAX_BYTES,
  )
  return mkdtemp(join(base ?? '/tmp', start))
}

/** Takes it away with all sockets in it. */
export async function removeSocketDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true })
}
