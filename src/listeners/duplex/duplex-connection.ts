import type {
  Answer,
  ClientSide,
  Era,
  ListenerContext,
  Notification,
  Principal,
  RpcError,
} from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import { encodeError, inOnePiece, isBatch, parseMessage } from '../../protocol/jsonrpc.ts'
import type { Message, RpcId, RpcNotification, RpcRequest, Written } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { answersOf, BatchAnswers, parseBatch } from '../client/batch.ts'
import { encodeAnswer, encodeTold, errorFor, listenAnswer, thrownAnswer } from '../client/encode-answer.ts'
import { Asking, ClientAsks } from '../client/server-requests.ts'
import { Drops } from '../../transport/unexpected-messages.ts'
import { InFlight } from '../../transport/id-map.ts'
import { within } from '../../util/within.ts'
import type { Arrived, Channel } from '../../transport/channel.ts'
import { PipeEra } from './connection-era.ts'
import { PipeRequest, type Answers, type PipeEnds } from './connection-request.ts'
import { PipeSession } from './connection-session.ts'

const MAX_RUNNING = 1024
/** How long the last bytes may take to leave. */
const FLUSH_MS = 1000
/** What is about to be answered when the client has closed its end; the rest is cancelled, so that servers stop working for nobody. */
const LAST_ANSWERS_MS = 150
const TAKEN = rpcError(RPC.invalidRequest, 'Invalid request: a request with this id is still running')
const TOO_MANY = rpcError(RPC.internal, `Too many requests at a time; at most ${MAX_RUNNING} may run`)

/** What a conversation needs of its listener. */
export type PipeContext = Pick<ListenerContext, 'name' | 'gate' | 'log' | 'clock'>

export interface PipeOptions {
  readonly channel: Channel
  readonly context: PipeContext
  /** Who the client is; nobody in particular on a local pipe. */
  readonly principal?: Principal
  /** What the client calls this conversation. */
  readonly label?: string | undefined
  /** The view it gets. */
  readonly profile?: string | undefined
  /** How long open requests may go on after the client has closed its end. */
  readonly graceMs: number
  /** Whether this way of transport is older than the modern era. */
  readonly isLegacyOnly?: boolean
}

/** One client whose messages all take the same way: a pair of streams, a WebSocket, an event stream with its POSTs. */
export class Pipe {
  /** Resolves when the conversation is over and everything said has left. */
  readonly ended: Promise<void>
  readonly #options: PipeOptions
  readonly #era: PipeEra
  readonly #session: PipeSession
  readonly #writer: Channel
  readonly #asks: ClientAsks
  readonly #ends: PipeEnds
  readonly #running = new InFlight<PipeRequest>()
  /** What came while the session opens; undefined when it does not. */
  #held: { message: Message; answers: Answers; arrived: Arrived | undefined }[] | undefined
  #isEnding = false
  #heardAt: number
  #onQuiet: () => void = () => undefined
  #onEnded: () => void = () => undefined

  constructor(options: PipeOptions) {
    const { context, channel } = options
    this.#options = options
    this.#heardAt = context.clock.now()
    this.#era = new PipeEra(options.isLegacyOnly)
    this.#writer = channel
    this.#asks = new ClientAsks(context.clock, new Drops(context.log))
    this.#ends = { channel, asks: this.#asks }
    const asking = new Asking(this.#asks, message => {
      channel.write(message)
      return true
    })
    this.ended = new Promise(resolve => (this.#onEnded = resolve))
    this.#session = new PipeSession({
      gate: context.gate,
      listener: context.name,
      principal: options.principal ?? ANONYMOUS,
      label: options.label,
      profile: options.profile,
      notify: notification => this.#tell(notification),
      ask: ask => asking.ask(ask),
    })
  }

  start(): void {
    const { graceMs } = this.#options
    const over = (ms: number): void => void this.end('the client closed the connection', ms)
    this.#writer.open({
      message: (bytes, arrived) => this.#take(bytes, arrived),
      tooLong: limit => this.#refuse(null, tooLong(limit), this.#writer),
      ended: () => over(Math.min(graceMs, LAST_ANSWERS_MS)),
      gone: () => over(0),
      flow: () => this.#flow(),
    })
  }

  /** Since when nothing happens here; undefined while something does. */
  get idleSince(): number | undefined {
    return this.#running.size > 0 || this.#held !== undefined ? undefined : this.#heardAt
  }

  #touch(): void {
    this.#heardAt = this.#options.context.clock.now()
  }

  #tell(notification: Notification): boolean {
    const reader = this.#session.root?.client
    const told = reader && encodeTold(notification, reader)
    if (told === undefined) return false
    this.#touch()
    return this.#writer.tell(told)
  }

  /** Reads on, unless the reader of our answers is behind or the session is not open yet. */
  #flow(): void {
    if (this.#isEnding || this.#writer.isBlocked || this.#held !== undefined) this.#writer.pause()
    else this.#writer.resume()
  }

  #take(bytes: Buffer, arrived: Arrived | undefined): void {
    this.#touch()
    if (!isBatch(bytes)) return this.#handle(parseMessage(bytes), this.#writer, arrived)
    const messages = parseBatch(bytes)
    if ('code' in messages) return this.#refuse(null, messages, this.#writer)
    const answers = new BatchAnswer(answersOf(messages), this.#writer)
    for (const message of messages) this.#handle(message, answers, arrived)
  }

  #handle(message: Message, answers: Answers, arrived: Arrived | undefined): void {
    if (this.#held !== undefined) this.#held.push({ message, answers, arrived })
    else if (message.kind === 'request') this.#request(message, answers, arrived)
    else if (message.kind === 'notification') this.#notification(message)
    else if (message.kind === 'response') this.#asks.answer(message)
    else this.#refuse(message.id, message.error, answers)
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

  #request(request: RpcRequest, answers: Answers, arrived: Arrived | undefined): void {
    if (this.#running.has(request.id)) return this.#refuse(request.id, TAKEN, answers)
    if (this.#running.size >= MAX_RUNNING) return this.#refuse(request.id, TOO_MANY, answers)
    const { gate, name } = this.#options.context
    const now = gate.admit(name)
    if (now !== undefined && now !== 'close') return this.#refuse(request.id, now.error, answers)
    const admitted = this.#era.admit(request)
    if ('refused' in admitted) return this.#refuse(request.id, admitted.refused, answers)
    if ('pong' in admitted)
      return answers.write(`{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":{}}`)
    const running = new PipeRequest(request, admitted.as, answers, this.#ends, arrived)
    const session = this.#session.find(admitted.as, admitted.client)
    if (session === undefined) void this.#open(running, admitted.as, admitted.client)
    else void this.#run(running, () => running.run(gate, session))
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
        errorFor(thrownAnswer(thrown, this.#options.context.log).error, request.reader),
        request.answers,
      )
    }
    const held = this.#held
    this.#held = undefined
    for (const { message, answers, arrived } of held) this.#handle(message, answers, arrived)
    this.#flow()
    this.#settle()
  }

  async #run(request: PipeRequest, start: () => Promise<Answer>): Promise<void> {
    this.#running.set(request.id, request)
    const answer = await start()
    this.#running.delete(request.id)
    this.#touch()
    request.over('the request that asked is over')
    if (!request.isSilent || request.answers !== this.#writer) this.#answer(request, answer)
    this.#settle()
  }

  #answer(request: PipeRequest, answer: Answer): void {
    const final = request.isListen ? listenAnswer(answer, request.id, this.#isEnding) : request.final(answer)
    try {
      request.answers.write(encodeAnswer(request.id, request.method, final, request.reader))
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
    this.#writer.pause()
    // Nobody reads the replies from here on.
    this.#asks.close(reason)
    const quiet = new Promise<void>(resolve => (this.#onQuiet = resolve))
    for (const request of this.#running.values()) if (request.isListen) request.cancel('shutdown')
    this.#settle()
    if (!(await within(clock, graceMs, quiet))) {
      this.#cancelAll()
      await within(clock, FLUSH_MS, quiet)
    }
    await within(clock, FLUSH_MS, this.#writer.finished())
    this.#session.close(reason)
    this.#onEnded()
  }

  #cancelAll(): void {
    for (const request of this.#running.values()) request.shutDown()
  }
}

/** The answers of a batch, written as one array. */
class BatchAnswer implements Answers {
  readonly #answers: BatchAnswers
  readonly #writer: Answers

  constructor(expected: number, writer: Answers) {
    this.#answers = new BatchAnswers(expected)
    this.#writer = writer
  }

  write(message: Written): void {
    this.#answers.add(inOnePiece(message))
    if (this.#answers.isComplete) this.#writer.write(this.#answers.asArray())
  }
}

function tooLong(limit: number): RpcError {
  return rpcError(RPC.parse, `Parse error: a message is longer than ${limit} bytes`)
}
