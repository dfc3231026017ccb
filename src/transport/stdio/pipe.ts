import type { Readable, Writable } from 'node:stream'
import type { Answer, ClientSide, Era, ListenerContext, RpcError } from '../../core/ports.ts'
import { encodeError, encodeNotification, isBatch, parseMessage } from '../../protocol/jsonrpc.ts'
import type { Message, RpcId, RpcNotification, RpcRequest } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { answersOf, BatchAnswers, parseBatch } from '../batch.ts'
import { encodeAnswer, errorFor, listenAnswer, thrownAnswer } from '../client-answer.ts'
import { LineSplitter } from '../frames.ts'
import { within } from '../within.ts'
import { LineWriter } from './line-writer.ts'
import { PipeEra } from './pipe-era.ts'
import { PipeRequest, type Answers } from './pipe-request.ts'
import { PipeSession } from './pipe-session.ts'

const MAX_LINE = 10 * 1024 * 1024
const MAX_RUNNING = 1024
/** How long the last bytes may take to leave. */
const FLUSH_MS = 1000
const TAKEN = rpcError(RPC.invalidRequest, 'Invalid request: a request with this id is still running')
const TOO_MANY = rpcError(RPC.internal, `Too many requests at a time; at most ${MAX_RUNNING} may run`)

export interface PipeOptions {
  readonly input: Readable
  readonly output: Writable
  readonly context: ListenerContext
  /** How long open requests may go on after the client has closed its end. */
  readonly graceMs: number
}

/** One client on a pair of streams, one JSON-RPC message per line. */
export class Pipe {
  /** Resolves when the conversation is over and everything said has left. */
  readonly ended: Promise<void>
  readonly #options: PipeOptions
  readonly #era = new PipeEra()
  readonly #session: PipeSession
  readonly #writer: LineWriter
  readonly #running = new Map<RpcId, PipeRequest>()
  /** What came while the session opens; undefined when it does not. */
  #held: { message: Message; answers: Answers }[] | undefined
  #isEnding = false
  #onQuiet: () => void = () => undefined
  #onEnded: () => void = () => undefined

  constructor(options: PipeOptions) {
    const { context, output } = options
    this.#options = options
    this.#writer = new LineWriter(output, () => this.#flow())
    this.ended = new Promise(resolve => (this.#onEnded = resolve))
    this.#session = new PipeSession({
      gate: context.gate,
      listener: context.name,
      notify: ({ method, params }) => this.#writer.tell(encodeNotification(method, params)),
    })
  }

  start(): void {
    const { input, output, graceMs } = this.#options
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => this.#take(line),
      onTooLong: () =>
        this.#refuse(
          null,
          rpcError(RPC.parse, `Parse error: a line is longer than ${MAX_LINE} bytes`),
          this.#writer,
        ),
    })
    const gone = (): void => void this.end('the client closed the pipe', 0)
    input.on('data', (chunk: Buffer) => lines.push(chunk))
    input.on('end', () => {
      lines.end()
      void this.end('the client closed the pipe', graceMs)
    })
    input.on('error', gone)
    const unread = (): void => {
      this.#writer.drop()
      gone()
    }
    output.on('error', unread)
    output.on('close', unread)
  }

  /** Reads on, unless the reader of our answers is behind or the session is not open yet. */
  #flow(): void {
    if (this.#isEnding || this.#writer.isBlocked || this.#held !== undefined) this.#options.input.pause()
    else this.#options.input.resume()
  }

  #take(line: Buffer): void {
    if (!isBatch(line)) return this.#handle(parseMessage(line), this.#writer)
    const messages = parseBatch(line)
    if ('code' in messages) return this.#refuse(null, messages, this.#writer)
    const answers = new BatchLine(answersOf(messages), this.#writer)
    for (const message of messages) this.#handle(message, answers)
  }

  #handle(message: Message, answers: Answers): void {
    if (this.#held !== undefined) this.#held.push({ message, answers })
    else if (message.kind === 'request') this.#request(message, answers)
    else if (message.kind === 'notification') this.#notification(message)
    else if (message.kind === 'malformed') this.#refuse(message.id, message.error, answers)
  }

  #notification({ method, params }: RpcNotification): void {
    if (method === 'notifications/cancelled') return this.#cancel(params?.requestId, params?.reason)
    if (this.#session.root !== undefined)
      this.#options.context.gate.notified(this.#session.root, { method, params })
  }

  /** Ends the request with strictly that id. What was cancelled is not answered. */
  #cancel(id: unknown, reason: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number') return
    const request = this.#running.get(id)
    // `initialize` cannot be cancelled.
    if (request === undefined || request.method === 'initialize') return
    request.isSilent = true
    request.cancel(typeof reason === 'string' ? reason : 'the client cancelled it')
  }

  #request(request: RpcRequest, answers: Answers): void {
    if (this.#running.has(request.id)) return this.#refuse(request.id, TAKEN, answers)
    if (this.#running.size >= MAX_RUNNING) return this.#refuse(request.id, TOO_MANY, answers)
    const admitted = this.#era.admit(request)
    if ('refused' in admitted) return this.#refuse(request.id, admitted.refused, answers)
    if ('pong' in admitted)
      return answers.write(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":{}}`)
    const running = new PipeRequest(request, admitted.as, answers, this.#writer)
    const session = this.#session.find(admitted.as, admitted.client)
    if (session === undefined) void this.#open(running, admitted.as, admitted.client)
    else void this.#run(running, () => running.run(this.#options.context.gate, session))
  }

  /** Opens the session for its first request; what comes meanwhile waits, so that order is kept. */
  async #open(request: PipeRequest, era: Era, client: ClientSide | undefined): Promise<void> {
    this.#held = []
    this.#flow()
    try {
      const session = await this.#session.open(era, client)
      void this.#run(request, () => request.run(this.#options.context.gate, session))
    } catch (thrown) {
      this.#refuse(
        request.id,
        errorFor(thrownAnswer(thrown, this.#options.context.log).error, era),
        request.answers,
      )
    }
    const held = this.#held
    this.#held = undefined
    for (const { message, answers } of held) this.#handle(message, answers)
    this.#flow()
    this.#settle()
  }

  async #run(request: PipeRequest, start: () => Promise<Answer>): Promise<void> {
    this.#running.set(request.id, request)
    const answer = await start()
    this.#running.delete(request.id)
    if (!request.isSilent || request.answers !== this.#writer) this.#answer(request, answer)
    this.#settle()
  }

  #answer(request: PipeRequest, answer: Answer): void {
    const final = request.isListen ? listenAnswer(answer, request.id, this.#isEnding) : answer
    try {
      request.answers.write(encodeAnswer(request.id, request.method, final, request.era))
    } catch (thrown) {
      this.#refuse(request.id, thrownAnswer(thrown, this.#options.context.log).error, request.answers)
    }
  }

  #refuse(id: RpcId | null, error: RpcError, answers: Answers): void {
    answers.write(encodeError(id, error))
  }

  #settle(): void {
    if (this.#running.size === 0 && this.#held === undefined) this.#onQuiet()
  }

  /** Reads no more, lets open requests end within `graceMs`, then cancels them. */
  async end(reason: string, graceMs: number): Promise<void> {
    const { clock } = this.#options.context
    if (this.#isEnding) {
      if (!(await within(clock, graceMs, this.ended))) this.#cancelAll()
      return this.ended
    }
    this.#isEnding = true
    this.#options.input.pause()
    const quiet = new Promise<void>(resolve => (this.#onQuiet = resolve))
    for (const request of this.#running.values()) if (request.isListen) request.cancel('shutdown')
    this.#settle()
    if (!(await within(clock, graceMs, quiet))) this.#cancelAll()
    await within(clock, FLUSH_MS, this.#writer.finished())
    this.#session.close(reason)
    this.#onEnded()
  }

  #cancelAll(): void {
    for (const request of this.#running.values()) request.cancel('shutdown')
  }
}

/** The answers of a batch, written as one array. */
class BatchLine implements Answers {
  readonly #answers: BatchAnswers
  readonly #writer: LineWriter

  constructor(expected: number, writer: LineWriter) {
    this.#answers = new BatchAnswers(expected)
    this.#writer = writer
  }

  write(message: Buffer | string): void {
    this.#answers.add(message)
    if (this.#answers.isComplete) this.#writer.write(this.#answers.asArray())
  }
}
