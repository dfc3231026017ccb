import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Config, HttpServe, Listener, ListenerConfig, ListenerContext, PeerDirectory } from '../../api/index.ts'
import { getErrorMessage } from '../../errors/errors.ts'
import type { Plugin } from '../../plugin.ts'
import { WriteTimeout } from '../../net/backlog.ts'
import { settlesWithin } from '../../util/clock.ts'
import type { ListenerTls } from './tls.ts'
import { readTls, createContextOptions, createServerOptions, watchCertificates } from './tls.ts'
import { HttpContext } from './http-context.ts'
import type { PeerProxy } from './peer-proxy.ts'
import type { HttpListenerSpec, HttpSettings } from './listener-settings.ts'
import { createListenError, createHttpSettings, formatUrlHost } from './listener-settings.ts'
import { serveRequest } from './serve-request.ts'
import type { Upgrade } from './web-socket.ts'

/** Streamable HTTP for both eras, and health probes. */
export const listenHttp: Plugin = {
  name: 'listen-http',
  claims: { always: true },
  setup(api) {
    const { hooks, config } = api
    watchCertificates(api)
    const tap = (upgradeTo?: CreateUpgrade): void =>
      hooks.createListener
        .for('http')
        .tap((spec, context) => new HttpListener(spec as HttpListenerSpec, context, config, upgradeTo))
    // Load WebSocket code only if configured.
    if (!hasWebSocket(config)) return tap()
    return import('./web-socket.ts').then(({ createUpgradeHandler }) => tap(createUpgradeHandler))
  },
}

type CreateUpgrade = (httpContext: HttpContext) => Upgrade

function hasWebSocket({ listeners = {} }: Partial<Config>): boolean {
  return Object.values(listeners).some(spec => spec.type === 'http' && spec.ws !== false)
}

const HEADERS_MS = 10_000
const BODY_MS = 30_000
const KEEP_ALIVE_MS = 30_000
/** Drain time: a load balancer may still send requests. */
const LAST_REQUESTS_MS = 300
/** Time to write shutdown errors. */
const FINAL_ANSWERS_MS = 500
/** Above the guard's limit, so that the guard can answer 431. */
const MAX_HEADERS = 128

class HttpListener implements Listener {
  readonly type = 'http'
  readonly #context: HttpContext
  readonly #directory: string
  readonly #server: Server | SecureServer
  /** Open connections with each one's current response. */
  readonly #connections = new Map<Socket, ServerResponse | undefined>()
  /** Responses to requests that peers forwarded. */
  readonly #forwarded = new Set<ServerResponse>()
  readonly #authenticates: boolean
  readonly #writeTimeout: WriteTimeout
  readonly #neighbours: PeerDirectory | undefined
  #peerProxy: PeerProxy | undefined
  #onForwardedAnswered: () => void = () => undefined
  #tls: ListenerTls | undefined
  #url: string | undefined
  #stopped: Promise<void> | undefined

  constructor(spec: HttpListenerSpec, context: ListenerContext, config: Config, upgradeTo?: CreateUpgrade) {
    const { name, directory, log, clock, authenticates, peers } = context
    const settings = createHttpSettings(name, spec, config, authenticates)
    this.#authenticates = authenticates
    this.#directory = directory
    this.#tls = readTls(spec, context)
    this.#context = new HttpContext(context, settings)
    this.#writeTimeout = new WriteTimeout(clock, log, () => this.#context.settings.unreadMs)
    const upgrade = settings.ws === undefined ? undefined : upgradeTo?.(this.#context)
    this.#neighbours = peers
    this.#server = this.#createServer(upgrade, peers)
  }

  get name(): string {
    return this.#context.name
  }

  get url(): string | undefined {
    return this.#url
  }

  get bufferedBytes(): number {
    return this.#context.memory.bytes
  }

  #createServer(upgrade: Upgrade | undefined, neighbours: PeerDirectory | undefined): Server | SecureServer {
    const options = {
      headersTimeout: HEADERS_MS,
      requestTimeout: BODY_MS,
      connectionsCheckingInterval: 1000,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Some clients offer HTTP/2 with every request; ignore that. Node before 24.9 lacks this option.
      shouldUpgradeCallback: ({ headers }: IncomingMessage) =>
        upgrade !== undefined && headers.upgrade?.toLowerCase() === 'websocket',
    }
    const serve: HttpServe = (request, response) => {
      this.#trackResponse(request.socket, response)
      void serveRequest(this.#context, request, response)
    }
    const answer: HttpServe =
      neighbours === undefined
        ? serve
        : (request, response) => {
            if (this.#peerProxy?.forwardToOwner(request, response) === true)
              this.#trackResponse(request.socket, response)
            else serve(request, response)
          }
    const { gate } = this.#context
    const answerNow: HttpServe = (request, response) => {
      // Requests pipelined after the last one cannot be answered on a closing connection.
      if (request.socket.writableEnded) return
      // Close keep-alive connections while draining.
      if (gate.isDraining) response.shouldKeepAlive = false
      answer(request, response)
    }
    const server = createServer(options, answerNow, this.#tls)
    if (upgrade !== undefined)
      server.on('upgrade', (request, socket, head) => {
        this.#connections.delete(request.socket)
        upgrade(request, socket, head)
      })
    server.maxConnections = this.#context.settings.maxConnections
    server.maxHeadersCount = MAX_HEADERS
    const trackConnection = (socket: Socket): void => {
      this.#connections.set(socket, undefined)
      this.#writeTimeout.follow(socket)
      socket.on('close', () => this.#connections.delete(socket))
    }
    if (this.#tls === undefined) return server.on('connection', trackConnection)
    server.on('connection', (socket: Socket) => this.#connections.set(socket, undefined))
    server.on('secureConnection', trackConnection)
    server.on('tlsClientError', (error: Error) =>
      this.#context.log.debug('TLS handshake failed', { reason: getErrorMessage(error) }),
    )
    return server
  }

  /** Forwards requests owned by peers, and accepts theirs. */
  async #joinPeers(neighbours: PeerDirectory): Promise<void> {
    const { PeerProxy, impersonateClient } = await import('./peer-proxy.ts')
    const context = this.#context
    const { name: listener, clock, log } = context
    neighbours.registerListener(listener, (request, response, handed) => {
      impersonateClient(request, handed)
      this.#forwarded.add(response)
      response.on('close', () => {
        this.#forwarded.delete(response)
        if (this.#forwarded.size === 0) this.#onForwardedAnswered()
      })
      void serveRequest(context, request, response)
    })
    const serve: HttpServe = (request, response) => void serveRequest(context, request, response)
    const peerProxy = (this.#peerProxy = new PeerProxy({ listener, neighbours, clock, log, serve }))
    context.forward = ({ request, response }, replicaId, body) =>
      this.#forwarded.has(response)
        ? Promise.resolve(false)
        : peerProxy.forwardBody(replicaId, { request, response, body })
  }

  /** Tracks busy connections, so that stopping closes idle ones immediately. */
  #trackResponse(socket: Socket, response: ServerResponse): void {
    if (this.#connections.has(socket)) this.#connections.set(socket, response)
    response.on('close', () => {
      if (this.#connections.get(socket) !== response) return
      this.#connections.set(socket, undefined)
      if (this.#context.isStopping) socket.destroySoon()
    })
  }

  async start(): Promise<void> {
    const { host, port, reusePort } = this.#context.settings
    if (this.#neighbours !== undefined) await this.#joinPeers(this.#neighbours)
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', cause => reject(createListenError(this.name, this.#context.settings, cause)))
      this.#server.listen({ port, host, reusePort }, resolve)
    })
    this.#server.on('error', error => this.#context.log.error('HTTP server failed', { cause: getErrorMessage(error) }))
    this.#setUrl()
  }

  #setUrl(): void {
    const { host, path, publicUrl } = this.#context.settings
    const { port } = this.#server.address() as AddressInfo
    this.#url = `${this.#tls === undefined ? 'http' : 'https'}://${formatUrlHost(host)}:${port}${path}`
    this.#context.endpoint = publicUrl === undefined ? this.#url : publicUrl + path
  }

  /**
   * Applies new settings. Returns false if the server must be recreated: the address, TLS trust or authentication
   * changed.
   */
  reconfigure(spec: ListenerConfig, config: Config, authenticates: boolean): boolean {
    if (spec.type !== 'http' || this.#url === undefined || authenticates !== this.#authenticates) return false
    const httpContext = this.#context
    const next = createHttpSettings(this.name, spec, config, authenticates)
    const tls = readTls(spec, { name: this.name, directory: this.#directory })
    if (formatFixedSettings(next, tls) !== formatFixedSettings(httpContext.settings, this.#tls)) return false
    this.#renewCertificate(tls)
    httpContext.settings = next
    httpContext.quota.max = next.maxSessionsEach
    httpContext.memory.max = next.maxHeld
    httpContext.admission.max = next.maxRequests
    httpContext.connections.idleMs = next.idleMs
    this.#server.maxConnections = next.maxConnections
    this.#setUrl()
    return true
  }

  /** Uses the new certificate for new connections. */
  #renewCertificate(tls: ListenerTls | undefined): void {
    if (tls === undefined || !('setSecureContext' in this.#server)) return
    const isSame = tls.cert === this.#tls?.cert && tls.key === this.#tls.key
    this.#tls = tls
    if (isSame) return
    this.#server.setSecureContext(createContextOptions(tls))
    this.#context.log.info('certificate renewed')
  }

  recheckCallers(): void {
    this.#context.openStreams.recheck()
  }

  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#stop(graceMs)
    return this.#stopped
  }

  /** Stops accepting; `shut` resolves when all connections are closed. */
  #closeServer(): { readonly shut: Promise<void> } {
    return { shut: new Promise<void>(resolve => this.#server.close(() => resolve())) }
  }

  /** Serves pending connections and their requests before it stops accepting. */
  async #closeServerAfterPending(): Promise<{ readonly shut: Promise<void> }> {
    await new Promise(resolve => setImmediate(resolve))
    const { shut } = this.#closeServer()
    await settlesWithin(this.#context.clock, LAST_REQUESTS_MS, shut)
    return { shut }
  }

  async #stop(graceMs: number): Promise<void> {
    const httpContext = this.#context
    const { shut } = httpContext.gate.isDraining ? await this.#closeServerAfterPending() : this.#closeServer()
    httpContext.isStopping = true
    const closed = shut.then(() => this.#waitForForwarded())
    for (const [socket, response] of this.#connections) if (response === undefined) socket.destroySoon()
    httpContext.sessions.stop()
    this.#peerProxy?.endStreams()
    const conversations = httpContext.connections.stop(graceMs)
    for (const request of httpContext.running.values()) if (request.isListen) request.cancel('shutdown')
    if (!(await settlesWithin(httpContext.clock, graceMs, closed))) {
      await this.#endOpenCalls()
      this.#server.closeAllConnections()
      for (const response of this.#forwarded) response.destroy()
    }
    await conversations
    httpContext.sessions.endAll('shutdown')
    httpContext.streams.stop()
    this.#peerProxy?.stop()
    this.#writeTimeout.stop()
    httpContext.openStreams.stop()
  }

  /** Answers open calls with a shutdown error instead of closing their connections. */
  async #endOpenCalls(): Promise<void> {
    const { clock, running, sessions } = this.#context
    const open = [...running.values(), ...sessions.openRequests()]
    for (const request of open) request.shutDown()
    await settlesWithin(clock, FINAL_ANSWERS_MS, Promise.allSettled(open.map(request => request.answered)))
    // Answers are written in the next event loop turn.
    await new Promise(resolve => setImmediate(resolve))
    const unread = [...this.#connections.keys()].filter(socket => socket.writableLength > 0)
    const read = unread.map(socket => new Promise(resolve => socket.once('drain', resolve).once('close', resolve)))
    if (read.length > 0) await settlesWithin(clock, FINAL_ANSWERS_MS, Promise.all(read))
  }

  #waitForForwarded(): Promise<void> | undefined {
    if (this.#forwarded.size === 0) return undefined
    return new Promise(resolve => (this.#onForwardedAnswered = resolve))
  }
}

/**
 * Settings that require a new server. A change of client CA counts, as open connections were verified by the old one.
 */
function formatFixedSettings(
  { host, port, reusePort, ws, maxBody }: HttpSettings,
  tls: ListenerTls | undefined,
): string {
  const trust = tls === undefined ? 'plain' : [tls.clientCa, tls.requiresClientCert]
  return JSON.stringify([host, port, reusePort, ws === undefined ? undefined : maxBody, trust])
}

/** Loads Node's HTTP lazily and without `import`, which would evaluate `WebSocket` and load fetch (25 ms, 12 MB). */
function createServer(options: ServerOptions, answer: HttpServe, tls: ListenerTls | undefined): Server | SecureServer {
  return tls === undefined
    ? process.getBuiltinModule('node:http').createServer(options, answer)
    : process.getBuiltinModule('node:https').createServer({ ...options, ...createServerOptions(tls) }, answer)
}
