import type { Call } from '../../api/index.ts'
import { callerKey } from '../../api/principal.ts'
import type { RpcResponse } from '../../protocol/jsonrpc.ts'
import { METHODS } from '../../protocol/methods.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

/**
 * The observations of one tool, prompt or method: `quiet` was answered without asking its client, `suspect` was open
 * when a request came that could be for several calls, `asks` was seen to ask.
 */
type Observed = 'unknown' | 'quiet' | 'suspect' | 'asks'

/** Tools remembered of one server; callers may name tools that are not there, and each has a share. */
const BOUNDS = { max: 2000, share: 1000 }
/** Answers that prove little, after which a tool counts as quiet. */
const MAX_WEAK = 3
/** Ticks of the scheduler for which a call that asks is alone without asking: at first, and after one of its requests was refused. */
const ALONE = 20
const ALONE_LONG = 100
/** Methods by which a client subscribes: they never make a server ask. */
const SUBSCRIPTIONS: ReadonlySet<string> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])

/** The observed behaviour of one tool, prompt or method. */
export class Behaviour {
  /** Ticks for which its call keeps others back while it does not ask. */
  aloneFor = ALONE
  #observed: Observed = 'unknown'
  #before: Observed = 'unknown'
  #roots = 0
  #weak = 0

  get asks(): boolean {
    return this.#observed === 'asks'
  }

  /** True where its calls may go beside others. */
  get isQuiet(): boolean {
    return this.#observed === 'quiet'
  }

  /** Its call was the only one that can have asked. */
  asked(method: string): void {
    if (!this.#counts(method)) return
    if (this.aloneFor === 0) this.aloneFor = ALONE
    if (this.asks) return
    this.#before = this.#observed
    this.#observed = 'asks'
  }

  /** Its call may have asked, or one of several others has. */
  suspected(method: string): void {
    if (this.asks || !this.#counts(method)) return
    this.#observed = 'suspect'
    this.#weak = 0
  }

  /** A request of its call was refused, as others were open: next time they are kept back for longer. */
  disturbed(): void {
    if (this.asks) this.aloneFor = ALONE_LONG
  }

  /** Its call was answered. An error says little of what it does when all is well. */
  answered({ error }: RpcResponse): void {
    if (this.asks || this.isQuiet) return
    const isWeak = this.#observed === 'suspect' || error !== undefined || this.#roots > 0
    if (!isWeak || ++this.#weak >= MAX_WEAK) this.#observed = 'quiet'
  }

  /** Its call waited for the reply, so the request was its own. */
  waited(): void {
    this.#before = this.#observed
  }

  /** Its call was answered before the reply. True when nothing else speaks for the request being its own. */
  didNotWait(): boolean {
    if (!this.asks || this.#before !== 'quiet') return false
    this.#observed = 'quiet'
    return true
  }

  /** Servers ask for roots in the background: once proves nothing. */
  #counts(method: string): boolean {
    return method !== 'roots/list' || ++this.#roots > 1
  }
}

/** The observed behaviour of one server, as long as the gateway knows it. */
export class Behaviours {
  /** True once the server has asked out of turn, with no call that could be the reason. */
  asksUncalled = false
  readonly #tools = new BoundedMap<unknown, Behaviour>(BOUNDS)
  readonly #prompts = new BoundedMap<unknown, Behaviour>(BOUNDS)
  readonly #methods = new BoundedMap<unknown, Behaviour>(BOUNDS)

  /** Undefined for what no request to a client can be about. */
  of(call: Call): Behaviour | undefined {
    const { method, params } = call
    if (method === 'tools/call') return known(this.#tools, params?.name, call)
    if (method === 'prompts/get') return known(this.#prompts, params?.name, call)
    if (METHODS.get(method)?.to === 'list' || SUBSCRIPTIONS.has(method)) return undefined
    return known(this.#methods, method, call)
  }
}

function known(behaviours: BoundedMap<unknown, Behaviour>, name: unknown, { exchange }: Call): Behaviour {
  let behaviour = behaviours.get(name)
  if (behaviour === undefined)
    behaviours.set(name, (behaviour = new Behaviour()), callerKey(exchange.session))
  return behaviour
}
