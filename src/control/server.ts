import { reasonOf } from '../errors/errors.ts'
import { Conversation } from './conversation.ts'
import { guardDirectory, isOwnSocket, makeDirectory, removeStale, unusable } from './guard.ts'
import { sweep } from './place.ts'
import type { ControlHost } from './protocol.ts'
import { chmod } from 'node:fs/promises'
import { type Server, type Socket, createServer } from 'node:net'

/** Owners connected at once; the next one is sent away. */
const MAX_CONNECTIONS = 64
/** What is left to say gets this long when the gateway ends. */
const FAREWELL_MS = 500

/** An open control socket. */
export interface Control {
  readonly socket: string
  /** Ends every conversation and removes the socket. */
  close(): Promise<void>
}

/**
 * Opens a control socket that only this user can connect to. One that a dead gateway left is replaced.
 * With `isPrivate` its directory must be closed to others, as ours is.
 * @throws GatewayError GW_CONTROL
 */
export async function openControl(socket: string, host: ControlHost, isPrivate: boolean): Promise<Control> {
  const isPipe = process.platform === 'win32'
  if (!isPipe) await prepare(socket, isPrivate)
  const open = new Set<Conversation>()
  const server = createServer(connection => converse(connection, host, open))
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, socket)
  if (!isPipe) await chmod(socket, 0o600)
  server.unref()
  server.on('error', error => host.log.error('the control socket failed', { cause: reasonOf(error) }))
  return { socket, close: () => close(server, open) }
}

async function prepare(socket: string, isPrivate: boolean): Promise<void> {
  await makeDirectory(socket)
  await guardDirectory(socket, isPrivate)
  if (isPrivate) await sweep(socket)
  if (!(await isOwnSocket(socket))) return
  if (!(await removeStale(socket))) throw unusable(socket, 'another gateway listens on it')
}

function converse(connection: Socket, host: ControlHost, open: Set<Conversation>): void {
  const conversation = new Conversation(connection, host)
  open.add(conversation)
  connection.once('close', () => open.delete(conversation))
}

function listen(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', cause => reject(unusable(socket, reasonOf(cause), cause)))
    // The socket is made within the call; nobody else may connect before its mode is set.
    const before = process.umask(0o177)
    try {
      server.listen(socket, resolve)
    } finally {
      process.umask(before)
    }
  })
}

async function close(server: Server, open: ReadonlySet<Conversation>): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  for (const conversation of open) conversation.end()
  const late = setTimeout(() => {
    for (const conversation of open) conversation.cut()
  }, FAREWELL_MS)
  await closed
  clearTimeout(late)
}
