import type { Duplex } from 'node:stream'
import { cannotAsk } from '../../core/client-request.ts'
import type { Answer, Ask, AskReply, JsonObject, Notification } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { RpcPeer } from '../../protocol/rpc-peer.ts'
import { CrossingAsk, readParams, readReply, writeParams, writeReply } from '../../transport/crossing.ts'
import { readAnswer, readFailure, writeAnswer, writeFailure } from './serialize.ts'
import { Frames, KIND, type Kind } from './frame-codec.ts'

/** Maker of a request: hears what comes ahead of the answer. */
export interface Maker {
  emit(notification: Notification): void
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
  onCancel(listener: (reason: string) => void): () => void
}

/** Operations for a request while it is served. */
export interface Served {
  emit(notification: Notification): void
  ask(ask: Ask): Promise<AskReply>
  onCancel(listener: (reason: string) => void): void
}

/** Handlers of one end for what the other end sends. */
export interface LineHost {
  serve(request: JsonObject, served: Served): Promise<Answer>
  /** Something that wants no answer. */
  note(note: JsonObject): void
  closed(): void
}

interface Made {
  readonly maker: Maker
  readonly resolve: (answer: Answer) => void
  readonly reject: (failure: unknown) => void
  readonly takeBack: () => void
  readonly asks: Map<number, CrossingAsk>
}

interface Serving {
  cancelled: string | undefined
  listeners: ((reason: string) => void)[] | undefined
  asks: Map<number, (reply: AskReply) => void> | undefined
}

/** The kinds whose body is JSON. */
type Said = Exclude<Kind, typeof KIND.answer | typeof KIND.cancel>

const GONE = 'the process at the other end has ended'

/** Connection between two processes of one gateway: requests both ways, with what is told and asked on their way. */
export class Line {
  readonly #frames: Frames
  readonly #stream: Duplex
  readonly #host: LineHost
  /** Unbounded: the processes at both ends are ours, and bound what they take in. */
  readonly #requests = new RpcPeer<Made, Serving>({ sent: Infinity, received: Infinity })
  #lastAsk = 0

  constructor(stream: Duplex, host: LineHost) {
    this.#stream = stream
    this.#host = host
    this.#frames = new Frames(stream, (kind, number, body) => this.#hear(kind, number, body))
    stream.once('close', () => this.#closed())
  }

  get isOpen(): boolean {
    return !this.#stream.destroyed
  }

  close(): void {
    this.#stream.destroy()
  }

  note(note: JsonObject): void {
    this.#frames.send(KIND.note, 0, JSON.stringify(note))
  }

  /** @throws GatewayError what the other end threw, or GW_INTERNAL when it has gone. */
  request(request: JsonObject, maker: Maker): Promise<Answer> {
    if (!this.isOpen) return Promise.reject(gatewayError('GW_INTERNAL', { cause: GONE }))
    const number = this.#requests.nextId() >>> 0
    this.#frames.send(KIND.request, number, JSON.stringify(request))
    return new Promise((resolve, reject) => {
      const takeBack = maker.onCancel(reason => this.#frames.send(KIND.cancel, number, reason))
      this.#requests.send(number, { maker, resolve, reject, takeBack, asks: new Map() })
    })
  }

  #hear(kind: Kind, number: number, body: Buffer): void {
    if (kind === KIND.answer) this.#end(number)?.resolve(readAnswer(body))
    else if (kind === KIND.cancel) this.#cancel(number, body.toString())
    else this.#hears[kind](number, JSON.parse(body.toString()) as JsonObject)
  }

  readonly #hears: Readonly<Record<Said, (number: number, said: JsonObject) => void>> = {
    [KIND.request]: (number, said) => void this.#serve(number, said),
    [KIND.note]: (_number, said) => this.#host.note(said),
    [KIND.failure]: (number, said) => this.#end(number)?.reject(readFailure(said)),
    [KIND.emit]: (number, { method, params }) =>
      this.#requests.sent.get(number)?.maker.emit({ method: String(method), params: params as JsonObject }),
    [KIND.ask]: (number, said) => void this.#asked(number, said),
    [KIND.takeBack]: (number, { ask, why }) =>
      this.#requests.sent.get(number)?.asks.get(Number(ask))?.end(String(why)),
    [KIND.reply]: (number, said) =>
      this.#requests.received.get(number)?.asks?.get(Number(said.ask))?.(readReply(said)),
  }

  #end(number: number): Made | undefined {
    const made = this.#requests.answered(number)
    made?.takeBack()
    for (const ask of made?.asks.values() ?? []) ask.end('the request that asked is over')
    return made
  }

  async #asked(number: number, { ask: key, method, ...said }: JsonObject): Promise<void> {
    const made = this.#requests.sent.get(number)
    const ask = new CrossingAsk(String(method), readParams(said))
    made?.asks.set(Number(key), ask)
    const reply = (await made?.maker.ask?.(ask).catch(() => undefined)) ?? cannotAsk(ask)
    made?.asks.delete(Number(key))
    this.#frames.send(KIND.reply, number, JSON.stringify({ ask: key, ...writeReply(reply) }))
  }

  async #serve(number: number, request: JsonObject): Promise<void> {
    const serving: Serving = { cancelled: undefined, listeners: undefined, asks: undefined }
    this.#requests.receive(number, serving)
    try {
      const answer = await this.#host.serve(request, {
        emit: notification => this.#frames.send(KIND.emit, number, JSON.stringify(notification)),
        ask: ask => this.#ask(number, serving, ask),
        onCancel: listener => {
          if (serving.cancelled === undefined) (serving.listeners ??= []).push(listener)
          else listener(serving.cancelled)
        },
      })
      this.#frames.send(KIND.answer, number, ...writeAnswer(answer))
    } catch (thrown) {
      this.#frames.send(KIND.failure, number, JSON.stringify(writeFailure(thrown)))
    } finally {
      this.#requests.answers(number, serving)
    }
  }

  #ask(number: number, serving: Serving, ask: Ask): Promise<AskReply> {
    if (!this.isOpen || serving.cancelled !== undefined) return Promise.resolve(cannotAsk(ask))
    const key = ++this.#lastAsk
    const { method, params } = ask
    this.#frames.send(KIND.ask, number, JSON.stringify({ ask: key, method, ...writeParams(params) }))
    return new Promise(resolve => {
      const asks = (serving.asks ??= new Map())
      const done = (reply: AskReply): void => {
        asks.delete(key)
        resolve(reply)
      }
      asks.set(key, done)
      ask.onTakeBack?.(why => this.#frames.send(KIND.takeBack, number, JSON.stringify({ ask: key, why })))
    })
  }

  #cancel(number: number, reason: string): void {
    const serving = this.#requests.received.get(number)
    if (serving === undefined || serving.cancelled !== undefined) return
    serving.cancelled = reason
    for (const listener of serving.listeners ?? []) listener(reason)
  }

  #closed(): void {
    for (const [number] of this.#requests.sent.entries())
      this.#end(Number(number))?.reject(gatewayError('GW_INTERNAL', { cause: GONE }))
    for (const [number, { asks }] of this.#requests.received.entries()) {
      this.#cancel(Number(number), GONE)
      for (const reply of asks?.values() ?? []) reply({ error: rpcError(RPC.internal, GONE) })
    }
    this.#host.closed()
  }
}
