import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Listener, ListenerConfig, ListenerContext } from '../../api/index.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { Plugin } from '../../plugin.ts'
import { parseDuration } from '../../plugin.ts'
import { isObject } from '../../protocol/json/json.ts'
import { WriteTimeout } from '../../net/backlog.ts'
import { claimSocket, listenPrivately, makeSocketDirectory } from '../../net/unix-sockets.ts'
import { getPlatform, resolveSocketAddress } from '../../util/platform.ts'
import { withFileLock } from '../../util/storage/file-lock.ts'
import { DuplexConnection } from '../duplex/duplex-connection.ts'
import { LineChannel } from '../stdio/stdio-listener.ts'

const NEWLINE = 0x0a
/** Longest hello line, in bytes. */
const MAX_LENGTH = 16 * 1024
const LABEL = /^[A-Za-z0-9._-]{1,128}$/

/** Introduction that a program sends before its first message. */
interface Hello {
  /** The client's working directory. */
  readonly cwd?: string
  readonly profile?: string
  /** Session label. */
  readonly label?: string
  /** True to suppress the `attached` line, for clients that read all output. */
  readonly quiet?: boolean
}

/**
 * Reads an optional first line `{"attach": {…}}`; leaves everything else in the stream. Undefined if the program
 * starts with MCP, or the stream ends.
 */
async function readHello(stream: Duplex): Promise<Hello | undefined> {
  const { read, end } = await readFirstLine(stream)
  const hello = end === -1 ? undefined : parseHello(read.subarray(0, end))
  const remaining = hello === undefined ? read : read.subarray(end + 1)
  if (remaining.length > 0 && !stream.destroyed && !stream.readableEnded) stream.unshift(remaining)
  return hello
}

/** `end` is the index of the line end, or -1. */
async function readFirstLine(stream: Duplex): Promise<{ read: Buffer; end: number }> {
  let read = Buffer.alloc(0)
  for (;;) {
    const chunk = stream.read() as Buffer | null
    if (chunk !== null) read = Buffer.concat([read, chunk])
    const end = read.indexOf(NEWLINE)
    if (end !== -1 || read.length > MAX_LENGTH) return { read, end }
    if (chunk === null && !(await waitUntilReadable(stream))) return { read, end: -1 }
  }
}

/** Resolves with false at the end of the stream. */
async function waitUntilReadable(stream: Duplex): Promise<boolean> {
  if (stream.readableEnded || stream.destroyed) return false
  const stop = new AbortController()
  const events = ['readable', 'end', 'close'].map(event => once(stream, event, stop))
  await Promise.race(events).catch(() => undefined)
  stop.abort()
  for (const event of events) event.catch(() => undefined)
  return !stream.readableEnded && !stream.destroyed
}

function parseHello(line: Buffer): Hello | undefined {
  let value: unknown
  try {
    value = JSON.parse(line.toString('utf8'))
  } catch {
    return undefined
  }
  if (!isObject(value) || !isObject(value.attach)) return undefined
  const { cwd, profile, label, quiet } = value.attach
  return {
    ...(isNonEmptyText(cwd) ? { cwd } : {}),
    ...(isNonEmptyText(profile) ? { profile } : {}),
    ...(typeof label === 'string' && LABEL.test(label) ? { label } : {}),
    ...(quiet === true ? { quiet } : {}),
  }
}

function isNonEmptyText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

const MAX_CONNECTIONS = 256
/** Idle connections without a first line are closed. */
const HELLO_TIMEOUT_MS = 30_000
/** Clients that do not read are disconnected. */
const READ_TIMEOUT_MS = 60_000

type SocketListenerSpec = Extract<ListenerConfig, { type: 'socket' }>

/** Local programs over a Unix socket or named pipe, framed as on stdio. */
export const listenSocket: Plugin = {
  name: 'listen-socket',
  claims: { always: true },
  setup({ hooks, config, directory }) {
    if (!Object.values(config.listeners).some(({ type }) => type === 'socket')) return
    const graceMs = parseDuration(config.shutdown.grace)
    hooks.createListener.for('socket').tap((spec, context) => {
      const { path, profile, optional } = spec as SocketListenerSpec
      const socketPath = resolveSocketAddress(path, directory, getPlatform())
      return new SocketListener(context, { path: socketPath, profile, optional, graceMs })
    })
  },
}

interface SocketListenerSettings {
  readonly path: string
  readonly profile: string | undefined
  /** True if the gateway may run without the socket when another one owns it. */
  readonly optional: boolean
  readonly graceMs: number
}

class SocketListener implements Listener {
  readonly name: string
  readonly type = 'socket'
  readonly url = undefined
  readonly #context: ListenerContext
  readonly #settings: SocketListenerSettings
  readonly #server: Server
  readonly #open = new Map<Socket, DuplexConnection | undefined>()
  readonly #writeTimeout: WriteTimeout
  #isStopping = false

  constructor(context: ListenerContext, settings: SocketListenerSettings) {
    this.name = context.name
    this.#context = context
    this.#settings = settings
    this.#writeTimeout = new WriteTimeout(context.clock, context.log, () => READ_TIMEOUT_MS)
    this.#server = createServer({ allowHalfOpen: true }, socket => void this.#greet(socket))
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  async start(): Promise<void> {
    const { path } = this.#settings
    try {
      if (getPlatform().hasPipes) await listenPrivately(this.#server, path)
      else await this.#claim(path)
    } catch (cause) {
      if (this.#settings.optional && isAddressInUse(cause))
        return this.#context.log.info('socket is in use by another gateway, continuing without it', {
          socket: path,
        })
      throw gatewayError('GW_LISTEN', {
        listener: this.name,
        address: path,
        why: getErrorMessage(cause),
        cause,
      })
    }
    this.#server.unref()
    this.#server.on('error', cause => this.#context.log.error('socket failed', { cause: getErrorMessage(cause) }))
    this.#context.log.debug('listening for local programs', { socket: path })
  }

  /** Locked: several gateways may start concurrently and find a stale socket. */
  async #claim(path: string): Promise<void> {
    await makeSocketDirectory(path)
    await withFileLock(`${path}.lock`, async () => {
      await claimSocket(path, false)
      await listenPrivately(this.#server, path)
    })
  }

  async #greet(socket: Socket): Promise<void> {
    this.#open.set(socket, undefined)
    this.#writeTimeout.follow(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#open.delete(socket))
    const disarm = this.#context.clock.after(HELLO_TIMEOUT_MS, () => {
      this.#context.log.warn('local program disconnected: hello timed out', { listener: this.name })
      socket.destroy()
    })
    const hello = await readHello(socket)
    disarm()
    if (this.#isStopping || socket.destroyed || socket.readableEnded) return void socket.destroy()
    const { version } = this.#context.gate.info
    const profile = this.#selectProfile(hello)
    const about = { version, ...(profile === undefined ? {} : { profile }) }
    if (hello !== undefined && hello.quiet !== true) socket.write(`${JSON.stringify({ attached: about })}\n`)
    const connection = new DuplexConnection({
      channel: new LineChannel(socket, socket),
      context: this.#context,
      via: 'stdio',
      label: hello?.label,
      profile,
      directory: hello?.cwd,
      graceMs: this.#settings.graceMs,
    })
    this.#open.set(socket, connection)
    connection.start()
    void connection.closed.then(() => socket.end())
  }

  /** The listener's profile wins over the program's. */
  #selectProfile(hello: Hello | undefined): string | undefined {
    const { profile } = this.#settings
    const requested = hello?.profile
    if (profile === undefined || requested === undefined || requested === profile) return profile ?? requested
    const fields = { listener: this.name, profile, wanted: requested }
    this.#context.log.warn('program requested a different profile, using the profile of the listener', fields)
    return profile
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#writeTimeout.stop()
    const closed = new Promise<void>(done => this.#server.close(() => done()))
    const closing = [...this.#open].map(async ([socket, connection]) => {
      await connection?.end('shutdown', graceMs)
      socket.end()
      socket.destroySoon()
    })
    await Promise.all(closing)
    await closed
  }
}

function isAddressInUse(cause: unknown): boolean {
  return cause instanceof GatewayError && cause.fields.isTaken === true
}
