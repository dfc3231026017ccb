import type {
  Answer,
  Ask,
  AskReply,
  Era,
  Inbound,
  JsonObject,
  Log,
  Notification,
  RpcError,
  Running,
  Session,
  Gate,
} from '../../../api/index.ts'
import { stampSubscription } from '../../../protocol/era/modern.ts'
import { type Reader, newestReader } from '../../../protocol/era/reader.ts'
import { type RpcId, type RpcRequest, type Written, encodeError } from '../../../protocol/jsonrpc.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import type { InFlight } from '../../../transport/id-map.ts'
import {
  LISTEN,
  encodeAnswer,
  encodeTold,
  errorFor,
  listenAnswer,
  stoppingAnswer,
  thrownAnswer,
} from '../../client/encode-answer.ts'
import { Asking, type ClientAsks } from '../../client/server-requests.ts'
import type { Sink } from '../response.ts'

/** What a posted request needs of its listener. */
export interface PostContext {
  readonly gate: Gate
  readonly posts: InFlight<Post>
  lastPost: number
  readonly isStopping: boolean
}

/** One posted request on its way, and the place its messages go to. */
export class Post implements Inbound {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  readonly bytes: number
  readonly headers: Readonly<Record<string, string>>
  readonly era: Era
  readonly #sink: Sink
  readonly #asks: ClientAsks | undefined
  #reader: Reader
  #running: Running | undefined = undefined
  #asking: Asking | undefined = undefined
  #ask: ((ask: Ask) => Promise<AskReply>) | undefined = undefined
  #isOver = false
  #isShutDown = false

  /** With `asks`, its client can be asked. */
  constructor(
    request: RpcRequest,
    headers: Readonly<Record<string, string>>,
    era: Era,
    sink: Sink,
    asks?: ClientAsks,
  ) {
    this.id = request.id
    this.method = request.method
    this.params = request.params
    this.bytes = request.bytes
    this.headers = headers
    this.era = era
    this.#sink = sink
    this.#asks = asks
    this.#reader = newestReader(era)
  }

  emit({ method, params }: Notification): void {
    const stamped = this.isListen ? stampSubscription(params, this.id) : params
    const told = encodeTold({ method, params: stamped }, this.#reader)
    if (told !== undefined) this.#sink.tell(told)
  }

  get isListen(): boolean {
    return this.method === LISTEN && this.era === 'modern'
  }

  /** Asks the client on this request's own stream; undefined where that is not possible. Most requests never look. */
  get ask(): ((ask: Ask) => Promise<AskReply>) | undefined {
    const asks = this.#asks
    if (asks === undefined || this.#isOver || !this.#sink.canStream) return undefined
    this.#ask ??= ask => this.#askThrough(asks, ask)
    return this.#ask
  }

  #askThrough(asks: ClientAsks, ask: Ask): Promise<AskReply> {
    this.#asking ??= this.#begin(asks)
    return this.#asking.ask(ask)
  }

  #begin(asks: ClientAsks): Asking {
    const sink = this.#sink
    const asking = new Asking(asks, message => sink.event(message))
    sink.onLost(() => asking.end('the client closed the connection'))
    return asking
  }

  /** Sends it through the pipeline and waits for what came of it; nothing is written to the client yet. */
  async run(context: PostContext, session: Session): Promise<Answer> {
    this.#reader = session.client
    const number = ++context.lastPost
    this.#running = context.gate.run(session, this)
    context.posts.set(number, this)
    const answer = await this.#running.answer
    context.posts.delete(number)
    this.#end('the request that asked is over')
    if (this.isListen) return listenAnswer(answer, this.id, context.isStopping)
    return this.#isShutDown && 'error' in answer ? stoppingAnswer() : answer
  }

  /** Resolves when it has its answer. */
  get answered(): Promise<unknown> {
    return Promise.resolve(this.#running?.answer)
  }

  /** The gateway stops and waits no longer. */
  shutDown(): void {
    this.#isShutDown = true
    this.cancel('shutdown')
  }

  /** It takes long. */
  prime(): void {
    this.#sink.prime()
  }

  cancel(reason: string): void {
    this.#running?.cancel(reason)
    this.#end(reason)
  }

  #end(reason: string): void {
    this.#isOver = true
    this.#asking?.end(reason)
  }

  /** Writes the answer to the client. */
  finish(answer: Answer, log: Log): void {
    let status = 'error' in answer ? (answer.http?.status ?? statusOf(answer.error, this.era)) : 200
    let message: Written
    try {
      message = encodeAnswer(this.id, this.method, answer, this.#reader)
    } catch (thrown) {
      const failed = thrownAnswer(thrown, log)
      status = 200
      message = encodeError(this.id, errorFor(failed.error, this.#reader))
    }
    this.#sink.finish(status, message, 'error' in answer ? answer.http?.headers : undefined)
  }
}

const BAD_REQUEST: ReadonlySet<number> = new Set([
  RPC.parse,
  RPC.invalidRequest,
  RPC.headerMismatch,
  RPC.missingCapability,
  RPC.unsupportedVersion,
])

/** The HTTP status of an error answer: legacy clients look into the body only. */
export function statusOf(error: RpcError, era: Era): number {
  if (era === 'legacy') return 200
  if (error.code === RPC.methodNotFound) return 404
  return BAD_REQUEST.has(error.code) ? 400 : 200
}
