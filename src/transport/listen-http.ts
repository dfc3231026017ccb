import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Config, Listener, ListenerContext } from '../core/ports.ts'
import { gatewayError, reasonOf } from '../errors.ts'
import type { Plugin } from '../plugin.ts'
import type { HttpEdge } from './http/edge.ts'
import { serveRequest } from './http/serve-request.ts'
import { httpSettings, inUrl, type HttpListenerSpec } from './http/settings.ts'
import { LegacySessions } from './legacy-sessions.ts'
import { SseStreams } from './sse-write.ts'
import { within } from './within.ts'

/** Streamable HTTP: both eras on one endpoint, and the probes beside it. */
export const listenHttp: Plugin = {
  name: 'listen-http',
  claims: { always: true },
  setup({ hooks, config }) {
    hooks.createListener
      .for('http')
      .tap((spec, context) => new HttpListener(spec as HttpListenerSpec, context, config))
  },
}

const HEADERS_MS = 10_000
const BODY_MS = 30_000
const KEEP_ALIVE_MS = 30_000
/** More than the guard lets pass, so that it sees what is too many. */
const MAX_HEADERS = 128

class HttpListener implements Listener {
  readonly name: string
  readonly type = 'http'
  readonly #edge: HttpEdge
  readonly #server: Server
  /** Every connection, and the response that is being written on it. */
  readonly #connections = new Map<Socket, ServerResponse | undefined>()
  #url: string | undefined
  #stopped: Promise<void> | undefined

  constructor(spec: HttpListenerSpec, context: ListenerContext, config: Config) {
    const { name, gate, log, clock } = context
    const settings = httpSettings(name, spec, config)
    const sessions = new LegacySessions({ gate, clock, max: settings.maxSessions, idleMs: settings.idleMs })
    const streams = new SseStreams(clock)
    this.name = name
    this.#edge = {
      name,
      gate,
      log,
      clock,
      settings,
      sessions,
      streams,
      posts: new Set(),
      conversations: 0,
      isStopping: false,
    }
    this.#server = this.#createServer()
  }

  get url(): string | undefined {
    return this.#url
  }

  #createServer(): Server {
    const options = {
      headersTimeout: HEADERS_MS,
      requestTimeout: BODY_MS,
      connectionsCheckingInterval: 1000,
      keepAliveTimeout: KEEP_ALIVE_MS,
    }
    const server = createServer(options, (request, response) => {
      this.#follow(request.socket, response)
      void serveRequest(this.#edge, request, response)
    })
    server.maxConnections = this.#edge.settings.maxConnections
    server.maxHeadersCount = MAX_HEADERS
    server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, undefined)
      socket.on('close', () => this.#connections.delete(socket))
    })
    return server
  }

  /** Notes that a connection is busy, so that a stop ends those that are not. */
  #follow(socket: Socket, response: ServerResponse): void {
    if (this.#connections.has(socket)) this.#connections.set(socket, response)
    response.on('close', () => {
      if (this.#connections.get(socket) !== response) return
      this.#connections.set(socket, undefined)
      if (this.#edge.isStopping) socket.destroySoon()
    })
  }

  async start(): Promise<void> {
    const { host, port } = this.#edge.settings
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', cause => reject(this.#cannotListen(cause)))
      this.#server.listen(port, host, resolve)
    })
    this.#server.on('error', error =>
      this.#edge.log.error('the HTTP server failed', { cause: reasonOf(error) }),
    )
    const { port: bound } = this.#server.address() as AddressInfo
    this.#url = `http://${inUrl(host)}:${bound}${this.#edge.settings.path}`
  }

  #cannotListen(cause: Error): Error {
    const { host, port } = this.#edge.settings
    const why = WHY[(cause as NodeJS.ErrnoException).code ?? ''] ?? cause.message
    return gatewayError('GW_LISTEN', { listener: this.name, address: `${inUrl(host)}:${port}`, why, cause })
  }

  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#stop(graceMs)
    return this.#stopped
  }

  async #stop(graceMs: number): Promise<void> {
    const edge = this.#edge
    edge.isStopping = true
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    for (const [socket, response] of this.#connections) if (response === undefined) socket.destroySoon()
    edge.sessions.endStreams()
    for (const post of edge.posts) if (post.isListen) post.cancel('shutdown')
    if (!(await within(edge.clock, graceMs, closed))) {
      for (const post of edge.posts) post.cancel('shutdown')
      this.#server.closeAllConnections()
    }
    edge.sessions.endAll('shutdown')
    edge.streams.stop()
  }
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'the system does not permit it',
  ENOTFOUND: 'the name has no address',
}
