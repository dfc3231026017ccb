import type { Stats } from 'node:fs'
import { lstatSync } from 'node:fs'
import { chmod, unlink } from 'node:fs/promises'
import type { Server } from 'node:net'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import { makeDirectory } from '../util/storage/files.ts'
import { getPlatform } from '../util/platform.ts'

const CONNECT_MS = 2000
const GROUP_OTHER_WRITE = 0o022
const GROUP_OTHER_ACCESS = 0o077

/**
 * Prepares a socket path: creates and checks its directory, and removes a dead process's socket.
 * @throws GatewayError GW_CONTROL, also if another process listens on it
 */
export async function claimSocket(socket: string, isPrivate: boolean): Promise<void> {
  await makeSocketDirectory(socket)
  guardDirectory(socket, isPrivate)
  if (await removeStaleSocket(socket)) return
  throw gatewayError('GW_CONTROL', { socket, why: 'another gateway listens on it', isTaken: true })
}

/**
 * Listens on a socket that only its owner can connect to.
 * @throws GatewayError GW_CONTROL
 */
export async function listenPrivately(server: Server, socket: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const handleError = (cause: Error): void => reject(createSocketError(socket, getErrorMessage(cause), cause))
    server.once('error', handleError)
    // The call creates the socket; restrict its mode before other users can connect.
    const before = process.umask(0o177)
    try {
      server.listen(socket, () => {
        server.off('error', handleError)
        resolve()
      })
    } finally {
      process.umask(before)
    }
  })
  if (!getPlatform().hasPipes) await chmod(socket, 0o600)
}

/** Creates a socket's directory, private to its owner, unless it exists. */
export async function makeSocketDirectory(socket: string): Promise<void> {
  try {
    await makeDirectory(dirname(socket), 0o700)
  } catch (cause) {
    throw createSocketError(socket, getErrorMessage(cause), cause)
  }
}

/**
 * Checks that other users cannot replace a socket: its directory has this owner and is not writable for others.
 * With `isPrivate`, others must not be able to list it either.
 * @throws GatewayError GW_CONTROL
 */
export function guardDirectory(socket: string, isPrivate: boolean): void {
  const directory = dirname(socket)
  const stats = readSocketStats(directory, socket)
  if (stats?.isDirectory() !== true) throw createSocketError(socket, `${directory} is not a directory`)
  if (!isOwnUid(stats.uid)) throw createSocketError(socket, `${directory} belongs to another user`)
  if ((stats.mode & (isPrivate ? GROUP_OTHER_ACCESS : GROUP_OTHER_WRITE)) !== 0)
    throw createSocketError(socket, `other users can ${isPrivate ? 'list' : 'write to'} ${directory}`)
}

/**
 * True if a socket of this user exists at the path.
 * @throws GatewayError GW_CONTROL for anything else, such as a symbolic link or another user's socket.
 */
export function isOwnSocket(socket: string): boolean {
  const stats = readSocketStats(socket, socket)
  if (stats === undefined) return false
  if (stats.isSymbolicLink()) throw createSocketError(socket, 'it is a symbolic link')
  if (!stats.isSocket()) throw createSocketError(socket, 'it is not a socket')
  if (!isOwnUid(stats.uid)) throw createSocketError(socket, 'it belongs to another user')
  return true
}

// Synchronous, as `node:fs/promises` would cost each attached client 1 MB.
function readSocketStats(path: string, socket: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    throw createSocketError(socket, getErrorMessage(cause), cause)
  }
}

/** Removes a socket without a listener; false if a process still answers. */
export async function removeStaleSocket(socket: string): Promise<boolean> {
  if (!isOwnSocket(socket)) return true
  if (await isListening(socket)) return false
  await unlink(socket).catch(() => undefined)
  return true
}

/** True if a gateway listens on a socket: a refused connection means that it is dead. */
export function isListening(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const connection = connect(socket)
    const finish = (isThere: boolean): void => {
      connection.destroy()
      resolve(isThere)
    }
    connection.setTimeout(CONNECT_MS, () => finish(true))
    connection.once('connect', () => finish(true))
    connection.once('error', (error: NodeJS.ErrnoException) =>
      finish(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}

export function createSocketError(socket: string, why: string, cause?: unknown): Error {
  return gatewayError('GW_CONTROL', { socket, why, ...(cause === undefined ? {} : { cause }) })
}

/** True if files with this uid belong to the gateway's user. */
export function isOwnUid(uid: number): boolean {
  const own = process.geteuid?.()
  return own === undefined || uid === own
}
