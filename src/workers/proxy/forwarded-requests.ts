import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { ClientCertificate, HttpServe, Neighbours } from '../../api/index.ts'
import { HEADER } from '../../protocol/methods.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { certificateOf, noteCertificate } from '../../listeners/http/client-certificate.ts'
import { refusal } from '../../listeners/http/request-guard.ts'
import { sendRefusal } from '../../listeners/http/response.ts'
import { listenAt, socketOf, type Place } from '../socket-directory.ts'
import { sessionPrefix, whoseSession } from '../affinity.ts'

const { Agent, createServer, request: send } = process.getBuiltinModule('node:http')

/** Only read where the network does not reach: says for which listener, from where, and by which certificate. */
const HANDED = 'x-tapgate-handed'
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'expect',
  HANDED,
])
/** Header limits: those of a listener, with room for our own header. */
const MAX_HEADER_BYTES = 32 * 1024
const MAX_HEADERS = 130
/** No session, and no worker that could have one. */
const GONE = ['ECONNREFUSED', 'ENOENT']

/** Whole HTTP requests that arrive at one worker and belong to a session of another. Their callers are asked who they are there. */
export class HandedRequests implements Neighbours {
  readonly idPrefix: string
  readonly #number: number
  readonly #count: number
  readonly #place: Place
  readonly #listeners = new Map<string, HttpServe>()
  readonly #agent = new Agent({ keepAlive: true })
  readonly #server: Server

  constructor(number: number, count: number, place: Place) {
    this.idPrefix = sessionPrefix(number)
    this.#number = number
    this.#count = count
    this.#place = place
    const options = { requestTimeout: 0, keepAliveTimeout: 0, maxHeaderSize: MAX_HEADER_BYTES }
    this.#server = createServer(options, (request, response) => this.#take(request, response))
    this.#server.maxHeadersCount = MAX_HEADERS
  }

  start(): Promise<void> {
    return listenAt(this.#server, socketOf(this.#place, this.#number, 'http'))
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    this.#agent.destroy()
  }

  join(listener: string, serve: HttpServe): ReturnType<Neighbours['join']> {
    this.#listeners.set(listener, serve)
    return (request, response) => {
      const id = request.headers[HEADER.session]
      const whose = whoseSession(typeof id === 'string' ? id : undefined, request.url ?? '')
      if (whose === undefined || whose === this.#number || whose < 1 || whose > this.#count) return false
      this.#handOn(whose, listener, request, response)
      return true
    }
  }

  #handOn(whose: number, listener: string, request: IncomingMessage, response: ServerResponse): void {
    const { method, url, rawHeaders, socket } = request
    const about = Buffer.from(
      JSON.stringify({ listener, remoteAddress: socket.remoteAddress, certificate: certificateOf(socket) }),
    ).toString('base64url')
    const handed = send({
      socketPath: socketOf(this.#place, whose, 'http'),
      agent: this.#agent,
      method,
      path: url,
      headers: [...handedHeaders(rawHeaders), ...lengthOf(request), HANDED, `${this.#place.token}.${about}`],
    })
    handed.on('response', answer => pass(answer, response))
    handed.on('error', error => fail(error, response))
    response.on('error', () => undefined)
    response.on('close', () => handed.destroy())
    request.on('error', () => undefined)
    request.pipe(handed)
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { rawHeaders, socket } = request
    const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name === HANDED)
    const [, said = ''] = at < 0 ? [] : rawHeaders.splice(at, 2)
    const [token, about = ''] = said.split('.')
    if (token !== this.#place.token) return void socket.destroy()
    const { listener, remoteAddress, certificate } = aboutOf(about)
    const serve = this.#listeners.get(listener)
    if (serve === undefined) return void socket.destroy()
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress, configurable: true })
    noteCertificate(socket, certificate)
    serve(request, response)
  }
}

/** Facts of a request that only the process knows that took it. */
interface About {
  readonly listener: string
  readonly remoteAddress: string | undefined
  readonly certificate?: ClientCertificate
}

function aboutOf(text: string): About {
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as About
}

function handedHeaders(raw: readonly string[]): string[] {
  return raw.filter((_, index) => !OF_ONE_CONNECTION.has(String(raw[index - (index % 2)]).toLowerCase()))
}

/** A body whose length nobody knows goes on in chunks. */
function lengthOf({ headers }: IncomingMessage): string[] {
  return headers['transfer-encoding'] === undefined ? [] : ['transfer-encoding', 'chunked']
}

function pass(answer: IncomingMessage, response: ServerResponse): void {
  if (response.destroyed) return void answer.destroy()
  response.writeHead(answer.statusCode ?? 502, handedHeaders(answer.rawHeaders))
  if (answer.headers['content-length'] === undefined) response.flushHeaders()
  answer.on('error', () => response.destroy())
  answer.pipe(response)
}

function fail(error: NodeJS.ErrnoException, response: ServerResponse): void {
  if (response.destroyed) return
  if (response.headersSent) return void response.destroy()
  const refused = GONE.includes(error.code ?? '')
    ? refusal(404, 'Session not found: it ended or never was; call initialize again', RPC.legacyNoSession)
    : refusal(502, 'The process that has the session has ended', RPC.internal)
  sendRefusal(response, refused)
}
