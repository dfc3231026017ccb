import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { isObject, type JsonObject } from '../protocol/json/json.ts'
import { encodeError, isBatch, type RpcId, type RpcRequest } from '../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { LineSplitter } from '../transport/line-splitter.ts'
import { factsOf } from './relay-lines.ts'

const MAX_LINE = 64 * 1024 * 1024
const NEWLINE = Buffer.from('\n')
/** The time for the last answers when the client has gone. */
const FAREWELL_MS = 2000
/** Connections in a row that end before the gateway has said anything: such a one is full, or no gateway of ours. */
const MAX_MUTE = 5
/** Rest after the first of them; each later one is twice as long. */
const REST_MS = 100
/** Subscriptions that are made again at the next gateway. */
const MAX_SUBSCRIPTIONS = 1000
/** Requests that may have changed something: they are not sent twice. */
const ONCE: ReadonlySet<string> = new Set(['tools/call', 'tasks/cancel', 'tasks/update'])
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
/** The beginning of a reply as a gateway writes it. */
const REPLY = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.){0,300}"|-?\d{1,20}),"(?:result|error)":/
const LISTS = ['tools', 'prompts', 'resources'] as const

interface RelayOptions {
  readonly input: Readable
  readonly output: Writable
  /** Introduction that the gateway gets before the first message. */
  readonly hello: JsonObject
  /** Connects to a gateway, which is started where none runs. Rejects when there is none to be had. */
  connect(): Promise<Socket>
  /** Gets what the gateway says of itself at each connection. */
  attached(about: JsonObject): void
}

/** A request that the gateway has not answered yet. */
interface Open {
  readonly request: Pick<RpcRequest, 'id' | 'method'>
  /** Undefined for one of a batch, whose reply would be none of a batch: it is not sent again. */
  readonly line: Buffer | undefined
}

/** A request of its own line, which can be sent again. */
interface Line extends Open {
  readonly line: Buffer
}

/**
 * Carries one client's messages to a gateway and back, line by line. When the gateway restarts, the client's session is
 * taken up again at the next one: a client sees an error for the calls that were under way, and its lists anew.
 */
export class Relay {
  readonly #options: RelayOptions
  readonly #open = new Map<string, Open>()
  /** Ids of replies to what the relay itself has asked again. */
  readonly #repeated = new Set<string>()
  /** Messages of a legacy client that a new gateway must hear again. */
  #initialize: Line | undefined
  #isInitialized = false
  #logLevel: Line | undefined
  readonly #subscriptions = new Map<string, Line>()
  #socket: Socket | undefined
  /** True once the gateway on this socket has said something. */
  #isGreeted = false
  /** Lines of the client that wait for that: those of one chunk, after which no more is read. */
  readonly #held: Buffer[] = []
  #hasEnded = false
  #mute = 0
  #done: (code: number) => void = () => undefined

  constructor(options: RelayOptions) {
    this.#options = options
  }

  /** Resolves with an exit code when the client has gone, or no gateway is to be had. */
  async run(): Promise<number> {
    const { input, output } = this.#options
    const done = new Promise<number>(resolve => (this.#done = resolve))
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => this.#fromClient(line),
      onTooLong: () => this.#refuse(null, 'the message is too long'),
    })
    input.pause()
    input.on('data', (chunk: Buffer) => lines.push(chunk))
    input.on('end', () => {
      lines.end()
      this.#leave()
    })
    input.on('error', () => this.#leave())
    output.on('error', () => this.#leave())
    output.on('drain', () => this.#socket?.resume())
    await this.#attach()
    return done
  }

  #leave(): void {
    this.#hasEnded = true
    const socket = this.#socket
    if (socket === undefined) return this.#done(0)
    if (this.#held.length === 0) socket.end()
    setTimeout(() => socket.destroy(), FAREWELL_MS).unref()
  }

  async #attach(): Promise<void> {
    const { hello, connect, input } = this.#options
    try {
      const socket = await connect()
      this.#follow(socket)
      socket.write(`${JSON.stringify({ attach: hello })}\n`)
      if (this.#held.length === 0) input.resume()
    } catch (error) {
      this.#giveUp(error instanceof Error ? error.message : String(error))
    }
  }

  /**
   * The gateway has said something of itself: it runs, and is sent what the client says. One that is just dying still takes
   * connections, and nobody could tell what it did with what it was sent.
   */
  #greeted(socket: Socket): void {
    this.#isGreeted = true
    this.#repeat(socket)
    for (const line of this.#held.splice(0)) this.#fromClient(line)
    if (this.#hasEnded) this.#leave()
    else this.#options.input.resume()
  }

  /** Tries again, later each time: a gateway that takes nobody in must not be asked without a rest. */
  #attachLater(): void {
    if (this.#mute > MAX_MUTE) return this.#giveUp('the gateway closes each connection at once')
    if (this.#mute === 0) return void this.#attach()
    setTimeout(
      () => {
        if (!this.#hasEnded) void this.#attach()
      },
      REST_MS * 2 ** (this.#mute - 1),
    )
  }

  #giveUp(why: string): void {
    for (const line of this.#held.splice(0)) this.#noteLine(line)
    for (const { request } of this.#open.values()) this.#refuse(request.id, why)
    this.#done(1)
  }

  #follow(socket: Socket): void {
    const { input, attached } = this.#options
    let isFirst = true
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => {
        const isGreeting = isFirst
        const about = isGreeting ? aboutIn(line) : undefined
        isFirst = false
        this.#mute = 0
        if (about === undefined) this.#fromGateway(line)
        else attached(about)
        if (isGreeting && this.#socket === socket) this.#greeted(socket)
      },
      onTooLong: () => undefined,
    })
    this.#socket = socket
    socket.on('data', chunk => lines.push(chunk))
    socket.on('drain', () => this.#isGreeted && input.resume())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      this.#isGreeted = false
      lines.end()
      if (isFirst) this.#mute++
      if (this.#hasEnded) this.#done(0)
      else this.#lost(!isFirst)
    })
  }

  /**
   * Says of calls that nobody knows what came of them, and takes the session up at another gateway. One that has said nothing
   * was sent nothing.
   */
  #lost(hasSpoken: boolean): void {
    this.#options.input.pause()
    this.#repeated.clear()
    for (const [key, { request, line }] of this.#open) {
      if (line !== undefined && !(hasSpoken && ONCE.has(request.method))) continue
      this.#open.delete(key)
      this.#refuse(
        request.id,
        'the gateway went away during the call, which may have run; look before you repeat it',
      )
    }
    this.#attachLater()
  }

  /** Sends again what a new gateway has not heard, and the requests that may be asked twice. */
  #repeat(socket: Socket): void {
    const send = (line: Buffer | string): void =>
      void socket.write(Buffer.concat([Buffer.from(line), NEWLINE]))
    const first = this.#initialize
    if (first !== undefined && !this.#open.has(keyOf(first.request.id))) this.#again(first, send)
    if (this.#isInitialized) send(INITIALIZED)
    const settings = [
      ...(this.#logLevel === undefined ? [] : [this.#logLevel]),
      ...this.#subscriptions.values(),
    ]
    for (const one of settings) if (!this.#open.has(keyOf(one.request.id))) this.#again(one, send)
    for (const { line } of this.#open.values()) if (line !== undefined) send(line)
  }

  #again({ request, line }: Line, send: (line: Buffer) => void): void {
    this.#repeated.add(keyOf(request.id))
    send(line)
  }

  #fromClient(line: Buffer): void {
    if (this.#isGreeted) {
      this.#noteLine(line)
      if (this.#write(line)) return
    } else this.#held.push(Buffer.from(line))
    this.#options.input.pause()
  }

  #noteLine(line: Buffer): void {
    if (isBatch(line)) this.#noteBatch(line)
    else this.#note(line)
  }

  #write(line: Buffer): boolean {
    const socket = this.#socket
    if (socket === undefined) return true
    socket.cork()
    socket.write(line)
    const isTaken = socket.write(NEWLINE)
    process.nextTick(() => socket.uncork())
    return isTaken
  }

  #note(line: Buffer): void {
    const { id, method, params } = factsOf(line)
    if (method === 'notifications/initialized') this.#isInitialized = true
    if (id === undefined || method === undefined) return
    // The chunk that the line came in is not kept for one request.
    const open = { request: { id, method }, line: Buffer.from(line) }
    this.#open.set(keyOf(id), open)
    this.#remember(open, params)
  }

  #noteBatch(line: Buffer): void {
    for (const { id, method } of membersOf(line))
      if (isId(id) && typeof method === 'string')
        this.#open.set(keyOf(id), { request: { id, method }, line: undefined })
  }

  /** Keeps what a legacy client has set for its session. */
  #remember(open: Line, params: Buffer | undefined): void {
    const { method } = open.request
    if (method === 'initialize') this.#initialize = open
    if (method === 'logging/setLevel') this.#logLevel = open
    if (method !== 'resources/unsubscribe' && method !== 'resources/subscribe') return
    const uri = uriIn(params)
    if (uri === undefined) return
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
    if (method === 'resources/subscribe' && this.#subscriptions.size < MAX_SUBSCRIPTIONS)
      this.#subscriptions.set(uri, open)
  }

  #fromGateway(line: Buffer): void {
    if (isBatch(line)) for (const { id } of membersOf(line)) if (isId(id)) this.#open.delete(keyOf(id))
    const id = repliedTo(line)
    if (id !== undefined) {
      const key = keyOf(id)
      this.#open.delete(key)
      if (this.#repeated.delete(key)) return this.#heardAgain(key, line)
    }
    this.#say(line)
  }

  /** A client that was initialized before hears that its lists may be others now. */
  #heardAgain(key: string, line: Buffer): void {
    if (this.#initialize === undefined || key !== keyOf(this.#initialize.request.id)) return
    const capabilities = capabilitiesIn(line)
    for (const list of LISTS) {
      const offered = capabilities[list]
      if (isObject(offered) && offered.listChanged === true)
        this.#say(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
    }
  }

  #say(line: Buffer | string): void {
    const { output } = this.#options
    output.write(line)
    if (!output.write(NEWLINE)) this.#socket?.pause()
  }

  #refuse(id: RpcId | null, why: string): void {
    this.#say(encodeError(id, rpcError(RPC.internal, why)))
  }
}

function keyOf(id: RpcId): string {
  return JSON.stringify(id)
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || typeof value === 'number'
}

/** The messages of a batch; none of what is no JSON. */
function membersOf(line: Buffer): JsonObject[] {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return Array.isArray(value) ? value.filter(isObject) : []
  } catch {
    return []
  }
}

function uriIn(params: Buffer | undefined): string | undefined {
  try {
    const value: unknown = JSON.parse(String(params))
    return isObject(value) && typeof value.uri === 'string' ? value.uri : undefined
  } catch {
    return undefined
  }
}

function aboutIn(line: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return isObject(value) && isObject(value.attached) ? value.attached : undefined
  } catch {
    return undefined
  }
}

/** The id of the request that a line answers; undefined for any other message. */
function repliedTo(line: Buffer): RpcId | undefined {
  const found = REPLY.exec(line.toString('latin1', 0, 400))
  if (found?.[1] !== undefined) return idIn(line.subarray(0, 400).toString('utf8'))
  if (isBatch(line)) return undefined
  const { id, method } = factsOf(line)
  return method === undefined ? id : undefined
}

function idIn(start: string): RpcId | undefined {
  const text = REPLY.exec(start)?.[1]
  return text === undefined ? undefined : (JSON.parse(text) as RpcId)
}

function capabilitiesIn(line: Buffer): JsonObject {
  try {
    const { result } = JSON.parse(line.toString('utf8')) as JsonObject
    return isObject(result) && isObject(result.capabilities) ? result.capabilities : {}
  } catch {
    return {}
  }
}
