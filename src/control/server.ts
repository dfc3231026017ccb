import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Log, Notification } from '../api/index.ts'
import { GatewayError, gatewayError, reasonOf } from '../errors/errors.ts'
import { isObject, type JsonObject } from '../protocol/json/json.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import {
  MAX_REQUEST,
  STREAM,
  VERSION,
  statusOf,
  verbFor,
  wireError,
  type ControlHost,
  type RunVerb,
} from './protocol.ts'
import { claimSocket, listenPrivately } from '../transport/unix-sockets.ts'
import { sweep } from './sockets.ts'
import { platformOf } from '../util/platform.ts'

/** Connections at once; the next one is closed. */
const MAX_CONNECTIONS = 64
/** Requests under way at once; the next one is refused. */
const MAX_RUNNING = 256
/** Lines of a stream are left out while this many bytes wait for its reader. */
const MAX_WAITING = 1024 * 1024
const ARRIVAL_MS = 5000
const UNREAD_MS = 30_000
/** Time for what is under way when the gateway ends. */
const FAREWELL_MS = 500

/** An open control socket. */
export interface Control {
  readonly socket: string
  /** Ends every request and removes the socket. */
  close(): Promise<void>
}

/**
 * Opens a control socket that only this user can connect to: HTTP, with the verbs as paths. One that a dead gateway left
 * is replaced. With `isPrivate` its directory must be closed to others, as ours is.
 * @throws GatewayError GW_CONTROL
 */
export async function openControl(socket: string, host: ControlHost, isPrivate: boolean): Promise<Control> {
  if (!platformOf().hasPipes) await prepare(socket, isPrivate)
  const running = new Set<AbortController>()
  const server = serverFor(host, running)
  await listenPrivately(server, socket)
  server.unref()
  server.on('error', error => host.log.error('the control socket failed', { cause: reasonOf(error) }))
  return { socket, close: () => close(server, running) }
}

async function prepare(socket: string, isPrivate: boolean): Promise<void> {
  await claimSocket(socket, isPrivate)
  if (isPrivate) await sweep(socket)
}

function serverFor(host: ControlHost, running: Set<AbortController>): Server {
  const { arrivalMs = ARRIVAL_MS } = host
  const limits = {
    headersTimeout: arrivalMs,
    requestTimeout: arrivalMs,
    connectionsCheckingInterval: Math.min(arrivalMs, 1000),
  }
  const server = createServer(limits, (request, response) => {
    if (running.size >= MAX_RUNNING)
      return fail(request, response, new LineWriter(response, host), gatewayError('GW_OVERLOADED'), host.log)
    const abort = new AbortController()
    running.add(abort)
    response.once('close', () => abort.abort())
    void answer(request, response, host, abort.signal).finally(() => running.delete(abort))
  })
  server.maxConnections = MAX_CONNECTIONS
  server.on('clientError', answerGarbage)
  return server
}

async function close(server: Server, running: ReadonlySet<AbortController>): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  for (const abort of running) abort.abort()
  const late = setTimeout(() => server.closeAllConnections(), FAREWELL_MS)
  const idle = setInterval(() => server.closeIdleConnections(), FAREWELL_MS / 10)
  await closed
  clearTimeout(late)
  clearInterval(idle)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  host: ControlHost,
  signal: AbortSignal,
): Promise<void> {
  const lines = new LineWriter(response, host)
  try {
    const found = find(request)
    if (found === undefined) return send(response, 200, host.about)
    const params = { ...found.params, ...(await readBody(request, found.verb)) }
    const onNotification = ({ params = {} }: Notification): void => lines.write(params)
    const result = await host.control(found.verb, params, { signal, onNotification })
    if (lines.isOpen) lines.end()
    else send(response, 200, result)
  } catch (thrown) {
    fail(request, response, lines, thrown, host.log)
  }
}

/** The verb that a request is for; undefined for what the gateway is. */
function find({ url = '', method = '', headers }: IncomingMessage): RunVerb | undefined {
  // Not by URL, which takes `..` for a way up: it may be the name of an upstream.
  const [path = '', query] = url.split('?', 2)
  const [version, ...segments] = segmentsOf(path)
  if (version !== VERSION) throw unknown(path)
  if (segments.length === 0) return undefined
  const found = verbFor(method, segments, new URLSearchParams(query))
  if (found === undefined) throw unknown(path)
  const { verb } = found
  if ('allow' in found)
    throw new Rejected(405, wrong(verb, `its method is ${found.allow}`), { allow: found.allow })
  // A web page that reached the socket through some relay would say where it comes from.
  if (headers.origin !== undefined) throw new Rejected(403, wrong(verb, 'browsers are not served'))
  return found
}

function segmentsOf(path: string): string[] {
  try {
    return path.split('/').slice(1).map(decodeURIComponent)
  } catch {
    throw unknown(path)
  }
}

/** An error with a status that its code alone does not have. */
class Rejected extends Error {
  readonly status: number
  readonly error: GatewayError
  readonly headers: Record<string, string>

  constructor(status: number, error: GatewayError, headers: Record<string, string> = {}) {
    super(error.message)
    this.status = status
    this.error = error
    this.headers = headers
  }
}

async function readBody(request: IncomingMessage, verb: string): Promise<JsonObject> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_REQUEST) throw gatewayError('GW_TOO_LARGE', { what: 'a request', limit: MAX_REQUEST })
    chunks.push(chunk)
  }
  if (length === 0) return {}
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (isObject(body)) return body
  } catch {
    // The same as any other text that is no object.
  }
  throw wrong(verb, 'the body must be a JSON object')
}

function wrong(verb: string, why: string): GatewayError {
  return gatewayError('GW_VERB_PARAMS', { verb, why })
}

function unknown(path: string): GatewayError {
  return gatewayError('GW_VERB_UNKNOWN', {
    verb: path,
    known: `paths begin with /${VERSION}/, such as /${VERSION}/ps`,
  })
}

function fail(
  request: IncomingMessage,
  response: ServerResponse,
  lines: LineWriter,
  thrown: unknown,
  log: Log,
): void {
  const { status, error, headers } = thrown instanceof Rejected ? thrown : rejected(thrown)
  if (error.code === 'GW_INTERNAL' && !request.destroyed)
    log.error('a control request failed', { path: request.url, code: error.code, cause: thrown })
  const body = { error: wireError(error) }
  if (lines.isOpen) return lines.end(body)
  // A body that is still on its way is not waited for.
  send(response, status, body, request.complete ? headers : { ...headers, connection: 'close' })
  request.resume()
}

function rejected(thrown: unknown): Rejected {
  const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
  return new Rejected(statusOf(error), error)
}

function send(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Record<string, string> = {},
): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(`${JSON.stringify(value)}\n`)
}

/** Writes a stream of JSON lines. A slow reader misses lines, and is sent how many; one that reads nothing is cut off. */
class LineWriter {
  isOpen = false
  readonly #response: ServerResponse
  readonly #host: ControlHost
  #missed = 0
  #cutOff: NodeJS.Timeout | undefined

  constructor(response: ServerResponse, host: ControlHost) {
    this.#response = response
    this.#host = host
  }

  write(line: object): void {
    if (!this.isOpen) this.#open()
    if (this.#response.writableLength > MAX_WAITING) {
      this.#missed++
      this.#cutOff ??= this.#cutOffSoon()
      return
    }
    this.#note()
    this.#send(line)
  }

  /** Ends the stream, with a last line where there is one. */
  end(last?: object): void {
    this.#note()
    if (last !== undefined) this.#send(last)
    this.#response.end()
  }

  #open(): void {
    this.isOpen = true
    this.#response.writeHead(200, { 'content-type': STREAM, 'cache-control': 'no-store' })
    this.#response.on('drain', () => this.#stay())
    this.#response.on('close', () => this.#stay())
  }

  #note(): void {
    if (this.#missed > 0) this.#send({ missed: this.#missed })
    this.#missed = 0
  }

  #send(line: object): void {
    this.#response.write(`${JSON.stringify(line)}\n`)
  }

  #cutOffSoon(): NodeJS.Timeout {
    const { log, unreadMs = UNREAD_MS } = this.#host
    return setTimeout(() => {
      log.warn('a reader of the control socket is cut off: it reads nothing', { afterMs: unreadMs })
      this.#response.destroy()
    }, unreadMs).unref()
  }

  #stay(): void {
    clearTimeout(this.#cutOff)
    this.#cutOff = undefined
  }
}

/** Commands before this protocol sent JSON-RPC lines; they print the message of an error for nobody. */
const TO_OLD_COMMAND = `${JSON.stringify({
  jsonrpc: '2.0',
  id: null,
  error: rpcError(RPC.invalidRequest, `the gateway is newer than this command: it serves HTTP, /${VERSION}/`),
})}\n`

function answerGarbage(error: Error & { code?: string; rawPacket?: Buffer }, connection: Duplex): void {
  if (connection.writable) {
    const isOld = error.rawPacket?.[0] === '{'.charCodeAt(0)
    const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request'
    connection.write(
      isOld ? TO_OLD_COMMAND : `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    )
  }
  // A peer that goes on sending is not waited for.
  connection.end()
  connection.resume()
  setTimeout(() => connection.destroy(), FAREWELL_MS).unref()
}
