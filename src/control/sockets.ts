import { hash } from 'node:crypto'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import {
  isListening,
  guardDirectory,
  isOwnUid,
  isOwnSocket,
  removeStaleSocket,
  createSocketError,
} from '../net/unix-sockets.ts'
import { getSocketFolder, getSocketAddress, getPlatform } from '../util/platform.ts'

// Used by CLI commands.
export { isListening, removeStaleSocket }

/** Identifies a configuration, and so its sockets. */
export interface ControlSocketKey {
  readonly file: string | undefined
  /** Environment name; default: GATEWAY_ENV. */
  readonly env: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Longest socket path that all systems support, in bytes. */
const MAX_BYTES = 100
/** Errors that mean the gateway is gone. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'])
/** Stale sockets checked at most. */
const MAX_SWEPT = 256

/**
 * A gateway process's control socket path.
 * @throws GatewayError GW_CONTROL if no directory has a short enough path
 */
export function getControlSocketPath(key: ControlSocketKey, pid: number): string {
  const platform = getPlatform()
  if (platform.hasPipes) return getSocketAddress('', `${formatPipeName(key)}.${pid}`, platform)
  return getSocketAddress(getSocketDirectory(key.environment), `${hashSocketName(key)}.${pid}.sock`, platform)
}

/** MCP socket path for local programs, one per configuration. */
export function getAttachSocketPath(key: ControlSocketKey): string {
  const platform = getPlatform()
  if (platform.hasPipes) return getSocketAddress('', `${formatPipeName(key)}-mcp`, platform)
  return getSocketAddress(getSocketDirectory(key.environment), `${hashSocketName(key)}.mcp`, platform)
}

/**
 * Connects to a gateway's socket; undefined if it is not listening.
 * @throws GatewayError GW_CONTROL if the socket is untrusted
 */
export async function connectSocket(path: string): Promise<Socket | undefined> {
  if (!getPlatform().hasPipes && existsSync(dirname(path))) {
    guardDirectory(path, false)
    if (!isOwnSocket(path)) return undefined
  }
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const handleError = (error: NodeJS.ErrnoException): void => {
      if (GONE.has(error.code ?? '')) resolve(undefined)
      else reject(createSocketError(path, getErrorMessage(error), error))
    }
    socket.once('error', handleError)
    socket.once('connect', () => {
      socket.off('error', handleError)
      resolve(socket)
    })
  })
}

/** Sockets of running gateways with this configuration. */
export function findLivingSockets(key: ControlSocketKey): Promise<string[]> {
  const name = getPlatform().hasPipes ? formatPipeName(key) : hashSocketName(key)
  return listLivingSockets(`${name}.`, key.environment)
}

/** Sockets of all running gateways of this user, except those with a configured path. */
export function findAllLivingSockets(environment: ControlSocketKey['environment']): Promise<string[]> {
  return listLivingSockets(getPlatform().hasPipes ? `tapgate-${userInfo().username}-` : '', environment)
}

async function listLivingSockets(start: string, environment: ControlSocketKey['environment']): Promise<string[]> {
  const { hasPipes } = getPlatform()
  const folder = getSocketFolder(() => getSocketDirectory(environment), getPlatform())
  const names = await readdir(folder).catch(() => [])
  const paths = names
    .filter(name => name.startsWith(start) && (hasPipes || name.endsWith('.sock')))
    .map(name => `${folder}${name}`)
  const [first] = paths
  if (first === undefined) return []
  if (hasPipes) return paths
  guardDirectory(first, true)
  const living = await Promise.all(paths.map(path => isListening(path)))
  return paths.filter((_, index) => living[index])
}

/** Removes stale sockets in the same directory. */
export async function removeStaleSockets(socket: string): Promise<void> {
  const directory = socket.slice(0, socket.lastIndexOf('/'))
  const names = await readdir(directory).catch(() => [])
  const socketNames = names.filter(name => name.endsWith('.sock')).slice(0, MAX_SWEPT)
  await Promise.all(socketNames.map(name => removeStaleSocket(join(directory, name)).catch(() => false)))
}

/** XDG_RUNTIME_DIR is private; shared directories get a subdirectory per user. */
function getSocketDirectory(environment: ControlSocketKey['environment']): string {
  // Clients such as Codex do not pass the variable on; this is its usual value.
  const runtime = environment.XDG_RUNTIME_DIR ?? `/run/user/${process.geteuid?.()}`
  const user = process.geteuid?.() ?? userInfo().username
  const candidates = [
    ...(isOwnDirectory(runtime) ? [join(runtime, 'tapgate')] : []),
    join(tmpdir(), `tapgate-${user}`),
    `/tmp/tapgate-${user}`,
  ]
  const short = candidates.find(directory => Buffer.byteLength(directory) + 1 + MAX_NAME_LENGTH < MAX_BYTES)
  if (short === undefined) throw gatewayError('GW_CONTROL', { socket: candidates[0], why: 'path too long' })
  return short
}

/** After `su` it may belong to the previous user. */
function isOwnDirectory(path: string): boolean {
  try {
    const stats = statSync(path)
    return isAbsolute(path) && stats.isDirectory() && isOwnUid(stats.uid)
  } catch {
    return false
  }
}

const KEY_LENGTH = 16

const MAX_NAME_LENGTH = KEY_LENGTH + '.4194304.sock'.length

/** Configuration file and environment hash. */
function hashSocketName({ file, env, environment }: ControlSocketKey): string {
  const name = env ?? environment.GATEWAY_ENV ?? ''
  const text = JSON.stringify([file === undefined ? null : resolveRealPath(file), name])
  return hash('sha256', text, 'hex').slice(0, KEY_LENGTH)
}

function formatPipeName(key: ControlSocketKey): string {
  return `tapgate-${userInfo().username}-${hashSocketName(key)}`
}

function resolveRealPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
