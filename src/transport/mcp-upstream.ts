import type {
  Answer,
  Call,
  ServerSide,
  Session,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
} from '../core/ports.ts'
import { GatewayError } from '../errors.ts'
import { ALL_CAPABILITIES, toLegacyCapabilities } from '../protocol/era/capabilities.ts'
import { replyFor } from '../protocol/era/asks.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { METHODS } from '../protocol/methods.ts'
import { parseDuration } from '../util/units.ts'
import { cancelledAnswer } from './answer.ts'
import { Drops } from './drops.ts'
import { EraDoubt } from './era-doubt.ts'
import { EraMemory } from './era-memory.ts'
import { Habits } from './habits.ts'
import { shakeHands } from './handshake.ts'
import { GarbageBudget } from './garbage-budget.ts'
import { Link, type LinkHost } from './link.ts'
import { LinkKeeper } from './link-keeper.ts'
import { LinkPool } from './link-pool.ts'
import { changesOf } from './watch.ts'
import type { Wire, WireEvents } from './wire.ts'
import { Wishes } from './wishes.ts'

/** Opens what carries a link. */
export type Connect = (events: WireEvents) => Wire

const PROBE_MS = 5000
const OTHER_ERA = 'it speaks another era of the protocol now'
/** Methods that may be sent twice: they read. */
const REPEATABLE: ReadonlySet<string> = new Set(
  [...METHODS]
    .filter(([method, row]) => row.to !== 'gateway' && row.era === undefined && method !== 'tools/call')
    .map(([method]) => method),
)

/** What differs between the main link and the others. */
interface Keeping {
  readonly capabilities: JsonObject
  readonly retries: boolean
  changed(state: UpstreamState, link: Link | undefined): void
  lost(link: Link, why: string): void
}

/** A configured server, over whatever carries its messages: kept alive, spoken to in the era that it speaks. */
export class McpUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  /** What the server said of itself last; kept while it is away, so that others know what they miss. */
  server: ServerSide | undefined = undefined
  readonly #context: UpstreamContext
  readonly #connect: Connect
  readonly #keeper: LinkKeeper
  readonly #pool: LinkPool
  readonly #memory: EraMemory
  readonly #doubt: EraDoubt
  readonly #wishes: Wishes
  readonly #drops: Drops
  readonly #habits = new Habits()

  constructor(spec: UpstreamConfig, context: UpstreamContext, connect: Connect) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#connect = connect
    this.#memory = new EraMemory(context.clock)
    this.#doubt = new EraDoubt(context)
    this.#wishes = new Wishes(context)
    this.#drops = new Drops(context.log, new GarbageBudget(context.clock))
    this.#keeper = this.#keep({
      capabilities: toLegacyCapabilities(ALL_CAPABILITIES),
      retries: true,
      changed: (state, link) => this.#changed(state, link),
      lost: (link, why) => this.#keeper.lost(link, why),
    })
    this.#pool = new LinkPool({
      name: context.name,
      isolation: spec.isolation,
      clock: context.clock,
      main: this.#keeper,
      keeper: capabilities => this.#keepAnother(capabilities),
    })
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

  get dropped(): Readonly<Record<string, number>> | undefined {
    return this.#drops.counts
  }

  get degraded(): string | undefined {
    return this.#drops.degraded
  }

  start(): Promise<void> {
    return this.#keeper.start()
  }

  async stop(): Promise<void> {
    this.#wishes.stop()
    await Promise.all([this.#keeper.stop(), this.#pool.stop()])
  }

  sessionEnded(session: Session): void {
    this.#pool.sessionEnded(session)
    this.#wishes.forget(session, this.#pool.links())
  }

  async dispatch(call: Call): Promise<Answer> {
    const link = this.#linkNow(call) ?? (await this.#linkSoon(call))
    if (link === undefined) return cancelledAnswer()
    try {
      const answer = await this.#wishes.answer(call, link)
      return 'error' in answer && this.#doubt.isRaisedBy(answer.error.code, call.method, link)
        ? await this.#heal(link, call, answer)
        : answer
    } catch (error) {
      return this.#recover(link, call, error)
    }
  }

  #keep({ capabilities, retries, changed, lost }: Keeping): LinkKeeper {
    const { name, log, clock, gateway } = this.#context
    const startupMs = parseDuration(this.spec.startupTimeout)
    const probeMs = Math.min(PROBE_MS, startupMs / 3)
    const known = { upstream: name, era: this.spec.era, memory: this.#memory, gateway, clock, probeMs }
    const make = (): Link => new Link(this.#linkHost(lost), this.#connect)
    return new LinkKeeper({
      name,
      log,
      clock,
      startupMs,
      retries,
      connect: own => shakeHands({ ...known, capabilities, open: () => own(make) }),
      changed,
    })
  }

  #linkHost(lost: Keeping['lost']): LinkHost {
    const context = this.#context
    return {
      name: context.name,
      log: context.log,
      clock: context.clock,
      drops: this.#drops,
      habits: this.#habits,
      notify: notification => context.notify(notification),
      ask: async (ask, exchange) => {
        const reply = await context.ask(ask, exchange)
        const { version } = this.server ?? {}
        if (!('result' in reply) || version === undefined) return reply
        return { result: replyFor(ask.method, reply.result, version) }
      },
      missed: ({ server }) => changesOf(server).forEach(change => context.notify(change)),
      closed: lost,
    }
  }

  /** A link beside the main one. Whether the server can be reached at all is still the main one's business. */
  #keepAnother(capabilities: JsonObject): LinkKeeper {
    const { log } = this.#context
    const keeper: LinkKeeper = this.#keep({
      capabilities,
      retries: false,
      changed: (state, link) => {
        log.debug('a link of its own', { state, problem: keeper.problem, pid: link?.wire.pid })
        if (state === 'ready' && link !== undefined) this.#wishes.opened(link)
      },
      lost: (link, why) => {
        keeper.lost(link, why)
        if (!link.wire.streams) return
        this.#pool.drop(keeper)
        if (this.#keeper.link !== undefined) this.#keeper.lost(this.#keeper.link, why)
      },
    })
    return keeper
  }

  #changed(state: UpstreamState, link: Link | undefined): void {
    const { name, pid } = this
    const { log } = this.#context
    const { problem } = this.#keeper
    if (link?.server !== undefined) this.server = link.server
    const { era, version } = link?.server ?? {}
    if (state === 'failed') log.warn('upstream is not available', { upstream: name, problem })
    if (state === 'ready') log.info('upstream is ready', { upstream: name, era, version, pid })
    this.#wishes.follow(state === 'ready' ? link : undefined)
    this.#context.stateChanged(state, problem)
  }

  /** The link that a call takes, where it is up already. */
  #linkNow(call: Call): Link | undefined {
    const main = this.#keeper.link
    return main === undefined ? undefined : this.#pool.keeperFor(call, main).link
  }

  /** The same, once it is up; undefined when the client did not wait. */
  async #linkSoon(call: Call): Promise<Link | undefined> {
    const main = await this.#keeper.readyFor(call)
    return main === undefined ? undefined : this.#pool.keeperFor(call, main).readyFor(call)
  }

  /** The server may have become another one: asks it who it is, and starts anew if it changed. */
  async #heal(link: Link, call: Call, answer: Answer): Promise<Answer> {
    if (!(await this.#doubt.isConfirmed(link))) return answer
    this.#startAnew()
    return REPEATABLE.has(call.method) ? this.#again(call) : answer
  }

  async #recover(link: Link, call: Call, error: unknown): Promise<Answer> {
    if (!(error instanceof GatewayError)) throw error
    const { sessionLost, stale, status } = error.fields
    // A connection that ended before its answer says nothing of the link. Whether to call again is not for us to say.
    if (stale === true) throw error
    if (sessionLost === true) this.#replace(link, String(error.fields.why))
    else {
      if (
        typeof status !== 'number' ||
        !this.#doubt.isRaisedByStatus(status, link) ||
        !(await this.#doubt.isConfirmed(link))
      )
        throw error
      this.#startAnew()
    }
    if (!REPEATABLE.has(call.method)) throw error
    return this.#again(call)
  }

  #replace(link: Link, why: string): void {
    this.#keeper.replace(link, why)
    this.#pool.replace(link, why)
  }

  #startAnew(): void {
    this.#memory.forget()
    this.#pool.leave()
    if (this.#keeper.link !== undefined) this.#keeper.replace(this.#keeper.link, OTHER_ERA)
  }

  async #again(call: Call): Promise<Answer> {
    const link = await this.#linkSoon(call)
    return link === undefined ? cancelledAnswer() : this.#wishes.answer(call, link)
  }
}
