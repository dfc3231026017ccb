import { encodeError, inOnePiece, type Message, type Written } from '../../../protocol/jsonrpc.ts'
import { answersOf, BatchAnswers, parseBatch } from '../../client/batch.ts'
import { answerLegacy, findSession, isTaken, TAKEN, takeNotification } from './legacy.ts'
import type { HttpContext } from '../context.ts'
import type { LegacySession } from './legacy-session.ts'
import type { Reply, Sink } from '../response.ts'
import type { RequestHeaders } from '../request-headers.ts'

/** Answers a batch (2025-03-26): its messages run side by side. */
export async function answerBatch(
  context: HttpContext,
  body: Buffer,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  const messages = parseBatch(body)
  if ('code' in messages) return reply.error(400, messages, null)
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner)
  const expected = answersOf(messages)
  reply.recorder = owner
  const sink = new BatchSink(reply, expected)
  await Promise.all(messages.map(message => take(context, owner, message, headers, sink)))
  if (expected === 0) reply.accepted()
}

async function take(
  context: HttpContext,
  owner: LegacySession,
  message: Message,
  headers: RequestHeaders,
  sink: Sink,
): Promise<void> {
  if (message.kind === 'notification') takeNotification(context, owner, message)
  if (message.kind === 'response') owner.asks.answer(message)
  if (message.kind === 'malformed') sink.finish(200, encodeError(message.id, message.error))
  if (message.kind !== 'request') return
  if (isTaken(owner, message)) return sink.finish(200, encodeError(message.id, TAKEN))
  await answerLegacy(context, owner, message, headers, sink)
}

/** One array where nothing is said on the way, else an event for each message. */
class BatchSink implements Sink {
  readonly #reply: Reply
  readonly #answers: BatchAnswers
  #isStreaming = false

  constructor(reply: Reply, expected: number) {
    this.#reply = reply
    this.#answers = new BatchAnswers(expected)
  }

  get canStream(): boolean {
    return this.#reply.canStream
  }

  tell(message: string): void {
    if (this.#stream()) this.#reply.tell(message)
  }

  event(message: string): boolean {
    return this.#stream() && this.#reply.event(message)
  }

  /** From now on each answer is an event of its own. */
  #stream(): boolean {
    if (!this.canStream) return false
    this.#isStreaming = true
    for (const answer of this.#answers.take()) this.#reply.event(answer)
    return true
  }

  prime(): void {
    // Batches are older than ids to come back with.
  }

  onLost(listener: () => void): void {
    this.#reply.onLost(listener)
  }

  finish(_status: number, message: Written): void {
    this.#answers.add(inOnePiece(message))
    if (this.#isStreaming) for (const answer of this.#answers.take()) this.#reply.event(answer)
    if (!this.#answers.isComplete) return
    if (this.#isStreaming) this.#reply.end()
    else this.#reply.finish(200, this.#answers.asArray())
  }
}
