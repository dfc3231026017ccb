import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import {
  type BesideOthers,
  BoundedMap,
  type Handed,
  type Log,
  reasonOf,
  type Refusal,
  RPC,
} from '../../src/plugin.ts'
import { addressOf } from './address.ts'
import { clusterError } from './errors.ts'
import type { ReplicaTls } from './tls.ts'
import type { Problem, Vouchers } from './vouchers.ts'

const HANDED = 'x-tapgate-handed'
const SESSION = 'mcp-session-id'
const MAX_HEADER_BYTES = 32 * 1024
const MAX_HEADERS = 130
const HEADERS_MS = 10_000
const KEEP_ALIVE_MS = 120_000
/** Pause between two looks for connections that have not said in time what they want. */
const CHECK_MS = 5000
const WARN_MS = 10_000
/** Time for which a clock that is off is shown to the owner. */
const CLOCK_SHOWN_MS = 120_000
/** Connections from which nothing has come that a replica has signed. */
const MOST_UNPROVEN = 512

/** Place of a conversation whose request was handed on to this replica. */
export type Arrived = 'here' | 'elsewhere' | Refusal

/** Facts that decide what may enter. */
export interface EntranceContext {
  readonly vouchers: Vouchers
  readonly log: Log
  readonly listeners: ReadonlyMap<string, BesideOthers>
  readonly tls: ReplicaTls | undefined
  /** Host at which a replica takes what is handed on; undefined where no such replica lives. */
  hostOf(id: string): Promise<string | undefined>
  /** True for the ids that this replica has, or had. */
  isMine(id: string): boolean
  /** Tells if a conversation is here, or with another replica by now. */
  arrived(id: string, listener: BesideOthers): Arrived | Promise<Arrived>
}

/** Place where other replicas hand on what belongs to this one. Clients are to have no way to it. */
export class Entrance {
  taken = 0
  refused = 0
  readonly #context: EntranceContext
  readonly #server: Server | SecureServer
  #warnedAt = -Infinity
  #clockSeen: { readonly offMs: number; readonly at: number } | undefined
  readonly #unproven = new Unproven(MOST_UNPROVEN)

  constructor(context: EntranceContext) {
    this.#context = context
    const options = {
      requestTimeout: 0,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    }
    const take = (request: IncomingMessage, response: ServerResponse): void => this.#take(request, response)
    const { tls } = context
    this.#server =
      tls === undefined
        ? process.getBuiltinModule('node:http').createServer(options, take)
        : this.#secure(
            process.getBuiltinModule('node:https').createServer({ ...options, ...tls.server }, take),
            tls,
          )
    this.#server.maxHeadersCount = MAX_HEADERS
    this.#server.on('connection', (socket: Socket) => this.#unproven.add(socket))
    this.#server.unref()
  }

  /** Milliseconds that the clock of another replica seems to be ahead, where that was too much of late; negative where it is behind. */
  get clockOff(): number | undefined {
    const { offMs, at = -Infinity } = this.#clockSeen ?? {}
    return Date.now() - at < CLOCK_SHOWN_MS ? offMs : undefined
  }

  /** Opens it. Resolves with the address at which it is found. */
  async start({ host, port }: { host: string; port: number }): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause: Error) =>
        reject(
          clusterError('GW_CLUSTER_LISTEN', { address: addressOf(host, port), why: cause.message, cause }),
        ),
      )
      this.#server.listen({ host, port, exclusive: true }, resolve)
    })
    return addressOf(host, (this.#server.address() as AddressInfo).port)
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #secure(server: SecureServer, tls: ReplicaTls): SecureServer {
    tls.onRenewed(pem => {
      server.setSecureContext(pem)
      this.#context.log.info('shows a renewed certificate to other replicas')
    })
    server.on('tlsClientError', (error: Error, { remoteAddress }) => {
      this.#note(`its TLS is not that of a replica: ${reasonOf(error)}`, remoteAddress)
    })
    return server
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const voucher = takeFrom(request.rawHeaders, HANDED)
    const read = this.#context.vouchers.read(voucher ?? '', request, id => this.#context.isMine(id))
    if ('problem' in read) return this.#refuseVoucher(request, response, read)
    this.#unproven.proved(request.socket)
    const { handed } = read
    const listener = this.#context.listeners.get(handed.listener)
    if (listener === undefined)
      return this.#refuse(request, response, 'there is no listener of that name', 421)
    const { tls } = this.#context
    const where = tls === undefined ? this.#whereIs(request, listener) : undefined
    if (where === 'here') return this.#serve(listener, request, response, handed)
    response.on('error', ignore)
    this.#prove(request, read.from, tls)
      .then(isProved => (isProved ? (where ?? this.#whereIs(request, listener)) : undefined))
      .then(found => {
        if (found === undefined)
          return this.#refuse(
            request,
            response,
            'its certificate is not that of the replica that hands it on',
          )
        if (found === 'elsewhere') return answer(request, response, 421, 'not here')
        if (found !== 'here') return answer(request, response, found.status, found.error.message)
        this.#serve(listener, request, response, handed)
      })
      .catch(() => answer(request, response, 503, 'it cannot be told now whose the session is'))
  }

  #serve(listener: BesideOthers, request: IncomingMessage, response: ServerResponse, handed: Handed): void {
    this.taken++
    listener.serve(request, response, handed)
  }

  #prove({ socket }: IncomingMessage, from: string, tls: ReplicaTls | undefined): Promise<boolean> {
    return tls === undefined ? Promise.resolve(true) : tls.isOf(socket, from, this.#context.hostOf)
  }

  #whereIs(
    { headers, url = '' }: IncomingMessage,
    listener: BesideOthers,
  ): ReturnType<EntranceContext['arrived']> {
    const id = headers[SESSION]
    return typeof id !== 'string' || url.includes('sessionId=') ? 'here' : this.#context.arrived(id, listener)
  }

  #refuseVoucher(request: IncomingMessage, response: ServerResponse, { problem, offMs }: Problem): void {
    // A replica has signed it then, and its client can do nothing about clocks.
    if (offMs !== undefined) this.#clockSeen = { offMs, at: Date.now() }
    this.#refuse(request, response, problem, offMs === undefined ? 403 : 503)
  }

  #refuse(request: IncomingMessage, response: ServerResponse, why: string, status = 403): void {
    this.#note(why, request.socket.remoteAddress)
    answer(request, response, status, why)
  }

  #note(why: string, from: string | undefined): void {
    this.refused++
    const now = Date.now()
    if (now - this.#warnedAt <= WARN_MS) return
    this.#warnedAt = now
    this.#context.log.warn('refuses what was handed on', { why, from, refused: this.refused })
  }
}

/** Takes a header out of raw ones. */
function takeFrom(lines: string[], wanted: string): string | undefined {
  const at = lines.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === wanted)
  return at < 0 ? undefined : lines.splice(at, 2)[1]
}

// Whoever went away is seen by the `close` that follows.
function ignore(): void {}

/** Connections whose other end may be anybody: so many at a time, and the oldest gives way to the next one. */
class Unproven {
  readonly #sockets: BoundedMap<string, Socket>

  constructor(max: number) {
    this.#sockets = new BoundedMap<string, Socket>({ max, onForget: (_name, socket) => socket.destroy() })
  }

  add(socket: Socket): void {
    const name = endOf(socket)
    if (name === undefined) return
    this.#sockets.set(name, socket)
    socket.once('close', () => {
      if (this.#sockets.get(name) === socket) this.#sockets.delete(name)
    })
  }

  proved(socket: Socket): void {
    this.#sockets.delete(endOf(socket) ?? '')
  }
}

/** The other end, the same for a TCP connection and for the TLS in it; undefined for a socket that only this user reaches. */
function endOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remotePort === undefined ? undefined : `${String(remoteAddress)} ${remotePort}`
}

function answer(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  request.on('error', ignore).resume()
  response.on('error', ignore)
  if (response.destroyed) return
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: RPC.internal, message } })
  const own =
    status === 421 ? { [HANDED]: 'no' } : status === 503 ? { 'retry-after': '1' } : { connection: 'close' }
  response.writeHead(status, { 'content-type': 'application/json', ...own })
  response.end(body)
}
