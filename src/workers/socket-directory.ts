import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Socket directory and token that the workers of one gateway have in common. */
export interface Place {
  /** Of this user alone. */
  readonly directory: string
  /** Said first by who connects. */
  readonly token: string
}

/** Length of a socket's address that every system has room for. */
const MAX_BYTES = 100
const LONGEST_NAME = '/w999.http'.length

/** A directory that only this user can enter. It is made anew, so that nobody has put anything there. */
export async function makePlace(): Promise<Place> {
  const start = 'tapgate-workers-'
  const base = [tmpdir(), '/tmp'].find(
    path => Buffer.byteLength(join(path, start)) + 6 + LONGEST_NAME < MAX_BYTES,
  )
  const directory = await mkdtemp(join(base ?? '/tmp', start))
  return { directory, token: randomBytes(32).toString('base64url') }
}

/** Takes it away with all sockets in it. */
export async function removePlace({ directory }: Place): Promise<void> {
  await rm(directory, { recursive: true, force: true })
}

/** Socket at which a worker takes what others hand on: whole HTTP requests, or what is in the pipeline already. */
export function socketOf({ directory }: Place, number: number, of: 'http' | 'line'): string {
  return join(directory, `w${number}.${of}`)
}

/** Has a server take what comes there, in place of one that this worker's last process has left. */
export async function listenAt(server: Server, path: string): Promise<void> {
  await rm(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Not one that the workers share.
    server.listen({ path, exclusive: true }, resolve)
  })
}
