import { IncomingMessage, type ServerResponse } from 'node:http'
import type {
  Clock,
  Handed,
  HttpMethod,
  HttpServe,
  Neighbour,
  Sought,
  Whereabouts,
} from '../../../api/index.ts'
import { type BodyStream, ClientError } from '../../../http-client/port.ts'
import { HEADER } from '../../../protocol/methods.ts'
import { conversationOf, placeOfConversation } from '../../../protocol/placed-ids.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import { certificateOf, noteCertificate } from '../client-certificate.ts'
import { type Refusal, refusal } from '../request-guard.ts'
import { sendRefusal } from '../response.ts'
import { HANDED, handedOn } from './handed-headers.ts'
import { type Outcome, Passage } from './passage.ts'
import { NeighbourClients } from './neighbour-clients.ts'
import { HAS_ENDED, isOfEnded, MOST_OFFERS, orRejected } from './offers.ts'

export { keptConversations } from './kept-conversations.ts'

/** Requests with another method are answered where they arrive: with "not allowed". */
const METHODS: ReadonlySet<string | undefined> = new Set<HttpMethod>([
  ...(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const),
])

const AGAIN = { 'retry-after': '1' }
const ENDED: Refusal = refusal(502, 'The process that has the session has ended', RPC.internal)
const SEEKING: Refusal = {
  ...refusal(503, 'The process that has the session cannot be reached now; try again', RPC.internal),
  headers: AGAIN,
}
const UNFIT: Refusal = refusal(400, 'Bad request: its path or its headers cannot be handed on')
const GONE = new Error('the client has gone')

/** Hands whole HTTP requests on to the process that has what they are about. Their callers are asked who they are there. */
export class HandOn {
  readonly #listener: string
  readonly #serve: HttpServe
  readonly #sought: Sought
  readonly #clients: NeighbourClients
  /** Streams of other processes that clients read here. */
  readonly #streams = new Set<ServerResponse>()
  #isEnding = false

  /** `serve` answers here what turns out to belong here. */
  constructor(listener: string, { serve, sought, clock }: Around) {
    this.#listener = listener
    this.#serve = serve
    this.#sought = sought
    this.#clients = new NeighbourClients(clock)
  }

  /** Takes care of a request whose conversation may be another process's; false for all others. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const id = conversationOf(sessionIn(request.rawHeaders), request.url ?? '')
    if (id === undefined || placeOfConversation(id) === undefined || !METHODS.has(request.method))
      return false
    const found = this.#sought.conversation(id)
    if (found === 'here') return false
    response.on('error', ignore)
    request.on('error', ignore)
    this.#follow(found, { request, response }, 0)
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
    this.#follow(found, { request, response, body }, 0)
    return true
  }

  /** Ends the streams that clients read here: they come back elsewhere. Requests under way go on. */
  endStreams(): void {
    this.#isEnding = true
    for (const stream of this.#streams) stream.end()
  }

  stop(): void {
    this.#clients.stop()
  }

  #follow(found: Whereabouts | Promise<Whereabouts>, errand: Errand, offers: number): void {
    if (found instanceof Promise)
      found.then(
        where => this.#go(where, errand, offers),
        () => refuse(SEEKING, errand),
      )
    else this.#go(found, errand, offers)
  }

  #go(where: Whereabouts, errand: Errand, offers: number): void {
    const { request, response, body } = errand
    if (response.destroyed) return
    if (where === 'here') return this.#serve(body === undefined ? request : unread(request, body), response)
    if (offers >= MOST_OFFERS) return refuse(SEEKING, errand)
    if ('status' in where) return refuse(where, errand)
    try {
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
    const lines = handedOn(rawHeaders)
    lines.push(HANDED, to.voucher(request, handed))
    const passage = new Passage(response, {
      streams: () => {
        if (method === 'GET') this.#hold(response)
      },
      over: outcome => {
        forget?.()
        this.#streams.delete(response)
        this.#ended(outcome, { to, errand: { ...errand, body: body ?? sent }, offers })
      },
    })
    const forget = to.onGone?.(() => passage.giveUp(HAS_ENDED))
    response.on('close', () => passage.giveUp(GONE))
    let sent: Buffer | undefined
    const stream = body === undefined ? bodyOf(request, whole => (sent = whole)) : undefined
    const asked = { method: method as HttpMethod, path: url ?? '/', headers: {}, lines, body, stream }
    this.#clients.to(to).dispatch(asked, passage)
  }

  #hold(stream: ServerResponse): void {
    this.#streams.add(stream)
    if (this.#isEnding) stream.end()
  }

  #ended(outcome: Outcome, offer: Offer): void {
    const { request, response } = offer.errand
    // The rest of its body is read and dropped.
    if (outcome.kind !== 'failed' || outcome.wasSent) request.resume()
    if (outcome.kind === 'answered' || response.destroyed) return
    if (outcome.kind === 'misdirected') return this.#misdirected(offer)
    if (outcome.wasSent) fail(ENDED, response)
    else this.#unsent(outcome.error, offer)
  }

  /** Looks for the process that has it now. A body that has gone to the wrong one, and was not kept, is not sent again. */
  #misdirected({ to, errand, offers }: Offer): void {
    const where = orRejected(() => to.misdirected?.() ?? SEEKING)
    const isWhole = errand.body !== undefined || bodyOf(errand.request) === undefined
    this.#follow(isWhole ? where : where.then(() => SEEKING), errand, offers + 1)
  }

  /** Looks for another process where this one has ended, as nothing was sent. */
  #unsent(error: Error, { to, errand, offers }: Offer): void {
    if (error instanceof ClientError && error.code === 'INVALID_ARG') return refuse(UNFIT, errand)
    if (isOfEnded(error))
      return this.#follow(
        orRejected(() => to.refused()),
        errand,
        offers + 1,
      )
    to.unreachable?.(error)
    refuse(SEEKING, errand)
  }
}

/** Parts of the listener that hands on. */
interface Around {
  readonly serve: HttpServe
  readonly sought: Sought
  readonly clock: Clock
  /** Hears to which process a request of a connection goes. */
  readonly named?: ((socket: IncomingMessage['socket'], place: string) => void) | undefined
}

/** A request on its way, with its body where that was read. */
interface Errand {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body?: Buffer | undefined
}

/** One of the processes that a request was offered to. */
interface Offer {
  readonly to: Neighbour
  readonly errand: Errand
  /** Processes that it was offered to before. */
  readonly offers: number
}

/** Makes the connection of a request that was handed on look like that of its client. */
export function standIn({ socket }: IncomingMessage, { remoteAddress, certificate }: Handed): void {
  if (socket.remoteAddress !== remoteAddress)
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress, configurable: true })
  noteCertificate(socket, certificate)
}

/** The session that a request names; of several the first, as its owner refuses them all. */
function sessionIn(lines: readonly string[]): string | undefined {
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const name = lines[at] as string
    if (name.length === HEADER.session.length && name.toLowerCase() === HEADER.session) return lines[at + 1]
  }
  return undefined
}

/** The body of a request that nobody has read; undefined where it has none. */
function bodyOf(request: IncomingMessage, sent?: (whole: Buffer) => void): BodyStream | undefined {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding !== undefined) return { from: request, length: undefined }
  return Number(length ?? 0) === 0 ? undefined : { from: request, length: Number(length), sent }
}

/** The same request with its body unread again. */
function unread(request: IncomingMessage, body: Buffer): IncomingMessage {
  const { method, url, rawHeaders, httpVersion, httpVersionMajor, httpVersionMinor } = request
  const again = new IncomingMessage(request.socket)
  const head = { method, url, rawHeaders, httpVersion, httpVersionMajor, httpVersionMinor, complete: true }
  Object.assign(again, head).push(body)
  again.push(null)
  return again
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

// A client that went away is seen by the `close` that follows.
function ignore(): void {}
