import type {
  Answer,
  Call,
  ServerSide,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
} from '../core/ports.ts'
import { GatewayError } from '../errors.ts'
import { Payload } from '../protocol/payload.ts'
import { METHODS } from '../protocol/methods.ts'
import { parseDuration } from '../util/units.ts'
import { cancelledAnswer } from './answer.ts'
import { EraDoubt } from './era-doubt.ts'
import { EraMemory } from './era-memory.ts'
import { shakeHands } from './handshake.ts'
import { Link, type LinkHost } from './link.ts'
import { LinkKeeper } from './link-keeper.ts'
import { Watch } from './watch.ts'
import type { Wire, WireEvents } from './wire.ts'

/** Opens what carries a link. */
export type Connect = (events: WireEvents) => Wire

const PROBE_MS = 5000
/** Methods that may be sent twice: they read. */
const REPEATABLE: ReadonlySet<string> = new Set(
  [...METHODS]
    .filter(([method, row]) => row.to !== 'gateway' && row.era === undefined && method !== 'tools/call')
    .map(([method]) => method),
)

/** A configured server, over whatever carries its messages: kept alive, spoken to in the era that it speaks. */
export class McpUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  /** What the server said of itself last; kept while it is away, so that others know what they miss. */
  server: ServerSide | undefined = undefined
  readonly #context: UpstreamContext
  readonly #connect: Connect
  readonly #keeper: LinkKeeper
  readonly #memory: EraMemory
  readonly #doubt: EraDoubt
  readonly #watch: Watch
  readonly #host: LinkHost

  constructor(spec: UpstreamConfig, context: UpstreamContext, connect: Connect) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#connect = connect
    this.#memory = new EraMemory(context.clock)
    this.#doubt = new EraDoubt(context)
    this.#watch = new Watch(context)
    this.#keeper = this.#keep(context)
    this.#host = {
      name: context.name,
      log: context.log,
      notify: notification => context.notify(notification),
      ask: (ask, exchange) => context.ask(ask, exchange),
      closed: (link, why) => this.#keeper.lost(link, why),
    }
  }

  get state(): UpstreamState {
    return this.#keeper.state
  }

  get problem(): string | undefined {
    return this.#keeper.problem
  }

  get pid(): number | undefined {
    return this.#keeper.link?.wire.pid
  }

  start(): Promise<void> {
    return this.#keeper.start()
  }

  stop(): Promise<void> {
    this.#watch.stop()
    return this.#keeper.stop()
  }

  async dispatch(call: Call): Promise<Answer> {
    const link = this.#keeper.link ?? (await this.#ready(call))
    if (link === undefined) return cancelledAnswer()
    if (link.server?.era === 'modern') {
      const own = this.#answerForModern(call, link)
      if (own !== undefined) return own
    }
    try {
      const answer = await link.call(call)
      return 'error' in answer && this.#doubt.isRaisedBy(answer.error.code, call.method, link)
        ? await this.#heal(link, call, answer)
        : answer
    } catch (error) {
      return this.#recover(link, call, error)
    }
  }

  #keep({ name, log, clock, gateway }: UpstreamContext): LinkKeeper {
    const startupMs = parseDuration(this.spec.startupTimeout)
    const probeMs = Math.min(PROBE_MS, startupMs / 3)
    const fixed = { upstream: name, era: this.spec.era, memory: this.#memory, gateway, clock, probeMs }
    const make = (): Link => new Link(this.#host, this.#connect)
    return new LinkKeeper({
      name,
      log,
      clock,
      startupMs,
      connect: own => shakeHands({ ...fixed, open: () => own(make) }),
      changed: (state, link) => this.#changed(state, link),
    })
  }

  #changed(state: UpstreamState, link: Link | undefined): void {
    const { log } = this.#context
    const { problem } = this.#keeper
    if (link?.server !== undefined) this.server = link.server
    if (state === 'failed') log.warn('upstream is not available', { upstream: this.name, problem })
    if (state === 'ready')
      log.info('upstream is ready', {
        upstream: this.name,
        era: link?.server?.era,
        version: link?.server?.version,
        pid: this.pid,
      })
    this.#watch.follow(state === 'ready' ? link : undefined)
    this.#context.stateChanged(state, problem)
  }

  /** The link once there is one; undefined when the client did not wait. */
  async #ready(call: Call): Promise<Link | undefined> {
    const ready = this.#keeper.ready()
    let takeBack = (): void => undefined
    const left = new Promise<undefined>(resolve => {
      takeBack = call.onCancel(() => resolve(undefined))
    })
    return Promise.race([ready, left]).finally(() => takeBack())
  }

  /** What the modern era has no method for. */
  #answerForModern(call: Call, link: Link): Promise<Answer> | undefined {
    if (call.method === 'resources/subscribe') return this.#watch.add(String(call.params?.uri), link)
    if (call.method === 'resources/unsubscribe') return this.#watch.remove(String(call.params?.uri))
    // The level travels with every request.
    if (call.method === 'logging/setLevel') return Promise.resolve({ result: Payload.of({}) })
    return undefined
  }

  /** The server may have become another one: asks it who it is, and starts anew if it changed. */
  async #heal(link: Link, call: Call, answer: Answer): Promise<Answer> {
    if (!(await this.#doubt.isConfirmed(link))) return answer
    this.#memory.forget()
    this.#keeper.replace(link, 'it speaks another era of the protocol now')
    return REPEATABLE.has(call.method) ? this.#again(call) : answer
  }

  async #recover(link: Link, call: Call, error: unknown): Promise<Answer> {
    if (!(error instanceof GatewayError)) throw error
    const { sessionLost, stale, status } = error.fields
    if (sessionLost === true) this.#keeper.replace(link, String(error.fields.why))
    else if (stale !== true) {
      if (
        typeof status !== 'number' ||
        !this.#doubt.isRaisedByStatus(status, link) ||
        !(await this.#doubt.isConfirmed(link))
      )
        throw error
      this.#memory.forget()
      this.#keeper.replace(link, 'it speaks another era of the protocol now')
    }
    if (!REPEATABLE.has(call.method)) throw error
    return this.#again(call)
  }

  async #again(call: Call): Promise<Answer> {
    const link = await this.#ready(call)
    return link === undefined ? cancelledAnswer() : link.call(call)
  }
}
