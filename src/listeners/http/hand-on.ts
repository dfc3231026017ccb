import type { Agent as HttpAgent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Handed, HttpServe, Neighbour, NeighbourTls, Sought, Whereabouts } from '../../api/index.ts'
import { HEADER } from '../../protocol/methods.ts'
import { conversationOf, placeOfConversation } from '../../protocol/places.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { certificateOf, noteCertificate } from './client-certificate.ts'
import { type Refusal, refusal } from './request-guard.ts'
import { sendRefusal } from './response.ts'

const { Agent, request: send } = process.getBuiltinModule('node:http')

/** Only read where clients do not reach: proves that a process of this gateway hands a request on, and says of which listener. */
export const HANDED = 'x-tapgate-handed'
const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'expect',
  HANDED,
])
const CONNECT_MS = 1000
const MAX_IDLE = 64
/** Nobody listens there, so nothing was sent. */
const REFUSED: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOENT'])
/** Most processes that one request is offered to, as owners die and are replaced. */
const MOST_OFFERS = 3
const MISDIRECTED = 421

const AGAIN = { 'retry-after': '1' }
const ENDED: Refusal = refusal(502, 'The process that has the session has ended', RPC.internal)
const SEEKING: Refusal = {
  ...refusal(503, 'The process that has the session cannot be reached now; try again', RPC.internal),
  headers: AGAIN,
}

/** Hands whole HTTP requests on to the process that has what they are about. Their callers are asked who they are there. */
export class HandOn {
  readonly #listener: string
  readonly #serve: HttpServe
  readonly #sought: Sought
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE })
  /** Streams of other processes that clients read here. */
  readonly #streams = new Set<ServerResponse>()
  #isEnding = false
  #secure: SecureConnections | undefined

  /** `serve` answers here what turns out to belong here. */
  constructor(listener: string, serve: HttpServe, sought: Sought) {
    this.#listener = listener
    this.#serve = serve
    this.#sought = sought
  }

  /** Takes care of a request whose conversation may be another process's; false for all others. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const named = request.headers[HEADER.session]
    const id = conversationOf(typeof named === 'string' ? named : undefined, request.url ?? '')
    if (id === undefined || placeOfConversation(id) === undefined) return false
    const found = this.#sought.conversation(id)
    if (found === 'here') return false
    void this.#follow(found, { request, response }, 0)
    return true
  }

  /** Takes care of a request that has been read, and goes on with what another process may have; false for all others. */
  async takeRead(
    place: string,
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): Promise<boolean> {
    const found = await this.#sought.work?.(place)
    if (found === undefined || found === 'here') return false
    await this.#follow(found, { request, response, body }, 0)
    return true
  }

  /** Ends the streams that clients read here: they come back elsewhere. Requests under way go on. */
  endStreams(): void {
    this.#isEnding = true
    for (const stream of this.#streams) stream.end()
  }

  #hold(stream: ServerResponse): void {
    this.#streams.add(stream)
    if (this.#isEnding) stream.end()
  }

  stop(): void {
    this.#agent.destroy()
    this.#secure?.agent.destroy()
  }

  async #follow(found: Whereabouts | Promise<Whereabouts>, errand: Errand, offers: number): Promise<void> {
    const { request, response } = errand
    try {
      const where = found instanceof Promise ? await found : found
      if (response.destroyed) return
      if (where === 'here' && errand.body === undefined) return this.#serve(request, response)
      if (where === 'here' || offers >= MOST_OFFERS) return refuse(SEEKING, errand)
      if ('status' in where) return refuse(where, errand)
      this.#send(where, errand, offers)
    } catch {
      refuse(SEEKING, errand)
    }
  }

  #send(to: Neighbour, errand: Errand, offers: number): void {
    const { request, response, body } = errand
    const { method, url, rawHeaders, socket } = request
    const { remoteAddress } = socket
    const handed: Handed = { listener: this.#listener, remoteAddress, certificate: certificateOf(socket) }
    const length = body === undefined ? lengthOf(request) : ['content-length', String(body.length)]
    const headers = handedHeaders(rawHeaders, body !== undefined)
    const sent = this.#begin(to, {
      method,
      path: url,
      headers: [...headers, ...length, HANDED, to.voucher(request, handed)],
    })
    const forget = to.onGone?.(() => sent.destroy(new Error('the other process has ended')))
    let isConnected = false
    // Nothing is sent, and nothing of a body is taken, before it is known whom it is given to.
    whenConnected(sent, () => {
      isConnected = true
      if (body === undefined) request.pipe(sent)
      else sent.end(body)
    })
    sent.on('response', answer => {
      if (answer.statusCode !== MISDIRECTED || answer.headers[HANDED] === undefined) {
        pass(answer, response)
        return method === 'GET' && this.#hold(response)
      }
      answer.resume()
      to.misdirected?.()
      refuse(SEEKING, errand)
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (REFUSED.has(error.code) && !response.destroyed && !response.headersSent)
        return void this.#follow(
          orRejected(() => to.refused()),
          errand,
          offers + 1,
        )
      if (!isConnected) to.unreachable?.(error)
      fail(isConnected && error.code !== 'ETIMEDOUT' ? ENDED : SEEKING, response)
    })
    sent.on('close', () => forget?.())
    response.on('error', () => undefined)
    response.on('close', () => {
      this.#streams.delete(response)
      sent.destroy()
    })
    request.on('error', () => undefined)
  }

  #begin({ address, tls }: Neighbour, about: Begun): ClientRequest {
    if (tls === undefined) return send({ ...address, agent: this.#agent, ...about })
    if (this.#secure?.context !== tls.context) {
      this.#secure?.retire()
      this.#secure = new SecureConnections(tls.context)
    }
    return this.#secure.send({ ...address, ...about }, tls)
  }
}

/** The parts of a request that say what is asked. */
interface Begun {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: string[]
}

/** Connections that were made with one certificate. */
class SecureConnections {
  readonly context: NeighbourTls['context']
  readonly agent: HttpAgent
  readonly #request = process.getBuiltinModule('node:https').request

  constructor(context: NeighbourTls['context']) {
    this.context = context
    const { Agent: SecureAgent } = process.getBuiltinModule('node:https')
    // Without sessions that are taken up again each connection shows its certificate.
    this.agent = new SecureAgent({
      ...{ keepAlive: true, maxFreeSockets: MAX_IDLE, maxCachedSessions: 0 },
      secureContext: context,
    })
  }

  send(about: Begun & Neighbour['address'], tls: NeighbourTls): ClientRequest {
    return this.#request({
      ...about,
      agent: this.agent,
      servername: '',
      checkServerIdentity: (_, { raw }) => {
        const problem = tls.problemOf(raw)
        return problem === undefined ? undefined : new Error(problem)
      },
    })
  }

  /** Lets go of connections that nobody uses, now that there is another certificate. */
  retire(): void {
    for (const sockets of Object.values(this.agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy()
  }
}

/** A request on its way, with its body where that was read. */
interface Errand {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body?: Buffer
}

/** Makes the connection of a request that was handed on look like that of its client. */
export function standIn({ socket }: IncomingMessage, { remoteAddress, certificate }: Handed): void {
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress, configurable: true })
  noteCertificate(socket, certificate)
}

function orRejected(find: () => Whereabouts | Promise<Whereabouts>): Promise<Whereabouts> {
  return new Promise(resolve => resolve(find()))
}

function whenConnected(sent: ClientRequest, then: () => void): void {
  sent.on('socket', socket => {
    // True until both ends have proved who they are.
    const { secureConnecting } = socket as { readonly secureConnecting?: boolean }
    if (!socket.connecting && secureConnecting !== true) return then()
    const timer = setTimeout(
      () => sent.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' })),
      CONNECT_MS,
    )
    socket.once('close', () => clearTimeout(timer))
    socket.once(secureConnecting === undefined ? 'connect' : 'secureConnect', () => {
      clearTimeout(timer)
      then()
    })
  })
}

/** The headers that go on; without its length where a body was read, which has one of its own then. */
function handedHeaders(raw: readonly string[], isRead = false): string[] {
  return raw.filter((_, index) => {
    const name = String(raw[index - (index % 2)]).toLowerCase()
    return !OF_ONE_CONNECTION.has(name) && !(isRead && name === 'content-length')
  })
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

function refuse(why: Refusal, { request, response }: Errand): void {
  request.resume()
  fail(why, response)
}

function fail(why: Refusal, response: ServerResponse): void {
  if (response.destroyed) return
  if (response.headersSent) response.destroy()
  else sendRefusal(response, why)
}
