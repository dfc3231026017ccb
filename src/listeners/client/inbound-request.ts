import type {
  Answer,
  Ask,
  AskReply,
  ClientSide,
  Credentials,
  Era,
  Gate,
  Inbound,
  JsonObject,
  Log,
  Notification,
  Principal,
  RpcError,
  Running,
  Session,
  Via,
} from '../../api/index.ts'
import { stampSubscription } from '../../protocol/era/modern.ts'
import type { Reader } from '../../protocol/methods.ts'
import { newestReader } from '../../protocol/methods.ts'
import type { RpcId, RpcRequest } from '../../protocol/jsonrpc.ts'
import { encodeError, idAsJson } from '../../protocol/jsonrpc.ts'
import type { EncodedMessage } from '../../util/written.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { RpcPeer } from '../../protocol/rpc-peer.ts'
import type { Admission } from './admission.ts'
import {
  encodeAnswer,
  encodeClientNotification,
  adaptError,
  LISTEN_METHOD,
  createListenAnswer,
  createStoppingAnswer,
  createErrorAnswer,
} from './encode-answer.ts'
import type { ServerRequests } from './server-requests.ts'
import { Requester } from './server-requests.ts'

/** Writes what one request sends to its client: messages ahead of the answer, and the answer. */
export interface ResponseWriter {
  /** True if messages can go ahead of the answer. */
  readonly canStream: boolean
  /** True if other requests write here too, so that each message stands for itself. */
  readonly isShared: boolean
  /** Sends a message ahead of the answer that may be missed. */
  notify(message: string): void
  /** Sends a message ahead of the answer; false when the client will never read it. */
  send(message: Buffer | string): boolean
  /** Gives a client that waits an id to come back with, where it can use one. */
  prime(): void
  /** False for an answer that would wait for others and for which there is no room; absent where none waits. */
  canBuffer?(answer: EncodedMessage): boolean
  /** Writes the answer. The status and the headers are for a response that has not begun. */
  finish(status: number, message: EncodedMessage, headers?: Readonly<Record<string, string>>): void
  /** Runs `listener` when the client goes away before its answer and cannot come back for it. */
  onLost(listener: () => void): void
}

/** A connection that knows where its other end is. */
export interface AddressedSocket {
  readonly remoteAddress?: string | undefined
}

/** Facts about a request beside its message: how it came, and what it differs in from its session. */
export interface RequestOrigin {
  readonly via: Via
  /** The connection; absent where it has no address. */
  readonly socket?: AddressedSocket | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly principal: Principal | undefined
  readonly label?: string | undefined
  readonly client?: ClientSide | undefined
  readonly credentials?: Credentials | undefined
}

/** One request of a client on its way, over whatever it came. */
export class InboundRequest implements Inbound {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  readonly bytes: number
  readonly era: Era
  readonly via: Via
  readonly headers: Readonly<Record<string, string>>
  readonly principal: Principal | undefined
  readonly label: string | undefined
  readonly client: ClientSide | undefined
  readonly credentials: Credentials | undefined
  /** The client has cancelled it, and wants nothing more of it. */
  isCancelled = false
  readonly writer: ResponseWriter
  readonly #socket: AddressedSocket | undefined
  readonly #requests: ServerRequests | undefined
  /** The client that reads the answer, as well as it is known. */
  #reader: Reader
  #running: Running | undefined = undefined
  #requester: Requester | undefined = undefined
  #ask: ((ask: Ask) => Promise<AskReply>) | undefined = undefined
  #isOver = false
  #isShutDown = false
  /** Why it was cancelled before it began. */
  #cancelledEarly: string | undefined

  /** With `requests`, its client can be asked something. */
  constructor(
    request: RpcRequest,
    era: Era,
    origin: RequestOrigin,
    writer: ResponseWriter,
    requests?: ServerRequests,
  ) {
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
    this.#reader = newestReader(era)
  }

  /** Read when somebody wants it: it costs a call of the system. */
  get remoteAddress(): string | undefined {
    return this.#socket?.remoteAddress
  }

  emit({ method, params }: Notification): void {
    if (this.isCancelled) return
    const stamped = this.isListen ? stampSubscription(params, idAsJson(this.id)) : params
    const message = encodeClientNotification({ method, params: stamped }, this.#reader)
    if (message !== undefined) this.writer.notify(message)
  }

  get isListen(): boolean {
    return this.method === LISTEN_METHOD && this.era === 'modern'
  }

  /** Asks the client on this request's own way; undefined where that is not possible. Most requests never look. */
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

  /** Sends it through the pipeline; nothing is written to the client yet. Who has waited for the answer calls `settled`. */
  run(gate: Gate, session: Session, admission?: Admission): Promise<Answer> {
    this.#reader = this.client ?? session.client
    // A stream of notifications may stay open for hours, and takes no place.
    if (admission === undefined || this.isListen) return this.#start(gate, session)
    return admission.run(this.principal ?? session.principal, () => this.#start(gate, session))
  }

  #start(gate: Gate, session: Session): Promise<Answer> {
    this.#running = gate.run(session, this)
    if (this.#cancelledEarly !== undefined) this.#running.cancel(this.#cancelledEarly)
    return this.#running.answer
  }

  /** Notes that its answer is there: its client is asked nothing more. No wait of its own, as that would cost each request a turn. */
  markAnswered(): void {
    this.#end('the request that asked is over')
  }

  /** Resolves when it has its answer. */
  get answered(): Promise<unknown> {
    return Promise.resolve(this.#running?.answer)
  }

  /** Ends it with an error that says why: the gateway stops and waits no longer. */
  shutDown(): void {
    this.#isShutDown = true
    this.cancel('shutdown')
  }

  /** Gives a client that has waited for long an id to come back with. */
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

  /** Writes the answer to the client. A stream that ends because the gateway stops ends gracefully. */
  finish(answer: Answer, isStopping: boolean, log: Log): void {
    const final = this.#createFinalAnswer(answer, isStopping)
    let status = 'error' in final ? (final.http?.status ?? getErrorStatus(final.error, this.era)) : 200
    let message: EncodedMessage
    try {
      message = encodeAnswer(this.id, this.method, final, this.#reader)
    } catch (thrown) {
      status = 200
      message = encodeError(this.id, adaptError(createErrorAnswer(thrown, log).error, this.#reader))
    }
    if (this.writer.canBuffer?.(message) === false) message = encodeError(this.id, BATCH_TOO_LARGE)
    this.writer.finish(status, message, 'error' in final ? final.http?.headers : undefined)
  }

  #createFinalAnswer(answer: Answer, isStopping: boolean): Answer {
    if (this.isListen) return createListenAnswer(answer, this.id, isStopping)
    return this.#isShutDown && 'error' in answer ? createStoppingAnswer() : answer
  }

  /** Answers with an error instead of running. */
  refuse(error: RpcError): void {
    this.writer.finish(400, encodeError(this.id, adaptError(error, this.#reader)))
  }
}

const BATCH_TOO_LARGE = rpcError(
  RPC.internal,
  'The answers of this batch are too large together: this one is left out, though its request has run; send it by itself',
)

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

const BAD_REQUEST: ReadonlySet<number> = new Set([
  RPC.parse,
  RPC.invalidRequest,
  RPC.headerMismatch,
  RPC.missingCapability,
  RPC.unsupportedVersion,
])

/** The HTTP status of an error answer: legacy clients look into the body only. */
export function getErrorStatus(error: RpcError, era: Era): number {
  if (era === 'legacy') return 200
  if (error.code === RPC.methodNotFound) return 404
  return BAD_REQUEST.has(error.code) ? 400 : 200
}

const DUPLICATE_ID = rpcError(RPC.invalidRequest, 'Invalid request: a request with this id is still running')

/** The requests of one client that are under way, by its own ids: `1` is not `"1"`. */
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

  /** Checks the id of a request that is to begin: the answers of two with one id could not be told apart. */
  checkId(id: RpcId): RpcError | undefined {
    if (this.#peer.received.has(id)) return DUPLICATE_ID
    if (this.size < this.#max) return undefined
    return rpcError(RPC.internal, `Too many requests at a time; at most ${this.#max} may run`)
  }

  /** Runs a request, which is one of these until it has its answer. */
  async run(request: InboundRequest, gate: Gate, session: Session, admission?: Admission): Promise<Answer> {
    this.#peer.receive(request.id, request)
    const answer = await request.run(gate, session, admission)
    request.markAnswered()
    this.#peer.answers(request.id, request)
    return answer
  }

  /** Takes `notifications/cancelled`, which ends the request with strictly that id; `initialize` cannot be cancelled. */
  cancel(params: JsonObject | undefined): void {
    const { requestId, reason } = params ?? {}
    const id = this.#peer.received.known(requestId)
    const request = id === undefined ? undefined : this.#peer.received.get(id)
    if (request === undefined || request.method === 'initialize') return
    request.isCancelled = true
    request.cancel(typeof reason === 'string' ? reason : 'the client cancelled it')
  }
}
