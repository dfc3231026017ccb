import type {
  Answer,
  Ask,
  AskReply,
  ClientDescription,
  Credentials,
  Era,
  Gate,
  IncomingRequest,
  JsonObject,
  Log,
  Notification,
  Principal,
  Refusal,
  RpcError,
  RunningExchange,
  Session,
  Via,
} from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { MemoryBudget } from '../../net/backlog.ts'
import { principalKey } from '../../plugin.ts'
import { stampSubscription } from '../../protocol/era/convert.ts'
import type { RpcId, RpcRequest } from '../../protocol/jsonrpc.ts'
import { encodeError, toJsonId } from '../../protocol/jsonrpc.ts'
import type { ClientVersion } from '../../protocol/methods.ts'
import { getNewestVersion } from '../../protocol/methods.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { RpcPeer } from '../../protocol/rpc-peer.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { FairQueue } from '../../util/queues.ts'
import {
  adaptError,
  convertException,
  createListenAnswer,
  createStoppingAnswer,
  encodeAnswer,
  encodeClientNotification,
  LISTEN_METHOD,
} from './client-protocol.ts'
import type { ServerRequests } from './server-requests.ts'
import { Requester } from './server-requests.ts'

/** Queue limit per caller. */
const MAX_WAITING = 1024

/** Refusal when the listener is at capacity (HTTP 503). */
export const OVERLOADED: Refusal = createOverloadedRefusal()

function createOverloadedRefusal(): Refusal {
  const { code, message } = gatewayError('GW_OVERLOADED')
  return { status: 503, error: rpcError(RPC.internal, message, { code }), headers: { 'retry-after': '2' } }
}

/** Limits concurrent requests on a listener. Requests above the limit queue, and callers are served in turn. */
export class Admission {
  /** Updated on reload. */
  max: number
  readonly #memory: MemoryBudget
  readonly #queue = new FairQueue<() => void>()
  #open = 0

  constructor(max: number, memory: MemoryBudget) {
    this.max = max
    this.#memory = memory
  }

  /** True if the listener holds too many bytes to start another request. */
  get isFull(): boolean {
    return this.#memory.isFull
  }

  /** Runs a request immediately, or after it has queued. */
  run(caller: Principal, open: () => Promise<Answer>): Promise<Answer> {
    return this.#open < this.max ? this.#run(open) : this.#wait(principalKey(caller), open)
  }

  async #run(open: () => Promise<Answer>): Promise<Answer> {
    this.#open++
    try {
      return await open()
    } finally {
      this.#open--
      if (this.#open < this.max) this.#queue.take()?.()
    }
  }

  async #wait(caller: string, open: () => Promise<Answer>): Promise<Answer> {
    if (this.#queue.countQueued(caller) >= MAX_WAITING) {
      const { error, status, headers } = OVERLOADED
      return { error, http: { status, headers } }
    }
    await new Promise<void>(resolve => this.#queue.add(caller, resolve))
    return this.#run(open)
  }
}

/** Sends the messages and the answer for one request to its client. */
export interface ResponseWriter {
  /** True if messages can precede the answer. */
  readonly canStream: boolean
  /** True if several requests share this writer, so each message must be complete. */
  readonly isShared: boolean
  /** Sends a message that may be dropped. */
  notify(message: string): void
  /** Sends a message ahead of the answer; false if the client cannot receive it. */
  send(message: Buffer | string): boolean
  /** Sends an event id so that the client can resume, if the stream supports it. */
  prime(): void
  /** False if a batched answer exceeds the buffer. Absent if answers are not buffered. */
  canBuffer?(answer: EncodedMessage): boolean
  /** Writes the answer. Status and headers apply only if the response has not started. */
  finish(status: number, message: EncodedMessage, headers?: Readonly<Record<string, string>>): void
  /** Calls `listener` if the client disconnects before the answer and cannot resume. */
  onLost(listener: () => void): void
}

export interface AddressedSocket {
  readonly remoteAddress?: string | undefined
}

/** How a request arrived, and how it differs from its session. */
export interface RequestOrigin {
  readonly via: Via
  /** Absent if the connection has no address. */
  readonly socket?: AddressedSocket | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly principal: Principal | undefined
  readonly label?: string | undefined
  readonly client?: ClientDescription | undefined
  readonly credentials?: Credentials | undefined
}

/** One client request, on any transport. */
export class InboundRequest implements IncomingRequest {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  readonly bytes: number
  readonly era: Era
  readonly via: Via
  readonly headers: Readonly<Record<string, string>>
  readonly principal: Principal | undefined
  readonly label: string | undefined
  readonly client: ClientDescription | undefined
  readonly credentials: Credentials | undefined
  /** The client cancelled it and expects no answer. */
  isCancelled = false
  readonly writer: ResponseWriter
  readonly #socket: AddressedSocket | undefined
  readonly #requests: ServerRequests | undefined
  /** The client that reads the answer, or the newest of its era until known. */
  #reader: ClientVersion
  #running: RunningExchange | undefined = undefined
  #requester: Requester | undefined = undefined
  #ask: ((ask: Ask) => Promise<AskReply>) | undefined = undefined
  #isOver = false
  #isShutDown = false
  /** Reason for a cancellation before the start. */
  #cancelledEarly: string | undefined

  /** `requests` enables requests to the client. */
  constructor(request: RpcRequest, era: Era, origin: RequestOrigin, writer: ResponseWriter, requests?: ServerRequests) {
    this.id = request.id
    this.method = request.method
    this.params = request.params
    this.bytes = request.bytes
    this.era = era
    this.via = origin.via
    this.headers = origin.headers ?? NO_HEADERS
    this.principal = origin.principal
    this.label = origin.label
    this.client = origin.client
    this.credentials = origin.credentials
    this.writer = writer
    this.#socket = origin.socket
    this.#requests = requests
    this.#reader = getNewestVersion(era)
  }

  /** Lazy, as it costs a system call. */
  get remoteAddress(): string | undefined {
    return this.#socket?.remoteAddress
  }

  emit({ method, params }: Notification): void {
    if (this.isCancelled) return
    const stamped = this.isListen ? stampSubscription(params, toJsonId(this.id)) : params
    const message = encodeClientNotification({ method, params: stamped }, this.#reader)
    if (message !== undefined) this.writer.notify(message)
  }

  get isListen(): boolean {
    return this.method === LISTEN_METHOD && this.era === 'modern'
  }

  /** Sends a request to the client on this request's stream; undefined if that is impossible. Created lazily. */
  get ask(): ((ask: Ask) => Promise<AskReply>) | undefined {
    const requests = this.#requests
    if (requests === undefined || this.#isOver || !this.writer.canStream) return undefined
    this.#ask ??= ask => (this.#requester ??= this.#createRequester(requests)).ask(ask)
    return this.#ask
  }

  #createRequester(requests: ServerRequests): Requester {
    const { writer } = this
    const requester = new Requester(requests, message => writer.send(message))
    writer.onLost(() => requester.end('the client closed the connection'))
    return requester
  }

  /** Runs the pipeline without writing the answer. The caller must call `markAnswered` afterwards. */
  run(gate: Gate, session: Session, admission?: Admission): Promise<Answer> {
    this.#reader = this.client ?? session.client
    // Listen streams may stay open for hours, so they do not count against the limit.
    if (admission === undefined || this.isListen) return this.#start(gate, session)
    return admission.run(this.principal ?? session.principal, () => this.#start(gate, session))
  }

  #start(gate: Gate, session: Session): Promise<Answer> {
    this.#running = gate.run(session, this)
    if (this.#cancelledEarly !== undefined) this.#running.cancel(this.#cancelledEarly)
    return this.#running.answer
  }

  /**
   * Ends requests to the client. Called explicitly, as awaiting the answer here would cost a microtask per request.
   */
  markAnswered(): void {
    this.#end('the originating request has ended')
  }

  /** Resolves when the request is answered. */
  get answered(): Promise<unknown> {
    return Promise.resolve(this.#running?.answer)
  }

  /** Cancels with the shutdown error. */
  shutDown(): void {
    this.#isShutDown = true
    this.cancel('shutdown')
  }

  /** Sends an event id so that the client of a slow request can resume. */
  prime(): void {
    this.writer.prime()
  }

  cancel(reason: string): void {
    if (this.#running === undefined) this.#cancelledEarly = reason
    else this.#running.cancel(reason)
    this.#end(reason)
  }

  #end(reason: string): void {
    this.#isOver = true
    this.#requester?.end(reason)
  }

  /** Writes the answer. Listen streams end gracefully if the gateway is stopping. */
  finish(answer: Answer, isStopping: boolean, log: Log): void {
    const final = this.#createFinalAnswer(answer, isStopping)
    let status = 'error' in final ? (final.http?.status ?? getErrorStatus(final.error, this.era)) : 200
    let message: EncodedMessage
    try {
      message = encodeAnswer(this.id, this.method, final, this.#reader)
    } catch (thrown) {
      status = 200
      message = encodeError(this.id, adaptError(convertException(thrown, log).error, this.#reader))
    }
    if (this.writer.canBuffer?.(message) === false) message = encodeError(this.id, BATCH_TOO_LARGE)
    this.writer.finish(status, message, 'error' in final ? final.http?.headers : undefined)
  }

  #createFinalAnswer(answer: Answer, isStopping: boolean): Answer {
    if (this.isListen) return createListenAnswer(answer, this.id, isStopping)
    return this.#isShutDown && 'error' in answer ? createStoppingAnswer() : answer
  }

  /** Answers with an error without running. */
  refuse(error: RpcError): void {
    this.writer.finish(400, encodeError(this.id, adaptError(error, this.#reader)))
  }
}

const BATCH_TOO_LARGE = rpcError(
  RPC.internal,
  'Batch answers too large: this request has run, but its answer is omitted; send it separately',
)

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

const BAD_REQUEST: ReadonlySet<number> = new Set([
  RPC.parse,
  RPC.invalidRequest,
  RPC.headerMismatch,
  RPC.missingCapability,
  RPC.unsupportedVersion,
])

/** HTTP status for an error. Legacy clients read only the body, so they get 200. */
export function getErrorStatus(error: RpcError, era: Era): number {
  if (era === 'legacy') return 200
  if (error.code === RPC.methodNotFound) return 404
  return BAD_REQUEST.has(error.code) ? 400 : 200
}

const DUPLICATE_ID = rpcError(RPC.invalidRequest, 'Invalid request: id is in use by a running request')

/** One client's running requests by its own ids; `1` and `"1"` differ. */
export class OpenRequests {
  readonly #peer: RpcPeer<never, InboundRequest>
  readonly #max: number

  constructor(max = Infinity) {
    this.#max = max
    this.#peer = new RpcPeer({ sent: 0, received: max })
  }

  get size(): number {
    return this.#peer.received.size
  }

  values(): InboundRequest[] {
    return this.#peer.received.values()
  }

  /** Rejects an id that is in use, as its answers would be ambiguous, and requests above the limit. */
  checkId(id: RpcId): RpcError | undefined {
    if (this.#peer.received.has(id)) return DUPLICATE_ID
    if (this.size < this.#max) return undefined
    return rpcError(RPC.internal, `Too many concurrent requests (limit ${this.#max})`)
  }

  /** Registers a request until it is answered. */
  async run(request: InboundRequest, gate: Gate, session: Session, admission?: Admission): Promise<Answer> {
    this.#peer.addReceived(request.id, request)
    const answer = await request.run(gate, session, admission)
    request.markAnswered()
    this.#peer.settleReceived(request.id, request)
    return answer
  }

  /** Handles `notifications/cancelled` for an exact id match; `initialize` cannot be cancelled. */
  cancel(params: JsonObject | undefined): void {
    const { requestId, reason } = params ?? {}
    const request = this.#peer.received.get(requestId as RpcId)
    if (request === undefined || request.method === 'initialize') return
    request.isCancelled = true
    request.cancel(typeof reason === 'string' ? reason : 'cancelled by client')
  }
}
