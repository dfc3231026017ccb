import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { RpcId } from '../protocol/jsonrpc.ts'
import { encodeError, encodeId, isBatch } from '../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { LineSplitter } from '../util/messages.ts'

const MAX_LINE = 64 * 1024 * 1024
const NEWLINE = Buffer.from('\n')
/** Drain time after the client disconnects. */
const DRAIN_MS = 2000
/** Consecutive failures before giving up. */
const MAX_FAILURES = 5
/** Delay before the second retry; doubles afterwards. */
const PAUSE_MS = 100
const RECONNECT_MS = 4000
const LOST = 'gateway exited during the call, which may have run; check before you repeat it'
const RESTARTING = 'gateway is restarting and the call has not run: try again'
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
/** Matches a reply's id without parsing its result. */
const REPLY = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.){0,300}"|-?\d{1,15}),"(?:result|error)":/
const LISTS = ['tools', 'prompts', 'resources'] as const

interface RelayOptions {
  readonly input: Readable
  readonly output: Writable
  /** Sent ahead of the first message. */
  readonly hello: JsonObject
  /** Connects to a gateway, starting one if necessary. Retried if it rejects. */
  connect(): Promise<Socket>
  /** Called with the gateway's info after each connect. */
  onAttached(about: JsonObject): void
  /** Time that requests wait for a restarting gateway; default: 4 s. */
  readonly reconnectMs?: number
  /** Called when no gateway can be reached. */
  onGiveUp?(reason: string): void
}

/** The client's `initialize`, repeated to each new gateway. */
interface Initialize {
  readonly id: RpcId
  readonly line: Buffer
}

/**
 * Relays one client's lines to a gateway. If the gateway exits, open calls fail, and the relay reconnects,
 * initializes again and announces changed lists.
 */
export class Relay {
  readonly #options: RelayOptions
  /** Pending request ids. */
  readonly #open = new Map<string, RpcId>()
  #initialize: Initialize | undefined
  #isInitialized = false
  /** True until the repeated `initialize` is answered; the client must not see that reply. */
  #isRepeating = false
  #socket: Socket | undefined
  /** True after the first line from this gateway. */
  #isGreeted = false
  /** True while requests fail because reconnecting takes too long. */
  #isRefusing = false
  #refuseLater: NodeJS.Timeout | undefined
  /** Client lines buffered until the greeting. Reading is paused after one chunk. */
  readonly #bufferedLines: Buffer[] = []
  #hasEnded = false
  #failures = 0
  #done: (code: number) => void = () => undefined

  constructor(options: RelayOptions) {
    this.#options = options
  }

  /** Resolves with an exit code when the client disconnects or no gateway can be reached. */
  async run(): Promise<number> {
    const { input, output } = this.#options
    const done = new Promise<number>(resolve => (this.#done = resolve))
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => this.#handleClientLine(line),
      onTooLong: () => this.#refuse(null, 'message too long'),
    })
    input.pause()
    input.on('data', (chunk: Buffer) => lines.push(chunk))
    input.on('end', () => {
      lines.end()
      this.#handleClientEnd()
    })
    input.on('error', () => this.#handleClientEnd())
    output.on('error', () => this.#handleClientEnd())
    output.on('drain', () => this.#socket?.resume())
    await this.#attach()
    return done
  }

  #handleClientEnd(): void {
    this.#hasEnded = true
    const socket = this.#socket
    if (socket === undefined) return this.#done(0)
    if (this.#bufferedLines.length === 0) socket.end()
    setTimeout(() => socket.destroy(), DRAIN_MS).unref()
  }

  async #attach(): Promise<void> {
    const { hello, connect, input } = this.#options
    try {
      const socket = await connect()
      this.#watch(socket)
      socket.write(`${JSON.stringify({ attach: hello })}\n`)
      if (this.#bufferedLines.length === 0) input.resume()
    } catch (error) {
      this.#retry(error instanceof Error ? error.message : String(error))
    }
  }

  /** Sends client messages only after the greeting: a dying gateway still accepts connections and could lose them. */
  #handleGreeting(socket: Socket): void {
    this.#isGreeted = true
    this.#isRefusing = false
    clearTimeout(this.#refuseLater)
    this.#reinitialize(socket)
    for (const line of this.#bufferedLines.splice(0)) this.#handleClientLine(line)
    if (this.#hasEnded) this.#handleClientEnd()
    else this.#options.input.resume()
  }

  /** Retries with backoff. */
  #retry(reason: string): void {
    if (++this.#failures > MAX_FAILURES) return this.#giveUp(reason)
    if (this.#failures === 1) return void this.#attach()
    setTimeout(
      () => {
        if (!this.#hasEnded) void this.#attach()
      },
      PAUSE_MS * 2 ** (this.#failures - 2),
    )
  }

  #giveUp(reason: string): void {
    clearTimeout(this.#refuseLater)
    this.#options.onGiveUp?.(reason)
    for (const line of this.#bufferedLines.splice(0)) this.#track(line)
    for (const id of this.#open.values()) this.#refuse(id, reason)
    this.#options.input.pause()
    this.#done(1)
  }

  #watch(socket: Socket): void {
    const { input, onAttached } = this.#options
    let isFirst = true
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => {
        const isGreeting = isFirst
        const about = isGreeting ? parseAbout(line) : undefined
        isFirst = false
        this.#failures = 0
        if (about === undefined) this.#handleGatewayLine(line)
        else onAttached(about)
        if (isGreeting && this.#socket === socket) this.#handleGreeting(socket)
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
      lines.end()
      if (this.#hasEnded) return this.#done(0)
      if (this.#isGreeted) this.#handleLoss()
      else this.#retry('gateway closes connections immediately')
    })
  }

  /** Fails open calls, which may or may not have run, and reconnects. */
  #handleLoss(): void {
    this.#isGreeted = false
    this.#isRepeating = false
    this.#options.input.pause()
    const first = this.#initialize && getIdKey(this.#initialize.id)
    for (const [key, id] of this.#open) {
      // The next gateway answers it.
      if (key === first) continue
      this.#open.delete(key)
      this.#refuse(id, LOST)
    }
    const { reconnectMs = RECONNECT_MS } = this.#options
    this.#refuseLater = setTimeout(() => this.#refuseHeld(), reconnectMs).unref()
    void this.#attach()
  }

  /** Reconnecting takes too long: fail requests immediately until connected. */
  #refuseHeld(): void {
    this.#isRefusing = true
    for (const line of this.#bufferedLines.splice(0)) this.#handleClientLine(line)
    this.#options.input.resume()
  }

  /** Repeats the client's `initialize`. */
  #reinitialize(socket: Socket): void {
    if (this.#initialize === undefined) return
    const { id, line } = this.#initialize
    this.#isRepeating = !this.#open.has(getIdKey(id))
    socket.write(Buffer.concat([line, NEWLINE]))
    if (this.#isInitialized) socket.write(`${INITIALIZED}\n`)
  }

  #handleClientLine(line: Buffer): void {
    if (this.#isGreeted) {
      this.#track(line)
      if (this.#write(line)) return
    } else if (this.#isRefusing) {
      for (const { id, method } of parseMessages(line))
        if (id !== undefined && method !== undefined) this.#refuse(id, RESTARTING)
      return
    } else this.#bufferedLines.push(Buffer.from(line))
    this.#options.input.pause()
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

  #track(line: Buffer): void {
    for (const { id, method } of parseMessages(line)) {
      if (method === 'notifications/initialized') this.#isInitialized = true
      if (id === undefined || method === undefined) continue
      this.#open.set(getIdKey(id), id)
      // Copied, to not retain the whole chunk.
      if (method === 'initialize' && !isBatch(line)) this.#initialize = { id, line: Buffer.from(line) }
    }
  }

  #handleGatewayLine(line: Buffer): void {
    for (const id of parseReplyIds(line)) {
      const isOpen = this.#open.delete(getIdKey(id))
      if (!isOpen && this.#isRepeating && getIdKey(id) === getIdKey(this.#initialize?.id ?? ''))
        return this.#announceLists(line)
    }
    this.#writeToClient(line)
  }

  /** Announces changes in all lists. */
  #announceLists(line: Buffer): void {
    this.#isRepeating = false
    const capabilities = parseCapabilities(line)
    for (const list of LISTS) {
      const offered = capabilities[list]
      if (isObject(offered) && offered.listChanged === true)
        this.#writeToClient(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
    }
  }

  #writeToClient(line: Buffer | string): void {
    const { output } = this.#options
    output.write(line)
    if (!output.write(NEWLINE)) this.#socket?.pause()
  }

  #refuse(id: RpcId | null, reason: string): void {
    this.#writeToClient(encodeError(id, rpcError(RPC.internal, reason)))
  }
}

function getIdKey(id: RpcId): string {
  return encodeId(id)
}

interface MessageSummary {
  readonly id?: RpcId
  readonly method?: string
}

/** Parses a line, which may be a batch; empty for invalid JSON. */
function parseMessages(line: Buffer): MessageSummary[] {
  const value = parseJson(line)
  return (Array.isArray(value) ? value : [value]).filter(isObject).map(({ id, method }) => ({
    ...(isId(id) ? { id } : {}),
    ...(typeof method === 'string' ? { method } : {}),
  }))
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || typeof value === 'number'
}

function parseJson(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    return undefined
  }
}

function parseAbout(line: Buffer): JsonObject | undefined {
  const value = parseJson(line)
  return isObject(value) && isObject(value.attached) ? value.attached : undefined
}

/** Ids of the requests that a line answers. */
function parseReplyIds(line: Buffer): RpcId[] {
  const id = REPLY.exec(line.toString('utf8', 0, 400))?.[1]
  if (id !== undefined) return [JSON.parse(id) as RpcId]
  return parseMessages(line).flatMap(message =>
    message.id !== undefined && message.method === undefined ? [message.id] : [],
  )
}

function parseCapabilities(line: Buffer): JsonObject {
  const value = parseJson(line)
  const result = isObject(value) ? value.result : undefined
  return isObject(result) && isObject(result.capabilities) ? result.capabilities : {}
}
