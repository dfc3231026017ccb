import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Log } from '../../src/plugin.ts'
import { RPC, getErrorMessage } from '../../src/plugin.ts'
import type { Address } from './host-port.ts'
import { formatAddress } from './host-port.ts'
import { clusterError } from './errors.ts'
import type { ReplicaTls } from './tls.ts'
import type { ServeForwarded, Vouchers } from './vouchers.ts'

const HANDED = 'x-tapgate-handed'
const MAX_HEADER_BYTES = 32 * 1024
const MAX_HEADERS = 130
const HEADERS_MS = 10_000
const KEEP_ALIVE_MS = 120_000
/** Interval between checks for connections that sent no request in time. */
const CHECK_MS = 5000
const WARN_MS = 10_000
const MAX_CONNECTIONS = 4096

interface PeerServerDeps {
  readonly vouchers: Vouchers
  readonly log: Log
  readonly listeners: ReadonlyMap<string, ServeForwarded>
  readonly tls: ReplicaTls | undefined
  /** Replica id. */
  readonly id: string
}

/** Accepts requests forwarded by other replicas. Must not be reachable for clients. */
export class PeerServer {
  accepted = 0
  refused = 0
  readonly #deps: PeerServerDeps
  readonly #server: Server | SecureServer
  #warnedAt = -Infinity

  constructor(deps: PeerServerDeps) {
    this.#deps = deps
    const options = {
      requestTimeout: 0,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    }
    const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
      this.#handlePeerRequest(request, response)
    const { tls } = deps
    this.#server =
      tls === undefined
        ? process.getBuiltinModule('node:http').createServer(options, onRequest)
        : this.#secure(
            process.getBuiltinModule('node:https').createServer({ ...options, ...tls.server }, onRequest),
            tls,
          )
    this.#server.maxHeadersCount = MAX_HEADERS
    this.#server.maxConnections = MAX_CONNECTIONS
    this.#server.unref()
  }

  /** Starts listening and resolves with the bound address. */
  async start({ host, port }: Address): Promise<Address> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause: Error) => {
        const address = formatAddress({ host, port })
        reject(clusterError('GW_CLUSTER_LISTEN', { address, why: cause.message, cause }))
      })
      this.#server.listen({ host, port, exclusive: true }, resolve)
    })
    return { host, port: (this.#server.address() as AddressInfo).port }
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #secure(server: SecureServer, tls: ReplicaTls): SecureServer {
    tls.onRenewed(pem => {
      server.setSecureContext(pem)
      this.#deps.log.info('using a renewed certificate for other replicas')
    })
    server.on('tlsClientError', (error: Error, { remoteAddress }) => {
      this.#warnOnce(`invalid replica TLS connection: ${getErrorMessage(error)}`, remoteAddress)
    })
    return server
  }

  #handlePeerRequest(request: IncomingMessage, response: ServerResponse): void {
    const voucher = takeHeader(request.rawHeaders, HANDED)
    const read = this.#deps.vouchers.redeem(voucher ?? '', request, this.#deps.id)
    if ('problem' in read) return this.#refuse(request, response, read.problem, read.isRetryable === true ? 503 : 403)
    const serve = this.#deps.listeners.get(read.listener)
    if (serve === undefined) return this.#refuse(request, response, 'unknown listener', 404)
    this.accepted++
    serve(request, response, read)
  }

  #refuse(request: IncomingMessage, response: ServerResponse, message: string, status: number): void {
    this.#warnOnce(message, request.socket.remoteAddress)
    sendAnswer(request, response, status, message)
  }

  #warnOnce(message: string, from: string | undefined): void {
    this.refused++
    const now = Date.now()
    if (now - this.#warnedAt <= WARN_MS) return
    this.#warnedAt = now
    this.#deps.log.warn('refused forwarded request', { why: message, from, refused: this.refused })
  }
}

/** Removes a header from raw header lines and returns it. */
function takeHeader(lines: string[], headerName: string): string | undefined {
  const at = lines.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === headerName)
  return at < 0 ? undefined : lines.splice(at, 2)[1]
}

// A closed connection emits `close` afterwards.
function ignore(): void {}

function sendAnswer(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  request.on('error', ignore).resume()
  response.on('error', ignore)
  if (response.destroyed) return
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: RPC.internal, message } })
  const own = status === 503 ? { 'retry-after': '1' } : { connection: 'close' }
  response.writeHead(status, { 'content-type': 'application/json', ...own })
  response.end(body)
}
