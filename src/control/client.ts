import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import type { RequestOptions } from '../api/gateway.ts'
import { GatewayError, getErrorMessage } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { LineSplitter } from '../util/messages.ts'
import type { About } from './protocol.ts'
import { ABOUT, MAX_ANSWER, PREFIX, STREAM, parseError } from './protocol.ts'
import { guardDirectory, isOwnSocket, createSocketError } from '../net/unix-sockets.ts'
import { getPlatform } from '../util/platform.ts'

/** Timeout for the `about` request. */
const HELLO_MS = 5000
const NO_PROTOCOL = 'not a control socket'
const GONE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/**
 * Connects to a gateway's control socket.
 * @throws GatewayError GW_CONTROL if the socket is untrusted or does not answer
 */
export async function connectControl(socket: string): Promise<ControlClient> {
  if (!getPlatform().hasPipes) {
    guardDirectory(socket, false)
    if (!isOwnSocket(socket)) throw createSocketError(socket, 'socket not found')
  }
  const signal = AbortSignal.timeout(HELLO_MS)
  const about = await sendRequest(socket, ABOUT, {}, { signal })
  return new ControlClient(socket, about as unknown as About)
}

/** Client for a running gateway; one connection per request. */
export class ControlClient {
  readonly socket: string
  readonly about: About

  constructor(socket: string, about: About) {
    this.socket = socket
    this.about = about
  }

  /** Runs a verb. Streaming verbs pass lines to `onNotification` and reject when `signal` aborts. */
  request(verb: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<JsonObject> {
    return sendRequest(this.socket, verb, params, options)
  }
}

function sendRequest(
  socket: string,
  verb: string,
  params: JsonObject,
  { signal, onNotification }: RequestOptions,
): Promise<JsonObject> {
  const body = Buffer.from(JSON.stringify(params))
  const headers = { host: 'gateway', 'content-type': 'application/json', 'content-length': body.length }
  const target = {
    socketPath: socket,
    method: 'POST',
    path: `${PREFIX}${verb}`,
    headers,
    agent: false,
    signal,
  }
  return new Promise((resolve, reject) => {
    const handleError = (cause: Error): void => reject(toControlError(socket, cause, signal))
    const sent = httpRequest(target)
    sent.on('error', handleError)
    sent.on('response', response => {
      const isStream = response.headers['content-type'] === STREAM
      const read = isStream ? readStream(response, socket, onNotification) : readAnswer(response, socket)
      read.then(resolve, handleError)
    })
    sent.end(body)
  })
}

async function readAnswer(response: IncomingMessage, socket: string): Promise<JsonObject> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_ANSWER) throw createSocketError(socket, 'answer too large')
    chunks.push(chunk)
  }
  const value = parseObject(Buffer.concat(chunks), socket)
  if (response.statusCode === 200) return value
  throw parseError(value.error, socket)
}

/** Resolves when the stream ends. */
async function readStream(
  response: IncomingMessage,
  socket: string,
  onNotification: RequestOptions['onNotification'],
): Promise<JsonObject> {
  const lines = new LineSplitter({
    maxLine: MAX_ANSWER,
    onLine: line => {
      const params = parseObject(line, socket)
      if (params.error !== undefined) throw parseError(params.error, socket)
      onNotification?.({ method: 'log', params })
    },
    onTooLong: () => {
      throw createSocketError(socket, 'line too long')
    },
  })
  for await (const chunk of response as AsyncIterable<Buffer>) lines.push(chunk)
  return {}
}

function parseObject(text: Buffer, socket: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text.toString('utf8'))
    if (isObject(value)) return value
  } catch {
    // Handled like text that is not an object.
  }
  throw createSocketError(socket, NO_PROTOCOL)
}

function toControlError(socket: string, cause: Error, signal: AbortSignal | undefined): Error {
  if (cause instanceof GatewayError) return cause
  if (signal?.aborted === true) return isTimeout(signal) ? createSocketError(socket, 'timed out') : cause
  const code = 'code' in cause ? String(cause.code) : ''
  if (code.startsWith('HPE_')) return createSocketError(socket, NO_PROTOCOL, cause)
  return createSocketError(socket, GONE.has(code) ? 'the gateway closed the connection' : getErrorMessage(cause), cause)
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError'
}
