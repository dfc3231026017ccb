import { randomUUID } from 'node:crypto'
import type {
  Answer,
  Ask,
  AskReply,
  Inbound,
  Neighbour,
  Refusal,
  Running,
  Session,
  Whereabouts,
} from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { ReplyHandler } from '../../http-client/port.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { CrossingAsk } from '../../transport/crossing.ts'
import { VOUCHED } from '../http/hand-on/handed-headers.ts'
import type { NeighbourClients } from '../http/hand-on/neighbour-clients.ts'
import { HAS_ENDED, isOfEnded, MOST_OFFERS, orRejected } from '../http/hand-on/offers.ts'
import { LineReader, type Outcome } from './line-reader.ts'
import { type Line, writeWork, writeWorkReply } from './wire.ts'

/** Largest request that is handed on. */
const MOST_BYTES = 64 * 1024 * 1024

const PATH = '/work'
const HEADERS = { 'content-type': 'application/json' }
const IS_OVER = new Error('nobody waits for it any more')

const ENDED: Answer = {
  error: rpcError(
    RPC.internal,
    'The process that keeps this has ended meanwhile; whether the request was carried out is not known',
  ),
  http: { status: 502 },
}
const SEEKING: Answer = {
  error: rpcError(RPC.internal, 'The process that keeps this cannot be reached now; try again', {
    retryAfterMs: 1000,
  }),
  http: { status: 503, headers: { 'retry-after': '1' } },
}
const TOO_LARGE: Answer = {
  error: rpcError(RPC.invalidRequest, 'Invalid request: it is too large for the process that keeps this'),
  http: { status: 413 },
}

/** A request on its way to another process. */
export interface Sent {
  readonly session: Session
  readonly inbound: Inbound
  readonly here: () => Running
  readonly clients: NeighbourClients
}

/** One request that another process is asked to run; its client hears, and is asked, as if it ran here. */
export class Errand implements Running {
  readonly answer: Promise<Answer>
  readonly #sent: Sent
  readonly #id = randomUUID()
  readonly #asks = new Map<number, CrossingAsk>()
  #body: Buffer | undefined
  #reader: LineReader | undefined
  #here: Running | undefined
  #isOver = false
  #resolve: (answer: Answer) => void = () => undefined

  constructor(sent: Sent, found: Whereabouts | Promise<Whereabouts>) {
    this.#sent = sent
    this.answer = new Promise(resolve => (this.#resolve = resolve))
    this.#follow(found, 0)
  }

  cancel(reason: string): void {
    if (this.#here !== undefined) return this.#here.cancel(reason)
    const { message, code } = gatewayError('GW_CANCELLED')
    this.#finish({ error: rpcError(RPC.internal, message, { code }) })
    this.#reader?.giveUp(IS_OVER)
  }

  #follow(found: Whereabouts | Promise<Whereabouts>, offers: number): void {
    if (found instanceof Promise)
      found.then(
        where => this.#go(where, offers),
        () => this.#finish(SEEKING),
      )
    else this.#go(found, offers)
  }

  #go(where: Whereabouts, offers: number): void {
    if (this.#isOver) return
    if (where === 'here') return this.#runHere()
    if ('status' in where) return this.#finish(refusalOf(where))
    // One of an older version takes nothing of the kind.
    if (where.vouch === undefined) return this.#runHere()
    if (offers >= MOST_OFFERS) return this.#finish(SEEKING)
    try {
      this.#send(where, offers)
    } catch {
      this.#finish(SEEKING)
    }
  }

  #runHere(): void {
    this.#here = this.#sent.here()
    void this.#here.answer.then(answer => this.#finish(answer))
  }

  #send(to: Neighbour, offers: number): void {
    const { session, inbound } = this.#sent
    this.#body ??= writeWork(this.#id, session, inbound)
    if (this.#body.length > MOST_BYTES) return this.#finish(TOO_LARGE)
    const reader = new LineReader({
      line: line => this.#heard(line, to),
      over: outcome => {
        forget?.()
        this.#ended(outcome, to, offers)
      },
    })
    const forget = to.onGone?.(() => reader.giveUp(HAS_ENDED))
    this.#reader = reader
    this.#post(to, this.#body, reader)
  }

  #post(to: Neighbour, body: Buffer, handler: ReplyHandler): void {
    const lines = [VOUCHED, to.vouch?.(body) ?? '']
    this.#sent.clients.to(to).dispatch({ method: 'POST', path: PATH, headers: HEADERS, lines, body }, handler)
  }

  #heard(line: Line, to: Neighbour): void {
    if (this.#isOver) return
    if (line.kind === 'answer') this.#finish(line.answer)
    else if (line.kind === 'notification') this.#sent.inbound.emit(line.notification)
    else if (line.kind === 'taken back') this.#asks.get(line.ask)?.end(line.why)
    else void this.#ask(line.ask, new CrossingAsk(line.method, line.params), to)
  }

  async #ask(number: number, ask: CrossingAsk, to: Neighbour): Promise<void> {
    this.#asks.set(number, ask)
    const reply = await this.#replyTo(ask)
    this.#asks.delete(number)
    if (this.#isOver) return
    // Where it is lost, so is the connection that the answer is to come over.
    this.#post(to, writeWorkReply({ of: this.#id, ask: number, reply }), UNHEARD)
  }

  async #replyTo(ask: Ask): Promise<AskReply> {
    const error = rpcError(RPC.methodNotFound, `the client cannot be asked for ${ask.method}`)
    try {
      return (await this.#sent.inbound.ask?.(ask)) ?? { error }
    } catch {
      return { error }
    }
  }

  #ended(outcome: Outcome, to: Neighbour, offers: number): void {
    if (this.#isOver) return
    if (outcome.kind === 'misdirected')
      return this.#follow(
        orRejected(() => to.misdirected?.() ?? 'here'),
        offers + 1,
      )
    if (outcome.kind === 'refused') return this.#finish(SEEKING)
    if (outcome.wasSent) return this.#finish(ENDED)
    if (isOfEnded(outcome.error))
      return this.#follow(
        orRejected(() => to.refused()),
        offers + 1,
      )
    to.unreachable?.(outcome.error)
    this.#finish(SEEKING)
  }

  #finish(answer: Answer): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const ask of this.#asks.values()) ask.end('the request that asked is over')
    this.#resolve(answer)
  }
}

function refusalOf({ status, error, headers }: Refusal): Answer {
  return { error, http: { status, ...(headers === undefined ? {} : { headers }) } }
}

/** Hears nothing of a reply that it has sent. */
const UNHEARD: ReplyHandler = {
  onSend: () => undefined,
  onHead: () => undefined,
  onBody: () => undefined,
  onEnd: () => undefined,
  onError: () => undefined,
}
