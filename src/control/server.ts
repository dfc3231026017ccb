import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Log, Notification } from '../api/index.ts'
import { GatewayError, gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { ControlDeps } from './protocol.ts'
import { ABOUT, MAX_REQUEST, PREFIX, STREAM, getErrorStatus, serializeError } from './protocol.ts'
import { claimSocket, listenPrivately } from '../net/unix-sockets.ts'
import { removeStaleSockets } from './sockets.ts'
import { getPlatform } from '../util/platform.ts'

/** Connection limit; further ones are closed. */
const MAX_CONNECTIONS = 64
/** Request limit; further ones are refused. */
const MAX_RUNNING = 256
/** Stream lines are dropped above this many unread bytes. */
const MAX_WAITING = 1024 * 1024
const ARRIVAL_MS = 5000
/** Drain time at close. */
const DRAIN_MS = 500

export interface Control {
  readonly socket: string
  /** Aborts all requests and removes the socket. */
  close(): Promise<void>
}

/**
 * Opens a control socket for this user: HTTP with `POST /v1/<verb>` for each verb. Replaces a stale socket.
 * `isPrivate`
 * requires that other users cannot access the directory.
 * @throws GatewayError GW_CONTROL
 */
export async function openControl(socket: string, host: ControlDeps, isPrivate: boolean): Promise<Control> {
  if (!getPlatform().hasPipes) await prepareSocket(socket, isPrivate)
  const running = new Set<AbortController>()
  const server = createControlServer(host, running)
  await listenPrivately(server, socket)
  server.unref()
  server.on('error', error => host.log.error('control socket failed', { cause: getErrorMessage(error) }))
  return { socket, close: () => closeServer(server, running) }
}

async function prepareSocket(socket: string, isPrivate: boolean): Promise<void> {
  await claimSocket(socket, isPrivate)
  if (isPrivate) await removeStaleSockets(socket)
}

function createControlServer(host: ControlDeps, running: Set<AbortController>): Server {
  const { arrivalMs = ARRIVAL_MS } = host
  const limits = {
    headersTimeout: arrivalMs,
    requestTimeout: arrivalMs,
    connectionsCheckingInterval: Math.min(arrivalMs, 1000),
  }
  const server = createServer(limits, (request, response) => {
    if (running.size >= MAX_RUNNING)
      return sendFailure(request, response, new JsonLinesWriter(response), gatewayError('GW_OVERLOADED'), host.log)
    const abort = new AbortController()
    running.add(abort)
    response.once('close', () => abort.abort())
    void handleControlRequest(request, response, host, abort.signal).finally(() => running.delete(abort))
  })
  server.maxConnections = MAX_CONNECTIONS
  return server
}

async function closeServer(server: Server, running: ReadonlySet<AbortController>): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  for (const abort of running) abort.abort()
  const forceTimer = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearTimeout(forceTimer)
}

async function handleControlRequest(
  request: IncomingMessage,
  response: ServerResponse,
  host: ControlDeps,
  signal: AbortSignal,
): Promise<void> {
  const lines = new JsonLinesWriter(response)
  try {
    const verb = readVerb(request)
    const params = await readBody(request, verb)
    if (verb === ABOUT) return sendJson(response, 200, host.about)
    const onNotification = ({ params = {} }: Notification): void => lines.write(params)
    const result = await host.control(verb, params, { signal, onNotification })
    if (lines.isOpen) lines.end()
    else sendJson(response, 200, result)
  } catch (thrown) {
    sendFailure(request, response, lines, thrown, host.log)
  }
}

function readVerb({ url = '', method, headers }: IncomingMessage): string {
  const verb = url.slice(PREFIX.length)
  if (!url.startsWith(PREFIX) || verb === '')
    throw gatewayError('GW_VERB_UNKNOWN', {
      verb: url,
      known: `use ${PREFIX}<verb>, such as ${PREFIX}ps`,
    })
  if (method !== 'POST') throw createParamsError(verb, 'method must be POST')
  // Browsers send Origin, even through a relay.
  if (headers.origin !== undefined) throw createParamsError(verb, 'browsers are not allowed')
  return verb
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
    // Handled like text that is not an object.
  }
  throw createParamsError(verb, 'body must be a JSON object')
}

function createParamsError(verb: string, reason: string): GatewayError {
  return gatewayError('GW_VERB_PARAMS', { verb, why: reason })
}

function sendFailure(
  request: IncomingMessage,
  response: ServerResponse,
  lines: JsonLinesWriter,
  thrown: unknown,
  log: Log,
): void {
  const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
  if (error.code === 'GW_INTERNAL' && !request.destroyed)
    log.error('control request failed', { path: request.url, code: error.code, cause: thrown })
  const body = { error: serializeError(error) }
  if (lines.isOpen) return lines.end(body)
  // Do not wait for an incomplete body.
  if (!request.complete) response.setHeader('connection', 'close')
  sendJson(response, getErrorStatus(error), body)
  request.resume()
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(`${JSON.stringify(value)}\n`)
}

/** Writes JSON lines. Slow readers miss lines and receive their count. */
class JsonLinesWriter {
  isOpen = false
  readonly #response: ServerResponse
  #missed = 0

  constructor(response: ServerResponse) {
    this.#response = response
  }

  write(line: object): void {
    if (!this.isOpen) this.#response.writeHead(200, { 'content-type': STREAM, 'cache-control': 'no-store' })
    this.isOpen = true
    if (this.#response.writableLength > MAX_WAITING) this.#missed++
    else this.#send(line)
  }

  end(last?: object): void {
    if (last !== undefined || this.#missed > 0) this.#send(last)
    this.#response.end()
  }

  #send(line: object | undefined): void {
    if (this.#missed > 0) this.#response.write(`${JSON.stringify({ missed: this.#missed })}\n`)
    this.#missed = 0
    if (line !== undefined) this.#response.write(`${JSON.stringify(line)}\n`)
  }
}
