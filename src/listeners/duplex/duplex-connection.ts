import type {
  Answer,
  Choices,
  ClientDescription,
  Era,
  ListenerContext,
  Notification,
  Principal,
  RpcError,
  Session,
  Via,
} from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import type { RpcId, RpcMessage, RpcNotification, RpcRequest } from '../../protocol/jsonrpc.ts'
import { encodeError, encodeId, isBatch, parseMessage } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { MessageContext, Channel } from '../../net/channel.ts'
import { DroppedMessages } from '../../net/unexpected-messages.ts'
import { settlesWithin } from '../../util/clock.ts'
import type { AddressedSocket, Admission, ResponseWriter } from '../client/inbound-request.ts'
import { InboundRequest, OVERLOADED, OpenRequests } from '../client/inbound-request.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { BatchWriter, parseBatch } from '../client/batch.ts'
import { encodeClientNotification, convertException } from '../client/client-protocol.ts'
import { Requester, ServerRequests } from '../client/server-requests.ts'
import { ConnectionEra, ConnectionSession } from './connection-session.ts'

const MAX_RUNNING = 1024
/** Flush timeout at close. */
const FLUSH_MS = 1000
/** Time for answers after the client closed its input. Later requests are cancelled to free their servers. */
const LAST_ANSWERS_MS = 150

/** Dependencies, taken from the listener. */
export type DuplexDeps = Pick<ListenerContext, 'name' | 'gate' | 'log' | 'clock'>

export interface DuplexOptions {
  readonly channel: Channel
  readonly context: DuplexDeps
  readonly via: Via
  /** Absent if the connection has no address. */
  readonly socket?: AddressedSocket | undefined
  /** Default: anonymous. */
  readonly principal?: Principal
  readonly label?: string | undefined
  readonly profile?: string | undefined
  /** Choices from the URL query. */
  readonly choices?: Choices | undefined
  /** The client's working directory, if known before it sends roots. */
  readonly directory?: string | undefined
  /** Concurrency limit shared by all clients of the listener. */
  readonly admission?: Admission
  /** Time for open requests to finish after the client closed its input. */
  readonly graceMs: number
  /** True for transports that predate the modern era. */
  readonly isLegacyOnly?: boolean
}

/** One client on a bidirectional transport: a pipe pair, a WebSocket, or an event stream with POSTs. */
export class DuplexConnection {
  /** Resolves when the session is closed and all output is flushed. */
  readonly closed: Promise<void>
  readonly #options: DuplexOptions
  readonly #era: ConnectionEra
  readonly #session: ConnectionSession
  readonly #channel: Channel
  readonly #writer: ResponseWriter
  readonly #requests: ServerRequests
  readonly #open = new OpenRequests(MAX_RUNNING)
  /** Messages received while the session opens; undefined at other times. */
  #buffered: { message: RpcMessage; writer: ResponseWriter; arrived: MessageContext | undefined }[] | undefined
  #isEnding = false
  #activeAt: number
  #onIdle: () => void = () => undefined
  #onEnded: () => void = () => undefined

  constructor(options: DuplexOptions) {
    const { context, channel } = options
    this.#options = options
    this.#activeAt = context.clock.now()
    this.#era = new ConnectionEra(options.isLegacyOnly)
    this.#channel = channel
    this.#writer = new ChannelWriter(channel)
    this.#requests = new ServerRequests(context.clock, new DroppedMessages(context.log))
    const requester = new Requester(this.#requests, message => this.#writer.send(message))
    this.closed = new Promise(resolve => (this.#onEnded = resolve))
    this.#session = new ConnectionSession({
      gate: context.gate,
      listener: context.name,
      principal: options.principal ?? ANONYMOUS,
      label: options.label,
      profile: options.profile,
      directory: options.directory,
      choices: options.choices,
      notify: notification => this.#notify(notification),
      ask: ask => requester.ask(ask),
    })
  }

  start(): void {
    const { graceMs } = this.#options
    const endConnection = (ms: number): void => void this.end('the client closed the connection', ms)
    this.#channel.open({
      message: (bytes, arrived) => this.#receive(bytes, arrived),
      tooLong: limit => this.#refuse(null, createTooLongError(limit), this.#writer),
      inputEnded: () => endConnection(Math.min(graceMs, LAST_ANSWERS_MS)),
      closed: () => endConnection(0),
      flow: () => this.#updateFlow(),
    })
  }

  /** Last activity time; undefined while busy. */
  get idleSince(): number | undefined {
    return this.#isBusy ? undefined : this.#activeAt
  }

  get #isBusy(): boolean {
    return this.#open.size > 0 || this.#buffered !== undefined
  }

  #touch(): void {
    this.#activeAt = this.#options.context.clock.now()
  }

  #notify(notification: Notification): boolean {
    const reader = this.#session.root?.client
    const message = reader && encodeClientNotification(notification, reader)
    if (message === undefined) return false
    this.#touch()
    return this.#channel.writeOptional(message)
  }

  /** Pauses reading while the client is behind or the session is opening. */
  #updateFlow(): void {
    if (this.#isEnding || this.#channel.isBlocked || this.#buffered !== undefined) this.#channel.pause()
    else this.#channel.resume()
  }

  #receive(bytes: Buffer, arrived: MessageContext | undefined): void {
    // Read the clock only if idle: open requests update the activity time when they end.
    if (this.#open.size === 0) this.#touch()
    if (!isBatch(bytes)) return this.#handle(parseMessage(bytes), this.#writer, arrived)
    const messages = parseBatch(bytes)
    if ('code' in messages) return this.#refuse(null, messages, this.#writer)
    const writer = new BatchWriter(this.#writer, messages)
    for (const message of messages) this.#handle(message, writer, arrived)
  }

  #handle(message: RpcMessage, writer: ResponseWriter, arrived: MessageContext | undefined): void {
    if (this.#buffered !== undefined) this.#buffered.push({ message, writer, arrived })
    else if (message.kind === 'request') this.#handleRequest(message, writer, arrived)
    else if (message.kind === 'notification') this.#handleNotification(message)
    else if (message.kind === 'response') this.#requests.receiveReply(message)
    else this.#refuse(message.id, message.error, writer)
  }

  #handleNotification({ method, params }: RpcNotification): void {
    if (method === 'notifications/cancelled') return this.#open.cancel(params)
    if (this.#session.root !== undefined)
      this.#options.context.gate.receiveNotification(this.#session.root, { method, params })
  }

  #handleRequest(request: RpcRequest, writer: ResponseWriter, arrived: MessageContext | undefined): void {
    const problem = this.#open.checkId(request.id) ?? this.#checkAdmission()
    if (problem !== undefined) return this.#refuse(request.id, problem, writer)
    const admitted = this.#era.admit(request)
    if ('refused' in admitted) return this.#refuse(request.id, admitted.refused, writer)
    if ('pong' in admitted) return writer.finish(200, `{"jsonrpc":"2.0","id":${encodeId(request.id)},"result":{}}`)
    const client = admitted.as === 'modern' ? this.#session.reuseClient(admitted.client) : undefined
    const running = this.#createInbound(request, admitted.as, client, writer, arrived)
    const session = this.#session.find(admitted.as, admitted.client)
    if (session === undefined) void this.#startSession(running, admitted.as, client ?? admitted.client)
    else void this.#run(running, session)
  }

  /** Legacy clients accept requests during a call, after the handshake. */
  #createInbound(
    request: RpcRequest,
    era: Era,
    client: ClientDescription | undefined,
    writer: ResponseWriter,
    arrived: MessageContext | undefined,
  ): InboundRequest {
    const { via, socket } = this.#options
    const origin = {
      via,
      socket,
      headers: arrived?.headers,
      principal: arrived?.caller,
      label: undefined,
      client,
    }
    const canBeAsked = era === 'legacy' && request.method !== 'initialize'
    return new InboundRequest(request, era, origin, writer, canBeAsked ? this.#requests : undefined)
  }

  #checkAdmission(): RpcError | undefined {
    const { gate, name } = this.#options.context
    const refusal = gate.admit(name)
    if (refusal !== undefined && refusal !== 'close') return refusal.error
    return this.#options.admission?.isFull === true ? OVERLOADED.error : undefined
  }

  /** Opens the session for the first request. Buffers later messages to preserve their order. */
  async #startSession(request: InboundRequest, era: Era, client: ClientDescription | undefined): Promise<void> {
    this.#buffered = []
    this.#updateFlow()
    try {
      void this.#run(request, await this.#session.open(era, client))
    } catch (thrown) {
      request.refuse(convertException(thrown, this.#options.context.log).error)
    }
    const pending = this.#buffered
    this.#buffered = undefined
    for (const { message, writer, arrived } of pending) this.#handle(message, writer, arrived)
    this.#updateFlow()
    this.#notifyIfIdle()
  }

  async #run(request: InboundRequest, session: Session): Promise<void> {
    const { gate, log } = this.#options.context
    const answer: Answer = await this.#open.run(request, gate, session, this.#options.admission)
    if (this.#open.size === 0) this.#touch()
    // Cancelled requests get no answer, except in a batch, which waits for all.
    if (!request.isCancelled || request.writer !== this.#writer) request.finish(answer, this.#isEnding, log)
    this.#notifyIfIdle()
  }

  #refuse(id: RpcId | null, error: RpcError, writer: ResponseWriter): void {
    writer.finish(400, encodeError(id, error))
  }

  #notifyIfIdle(): void {
    if (!this.#isBusy) this.#onIdle()
  }

  /** Stops reading, waits up to `graceMs` for open requests, then cancels them. */
  async end(reason: string, graceMs: number): Promise<void> {
    const { clock } = this.#options.context
    if (this.#isEnding) {
      if (!(await settlesWithin(clock, graceMs, this.closed))) this.#cancelAll()
      return this.closed
    }
    this.#isEnding = true
    this.#channel.pause()
    // Replies are no longer read.
    this.#requests.close(reason)
    const quiet = new Promise<void>(resolve => (this.#onIdle = resolve))
    for (const request of this.#open.values()) if (request.isListen) request.cancel('shutdown')
    this.#notifyIfIdle()
    if (!(await settlesWithin(clock, graceMs, quiet))) {
      this.#cancelAll()
      await settlesWithin(clock, FLUSH_MS, quiet)
    }
    await settlesWithin(clock, FLUSH_MS, this.#channel.waitForDrain())
    this.#session.close(reason)
    this.#onEnded()
  }

  #cancelAll(): void {
    for (const request of this.#open.values()) request.shutDown()
  }
}

/** Writes all messages to one channel. */
class ChannelWriter implements ResponseWriter {
  readonly canStream = true
  readonly isShared = true
  readonly #channel: Channel

  constructor(channel: Channel) {
    this.#channel = channel
  }

  notify(message: string): void {
    this.#channel.writeOptional(message)
  }

  /** Queued like answers: requests to a client must not be dropped. */
  send(message: Buffer | string): boolean {
    this.#channel.write(message)
    return true
  }

  prime(): void {
    // Not resumable: losing the stream means losing the connection.
  }

  finish(_status: number, message: EncodedMessage): void {
    this.#channel.write(message)
  }

  onLost(): void {
    // Server requests end with the connection.
  }
}

function createTooLongError(limit: number): RpcError {
  return rpcError(RPC.parse, `Parse error: message is larger than ${limit} bytes`)
}
