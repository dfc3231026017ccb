import type {
  Answer,
  Ask,
  AskReply,
  Era,
  Gate,
  Inbound,
  JsonObject,
  Notification,
  Principal,
  Running,
  Session,
} from '../../api/index.ts'
import { stampSubscription } from '../../protocol/era/modern.ts'
import { newestReader, type Reader } from '../../protocol/era/reader.ts'
import type { RpcId, RpcRequest, Written } from '../../protocol/jsonrpc.ts'
import { encodeTold, LISTEN, stoppingAnswer } from '../client/encode-answer.ts'
import { Asking, type ClientAsks } from '../client/server-requests.ts'
import { seenBy } from '../client/session-view.ts'
import type { Arrived, Channel } from '../../transport/channel.ts'

/** Where the answer goes: to the pipe, or into a batch. */
export interface Answers {
  write(message: Written): void
}

/** What the requests of a pipe share. */
export interface PipeEnds {
  readonly channel: Channel
  readonly asks: ClientAsks
}

/** One request of a pipe on its way. */
export class PipeRequest implements Inbound {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  readonly bytes: number
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly era: Era
  readonly answers: Answers
  /** The client wants to hear no more of it. */
  isSilent = false
  /** The client that reads the answer, as well as it is known. */
  reader: Reader
  readonly #ends: PipeEnds
  readonly #caller: Principal | undefined
  #running: Running | undefined = undefined
  #asking: Asking | undefined = undefined
  #ask: ((ask: Ask) => Promise<AskReply>) | undefined = undefined
  #isOver = false
  #isShutDown = false

  constructor(request: RpcRequest, era: Era, answers: Answers, ends: PipeEnds, arrived: Arrived | undefined) {
    this.id = request.id
    this.method = request.method
    this.params = request.params
    this.bytes = request.bytes
    this.headers = arrived?.headers
    this.#caller = arrived?.caller
    this.era = era
    this.answers = answers
    this.#ends = ends
    this.reader = newestReader(era)
  }

  emit({ method, params }: Notification): void {
    if (this.isSilent) return
    const stamped = this.isListen ? stampSubscription(params, this.id) : params
    const told = encodeTold({ method, params: stamped }, this.reader)
    if (told !== undefined) this.#ends.channel.tell(told)
  }

  get isListen(): boolean {
    return this.method === LISTEN && this.era === 'modern'
  }

  /** Asks the client; undefined where it cannot be asked. Most requests never look. */
  get ask(): ((ask: Ask) => Promise<AskReply>) | undefined {
    if (this.era !== 'legacy' || this.method === 'initialize' || this.#isOver) return undefined
    this.#ask ??= ask => this.#askThrough(this.#ends, ask)
    return this.#ask
  }

  #askThrough({ asks, channel }: PipeEnds, ask: Ask): Promise<AskReply> {
    // As an answer, an ask is not to be missed; there are few of them.
    this.#asking ??= new Asking(asks, message => {
      channel.write(message)
      return true
    })
    return this.#asking.ask(ask)
  }

  run(gate: Gate, session: Session): Promise<Answer> {
    this.reader = session.client
    this.#running = gate.run(this.#caller === undefined ? session : seenBy(session, this.#caller), this)
    return this.#running.answer
  }

  cancel(reason: string): void {
    this.#running?.cancel(reason)
    this.over(reason)
  }

  /** The gateway stops and waits no longer. */
  shutDown(): void {
    this.#isShutDown = true
    this.cancel('shutdown')
  }

  /** What it is answered: where the gateway has ended it, that is said. */
  final(answer: Answer): Answer {
    return this.#isShutDown && 'error' in answer ? stoppingAnswer() : answer
  }

  /** It asks nothing more, and takes back what it has asked. */
  over(reason: string): void {
    this.#isOver = true
    this.#asking?.end(reason)
  }
}
