import { createHash } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { lstat, readdir, unlink } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { connect } from 'node:net'
import { gatewayError, reasonOf } from '../errors/errors.ts'
import { makeDirectory } from '../util/make-directory.ts'

/** Decides where the control socket of a gateway is. */
export interface Place {
  /** The configuration file, and the environment it was loaded for. */
  readonly file: string | undefined
  readonly env: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Most bytes of a socket's address on every system. */
const MAX_BYTES = 100
const PIPES = '\\\\.\\pipe\\'
/** Sockets looked at when others have been left behind. */
const MAX_SWEPT = 256
const CONNECT_MS = 2000
const OTHERS_WRITE = 0o022
const OTHERS = 0o077

/**
 * The path of a new gateway's own socket: each process has one, so that none takes another's.
 * @throws GatewayError GW_CONTROL when there is no directory short enough.
 */
export function ownSocket(place: Place, pid: number): string {
  if (process.platform === 'win32') return `${PIPES}${pipeName(place)}.${pid}`
  return join(directoryOf(place.environment), `${keyOf(place)}.${pid}.sock`)
}

/** The sockets of the gateways that run with this configuration now. */
export function livingSockets(place: Place): Promise<string[]> {
  const name = process.platform === 'win32' ? pipeName(place) : keyOf(place)
  return livingWith(`${name}.`, place.environment)
}

/** Those of all gateways of this user, except where a configuration puts its socket elsewhere. */
export function allLivingSockets(environment: Place['environment']): Promise<string[]> {
  return livingWith(process.platform === 'win32' ? `tapgate-${userInfo().username}-` : '', environment)
}

async function livingWith(start: string, environment: Place['environment']): Promise<string[]> {
  const isWindows = process.platform === 'win32'
  const directory = isWindows ? PIPES : directoryOf(environment)
  const names = await readdir(directory).catch(() => [])
  const paths = names
    .filter(name => name.startsWith(start) && (isWindows || name.endsWith('.sock')))
    .map(name => `${directory}${isWindows ? '' : '/'}${name}`)
  const [first] = paths
  if (first === undefined) return []
  if (isWindows) return paths
  await guardDirectory(first, true)
  const living = await Promise.all(paths.map(path => answers(path)))
  return paths.filter((_, index) => living[index])
}

/** Removes what dead gateways left beside this socket. */
export async function sweep(socket: string): Promise<void> {
  const directory = socket.slice(0, socket.lastIndexOf('/'))
  const names = await readdir(directory).catch(() => [])
  const left = names.filter(name => name.endsWith('.sock')).slice(0, MAX_SWEPT)
  await Promise.all(left.map(name => removeStale(join(directory, name)).catch(() => false)))
}

/** XDG_RUNTIME_DIR is the user's own; in a directory for all, ours has the user in its name. */
function directoryOf(environment: Place['environment']): string {
  const runtime = environment.XDG_RUNTIME_DIR
  const user = process.geteuid?.() ?? userInfo().username
  const places = [
    ...(runtime !== undefined && isOwnDirectory(runtime) ? [join(runtime, 'tapgate')] : []),
    join(tmpdir(), `tapgate-${user}`),
    `/tmp/tapgate-${user}`,
  ]
  const short = places.find(place => Buffer.byteLength(place) + 1 + LONGEST_NAME < MAX_BYTES)
  if (short === undefined)
    throw gatewayError('GW_CONTROL', { socket: places[0], why: 'its path would be too long' })
  return short
}

/** After a change of user it may still be the one of the user before. */
function isOwnDirectory(path: string): boolean {
  try {
    const found = statSync(path)
    return isAbsolute(path) && found.isDirectory() && isOurs(found.uid)
  } catch {
    return false
  }
}

const KEY_LENGTH = 16

const LONGEST_NAME = KEY_LENGTH + '.4194304.sock'.length

/** A configuration file as one short word, with the environment that is laid over it. */
function keyOf({ file, env = '' }: Place): string {
  const text = JSON.stringify([file === undefined ? null : realPath(file), env])
  return createHash('sha256').update(text).digest('hex').slice(0, KEY_LENGTH)
}

function pipeName(place: Place): string {
  return `tapgate-${userInfo().username}-${keyOf(place)}`
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** Makes the directory of a socket where there is none, for its owner alone. */
export async function makeDirectoryOf(socket: string): Promise<void> {
  try {
    await makeDirectory(dirname(socket), 0o700)
  } catch (cause) {
    throw unusable(socket, reasonOf(cause), cause)
  }
}

/**
 * Checks that nobody else could put something in a socket's place: its directory is ours and others cannot write to it.
 * With `isPrivate`, others cannot even look into it.
 * @throws GatewayError GW_CONTROL
 */
export async function guardDirectory(socket: string, isPrivate: boolean): Promise<void> {
  const directory = dirname(socket)
  const found = await lstat(directory).catch((cause: unknown) => {
    throw unusable(socket, reasonOf(cause), cause)
  })
  if (!found.isDirectory()) throw unusable(socket, `${directory} is no directory`)
  if (!isOurs(found.uid)) throw unusable(socket, `${directory} belongs to another user`)
  if ((found.mode & (isPrivate ? OTHERS : OTHERS_WRITE)) !== 0)
    throw unusable(socket, `others can ${isPrivate ? 'look into' : 'write to'} ${directory}`)
}

/**
 * True when something is at the path already, which then is a socket of ours.
 * @throws GatewayError GW_CONTROL for anything else, such as a symbolic link or another user's socket.
 */
export async function isOwnSocket(socket: string): Promise<boolean> {
  const found = await lstat(socket).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable(socket, reasonOf(cause), cause)
  })
  if (found === undefined) return false
  if (found.isSymbolicLink()) throw unusable(socket, 'it is a symbolic link')
  if (!found.isSocket()) throw unusable(socket, 'something else is there')
  if (!isOurs(found.uid)) throw unusable(socket, 'it belongs to another user')
  return true
}

/** Removes a socket that nobody answers any more; false when somebody does. */
export async function removeStale(socket: string): Promise<boolean> {
  if (!(await isOwnSocket(socket))) return true
  if (await answers(socket)) return false
  await unlink(socket).catch(() => undefined)
  return true
}

/** True when a gateway is behind a socket: a refused connection means that nobody listens any more. */
export function answers(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const connection = connect(socket)
    const done = (isThere: boolean): void => {
      connection.destroy()
      resolve(isThere)
    }
    connection.setTimeout(CONNECT_MS, () => done(true))
    connection.once('connect', () => done(true))
    connection.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}

/** The error for a socket that cannot be used. */
export function unusable(socket: string, why: string, cause?: unknown): Error {
  return gatewayError('GW_CONTROL', { socket, why, ...(cause === undefined ? {} : { cause }) })
}

/** True when files of this user are ours. */
function isOurs(uid: number): boolean {
  const own = process.geteuid?.()
  return own === undefined || uid === own
}
