import type {
  Answer,
  Era,
  Inbound,
  JsonObject,
  Log,
  Notification,
  RpcError,
  Running,
  Session,
} from '../../core/ports.ts'
import { stampSubscription } from '../../protocol/era/modern.ts'
import { encodeError, encodeNotification, type RpcId, type RpcRequest } from '../../protocol/jsonrpc.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { encodeAnswer, errorFor, LISTEN, listenAnswer, thrownAnswer } from '../client-answer.ts'
import type { HttpEdge } from './edge.ts'
import type { Sink } from './reply.ts'

/** One posted request on its way, and the place its messages go to. */
export class Post implements Inbound {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly era: Era
  /** A function of its own, as the road passes it on by itself. */
  readonly emit: (notification: Notification) => void
  readonly #sink: Sink
  #running: Running | undefined

  constructor(request: RpcRequest, headers: Readonly<Record<string, string>>, era: Era, sink: Sink) {
    this.id = request.id
    this.method = request.method
    this.params = request.params
    this.headers = headers
    this.era = era
    this.#sink = sink
    this.emit = ({ method, params }) => {
      sink.event(encodeNotification(method, this.isListen ? stampSubscription(params, this.id) : params))
    }
  }

  get isListen(): boolean {
    return this.method === LISTEN && this.era === 'modern'
  }

  /** Sends it down the road and waits for what came of it; nothing is written to the client yet. */
  async run(edge: HttpEdge, session: Session): Promise<Answer> {
    this.#running = edge.gate.run(session, this)
    edge.posts.add(this)
    const answer = await this.#running.answer
    edge.posts.delete(this)
    return this.isListen ? listenAnswer(answer, this.id, edge.isStopping) : answer
  }

  cancel(reason: string): void {
    this.#running?.cancel(reason)
  }

  /** Writes the answer to the client. */
  finish(answer: Answer, log: Log): void {
    let status = 'error' in answer ? statusOf(answer.error, this.era) : 200
    let message: Buffer | string
    try {
      message = encodeAnswer(this.id, this.method, answer, this.era)
    } catch (thrown) {
      const failed = thrownAnswer(thrown, log)
      status = 200
      message = encodeError(this.id, errorFor(failed.error, this.era))
    }
    this.#sink.finish(status, message)
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
