import type {
  Answer,
  Era,
  Gate,
  Inbound,
  JsonObject,
  Notification,
  Running,
  Session,
} from '../../core/ports.ts'
import { stampSubscription } from '../../protocol/era/modern.ts'
import { encodeNotification, type RpcId, type RpcRequest } from '../../protocol/jsonrpc.ts'
import { LISTEN } from '../client-answer.ts'
import type { LineWriter } from './line-writer.ts'

/** Where the answer goes: to the pipe, or into a batch. */
export interface Answers {
  write(message: Buffer | string): void
}

/** One request of a pipe on its way. */
export class PipeRequest implements Inbound {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  readonly era: Era
  readonly answers: Answers
  /** A function of its own, as the road passes it on by itself. */
  readonly emit: (notification: Notification) => void
  /** The client wants to hear no more of it. */
  isSilent = false
  #running: Running | undefined

  constructor(request: RpcRequest, era: Era, answers: Answers, writer: LineWriter) {
    this.id = request.id
    this.method = request.method
    this.params = request.params
    this.era = era
    this.answers = answers
    this.emit = ({ method, params }) => {
      if (!this.isSilent)
        writer.tell(encodeNotification(method, this.isListen ? stampSubscription(params, this.id) : params))
    }
  }

  get isListen(): boolean {
    return this.method === LISTEN && this.era === 'modern'
  }

  run(gate: Gate, session: Session): Promise<Answer> {
    this.#running = gate.run(session, this)
    return this.#running.answer
  }

  cancel(reason: string): void {
    this.#running?.cancel(reason)
  }
}
