import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import type { Clock, ForwardedRequest, HttpServe, Log, Peer, PeerDirectory, PeerLookup } from '../../api/index.ts'
import { getErrorMessage } from '../../errors/errors.ts'
import { HEADER } from '../../protocol/methods.ts'
import { readRequestSessionId, parseSessionReplica } from '../../protocol/replica-ids.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { readClientCertificate, setCertificate } from './http-request.ts'
import { createRefusal, sendRefusal } from './response.ts'
import type { Refusal } from './http-request.ts'

/** Authenticates a peer's request. Clients cannot reach the port that accepts it. */
const VOUCHER_HEADER = 'x-tapgate-handed'
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', VOUCHER_HEADER],
])
const CONNECT_MS = 1000
/** The kernel detects a dead machine after about 15 s. */
const KEEP_ALIVE_MS = 5000
const MAX_FREE_SOCKETS = 64

const NOT_FOUND = createRefusal(
  404,
  'Session not found: its replica is gone; call initialize again',
  RPC.legacyNoSession,
)
const OWNER_DIED = createRefusal(502, 'The process that owns the session has exited', RPC.internal)
const INVALID = createRefusal(400, 'Bad request: path or headers cannot be forwarded')

interface PeerProxyDeps {
  readonly listener: string
  readonly neighbours: PeerDirectory
  readonly clock: Clock
  readonly log: Log
  /** Serves a request locally. */
  readonly serve: HttpServe
}

interface ForwardedExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body?: Buffer
}

/** Reverse proxy to the process that owns a session, parked call or task. The owner authenticates the caller. */
export class PeerProxy {
  readonly #deps: PeerProxyDeps
  readonly #agents: { readonly http: Agent; readonly https: Agent }
  /** Responses that stream from peers. */
  readonly #streams = new Set<ServerResponse>()
  #isStopping = false

  constructor(deps: PeerProxyDeps) {
    this.#deps = deps
    const options = { keepAlive: true, maxFreeSockets: MAX_FREE_SOCKETS }
    const [http, https] = [process.getBuiltinModule('node:http'), process.getBuiltinModule('node:https')]
    this.#agents = { http: new http.Agent(options), https: new https.Agent(options) }
  }

  /** Forwards a request if a peer may own its session; else returns false. */
  forwardToOwner(request: IncomingMessage, response: ServerResponse): boolean {
    const id = readRequestSessionId(parseSessionId(request.rawHeaders), request.url ?? '')
    const replicaId = parseSessionReplica(id)
    if (replicaId === undefined) return false
    const lookup = this.#deps.neighbours.findPeer(replicaId, id)
    if (lookup === 'here') return false
    request.on('error', ignore)
    response.on('error', ignore)
    void this.#forwardFound(lookup, { request, response })
    return true
  }

  async #forwardFound(lookup: PeerLookup | Promise<PeerLookup>, exchange: ForwardedExchange): Promise<void> {
    const peer = await lookup
    if (peer === 'here') return this.#deps.serve(exchange.request, exchange.response)
    if ('status' in peer) return refuseForwarded(peer, exchange)
    if (!(await this.#forward(peer, exchange))) refuseForwarded(NOT_FOUND, exchange)
  }

  /**
   * Forwards a request with its body to the process that `replicaId` names; false if that is this process, or
   * unreachable.
   */
  async forwardBody(replicaId: string, exchange: Required<ForwardedExchange>): Promise<boolean> {
    const peer = await this.#deps.neighbours.findPeer(replicaId)
    if (peer === 'here') return false
    if (!('status' in peer)) return this.#forward(peer, exchange)
    refuseForwarded(peer, exchange)
    return true
  }

  /** Ends streams from peers so that clients reconnect. Open requests continue. */
  endStreams(): void {
    this.#isStopping = true
    for (const stream of this.#streams) stream.end()
  }

  stop(): void {
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }

  /** Resolves with false if the peer was unreachable and nothing was sent. */
  #forward(to: Peer, exchange: ForwardedExchange): Promise<boolean> {
    const { request, response, body } = exchange
    if (response.destroyed) return Promise.resolve(true)
    let outgoing: ClientRequest
    try {
      outgoing = this.#openRequest(to, request)
    } catch {
      refuseForwarded(INVALID, exchange)
      return Promise.resolve(true)
    }
    return new Promise(resolve => {
      let wasSent = false
      this.#onConnected(outgoing, to, () => {
        wasSent = true
        if (body === undefined) request.pipe(outgoing)
        else outgoing.end(body)
      })
      outgoing.on('response', answer => this.#pipeAnswer(answer, { request, response }, outgoing))
      outgoing.on('error', error => {
        if (!wasSent) this.#deps.log.warn('cannot reach replica', { ...to.address, why: getErrorMessage(error) })
        else if (!response.headersSent) refuseForwarded(OWNER_DIED, exchange)
        if (wasSent) request.unpipe(outgoing).resume()
        resolve(wasSent || response.destroyed)
      })
      response.on('close', () => {
        outgoing.destroy()
        resolve(true)
      })
    })
  }

  #openRequest(to: Peer, request: IncomingMessage): ClientRequest {
    const { method, url, socket, rawHeaders } = request
    const handed: ForwardedRequest = {
      listener: this.#deps.listener,
      remoteAddress: socket.remoteAddress,
      certificate: readClientCertificate(socket),
    }
    const { 'transfer-encoding': encoding } = request.headers
    const framing = encoding === undefined ? [] : ['transfer-encoding', 'chunked']
    const headers = [...removeHopHeaders(rawHeaders), ...framing, VOUCHER_HEADER, to.signForwarded(request, handed)]
    const options = { ...to.address, method, path: url, headers, signal: to.deathSignal }
    return to.tls === undefined
      ? process.getBuiltinModule('node:http').request({ ...options, agent: this.#agents.http })
      : process.getBuiltinModule('node:https').request({ ...to.tls, ...options, agent: this.#agents.https })
  }

  /** Sends nothing until connected, so that an unsent request can be served locally. */
  #onConnected(outgoing: ClientRequest, to: Peer, connected: () => void): void {
    outgoing.on('socket', socket => {
      if (!socket.connecting && outgoing.reusedSocket) return connected()
      const stopTimer = this.#deps.clock.after(CONNECT_MS, () => outgoing.destroy(new Error('connection timed out')))
      outgoing.once('close', stopTimer)
      socket.once(to.tls === undefined ? 'connect' : 'secureConnect', () => {
        stopTimer()
        socket.setKeepAlive(true, KEEP_ALIVE_MS)
        connected()
      })
    })
  }

  #pipeAnswer(answer: IncomingMessage, { request, response }: ForwardedExchange, outgoing: ClientRequest): void {
    if (response.destroyed) return
    response.writeHead(answer.statusCode ?? 502, removeHopHeaders(answer.rawHeaders))
    if (answer.headers['content-length'] === undefined) response.flushHeaders()
    if (request.method === 'GET') this.#addStream(response)
    pipeline(answer, response, error => {
      if (error !== null && error !== undefined) response.destroy()
      // The answer may precede the end of the request; discard the rest.
      if (!request.readableEnded) {
        request.unpipe(outgoing).resume()
        outgoing.destroy()
      }
    })
  }

  #addStream(stream: ServerResponse): void {
    this.#streams.add(stream)
    stream.on('close', () => this.#streams.delete(stream))
    if (this.#isStopping) stream.end()
  }
}

/** Gives a forwarded request its client's address and certificate. */
export function impersonateClient({ socket }: IncomingMessage, { remoteAddress, certificate }: ForwardedRequest): void {
  if (socket.remoteAddress !== remoteAddress)
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress, configurable: true })
  setCertificate(socket, certificate)
}

/** Session id from the headers. The owner refuses duplicates, so the first one is enough. */
function parseSessionId(lines: readonly string[]): string | undefined {
  for (let at = 0; at + 1 < lines.length; at += 2) if (lines[at]?.toLowerCase() === HEADER.session) return lines[at + 1]
  return undefined
}

function removeHopHeaders(lines: readonly string[]): string[] {
  const retained: string[] = []
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const name = lines[at] as string
    if (!HOP_BY_HOP.has(name.toLowerCase())) retained.push(name, lines[at + 1] as string)
  }
  return retained
}

function refuseForwarded(refusal: Refusal, { request, response }: ForwardedExchange): void {
  request.resume()
  if (response.destroyed) return
  if (response.headersSent) response.destroy()
  else sendRefusal(response, refusal)
}

// The `close` event handles disconnects.
function ignore(): void {}
