import type {
  Answer,
  Call,
  ServerSide,
  Session,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamMemory,
  UpstreamRuntime,
  UpstreamState,
} from '../api/index.ts'
import { GatewayError } from '../errors/errors.ts'
import { METHODS } from '../protocol/methods.ts'
import { cancelledAnswer } from './connection/read-answer.ts'
import { EraDoubt } from './connection/era-check.ts'
import { Fleet } from './connections.ts'
import { Keepers, type Connect } from './supervisors.ts'
import type { Link } from './connection/connection.ts'
import { Remembered } from './saved-server-info.ts'
import { Refusals } from './refusal-log.ts'
import { UNSUBSCRIBE, Wishes } from './subscriptions/client-interest.ts'

const OTHER_ERA = 'it speaks another era of the protocol now'
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
  server: ServerSide | undefined
  readonly #context: UpstreamContext
  readonly #keepers: Keepers
  readonly #fleet: Fleet
  readonly #doubt: EraDoubt
  readonly #wishes: Wishes
  readonly #remembered: Remembered
  readonly #refusals: Refusals

  constructor(spec: UpstreamConfig, context: UpstreamContext, connect: Connect) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#doubt = new EraDoubt(context)
    this.#wishes = new Wishes(context, session => this.#fleet.home(session))
    this.#keepers = new Keepers(spec, context, connect, keeper => this.#wishes.audienceOf(keeper))
    this.#remembered = new Remembered(context.memory)
    this.server = this.#remembered.server
    if (this.server !== undefined) this.#keepers.memory.learn(this.server.era, this.#remembered.ageMs)
    this.#fleet = new Fleet({
      spec,
      context,
      keepers: this.#keepers,
      isWatched: keeper => this.#wishes.arePending(keeper),
      moved: keeper => this.#wishes.moved(keeper),
      changed: (state, link) => this.#changed(state, link),
      opened: link => this.#wishes.opened(link),
    })
    this.#refusals = new Refusals(context, problem => this.#fleet.note(problem))
  }

  get state(): UpstreamState {
    return this.#fleet.main.state
  }

  get problem(): string | undefined {
    return this.#fleet.main.problem
  }

  get pid(): number | undefined {
    return this.#fleet.main.link?.wire.pid
  }

  get dropped(): Readonly<Record<string, number>> | undefined {
    return this.#keepers.drops.counts
  }

  get runtime(): UpstreamRuntime {
    return this.#fleet.runtime
  }

  get memory(): UpstreamMemory | undefined {
    return this.#context.memory
  }

  get isRemembered(): boolean {
    return this.server !== undefined && !this.#remembered.isConfirmed
  }

  get degraded(): string | undefined {
    return this.#keepers.drops.degraded
  }

  start(): Promise<void> {
    return this.#fleet.start()
  }

  async stop(): Promise<void> {
    this.#wishes.stop()
    await this.#fleet.stop()
  }

  sessionEnded(session: Session): void {
    this.#wishes.forget(session, this.#fleet.links())
    this.#fleet.sessionEnded(session)
  }

  rootsChanged(changed: readonly Session[]): void {
    this.#fleet.rootsChanged(changed)
  }

  async dispatch(call: Call): Promise<Answer> {
    if (call.method === UNSUBSCRIBE) return this.#wishes.unsubscribe(call)
    const link = this.#fleet.now(call) ?? (await this.#fleet.soon(call))
    if (link === undefined) return cancelledAnswer()
    const { use } = link
    use.hold()
    try {
      const answer = await this.#wishes.answer(call, link)
      return 'error' in answer && this.#doubt.isRaisedBy(answer.error.code, call.method, link)
        ? await this.#heal(link, call, answer)
        : answer
    } catch (error) {
      this.#refusals.note(error, call.method)
      return await this.#recover(link, call, error)
    } finally {
      use.letGo()
    }
  }

  #changed(state: UpstreamState, link: Link | undefined): void {
    const { name, pid } = this
    const { log } = this.#context
    const { problem } = this
    if (link?.server !== undefined) this.#meets(link.server)
    const { era, version } = link?.server ?? {}
    if (state === 'failed') log.warn('upstream is not available', { upstream: name, problem })
    if (state === 'ready') log.info('upstream is ready', { upstream: name, era, version, pid })
    this.#wishes.follow(state === 'ready' ? link : undefined)
    this.#context.stateChanged(state, problem)
  }

  #meets(server: ServerSide): void {
    if (server === this.server) return
    this.server = server
    this.#remembered.keep(server)
  }

  /** The server may have become another one: asks it who it is, and starts anew if it changed. */
  async #heal(link: Link, call: Call, answer: Answer): Promise<Answer> {
    if (!(await this.#doubt.isConfirmed(link))) return answer
    this.#startAnew()
    return REPEATABLE.has(call.method) ? this.#again(call) : answer
  }

  async #recover(link: Link, call: Call, error: unknown): Promise<Answer> {
    if (!(error instanceof GatewayError)) throw error
    const { sessionLost, stale, status, unheard } = error.fields
    // A connection that ended before its answer says nothing of the link. Whether to call again is not for us to say.
    if (stale === true) throw error
    if (sessionLost === true) this.#fleet.replace(link, String(error.fields.why))
    else {
      if (
        typeof status !== 'number' ||
        !this.#doubt.isRaisedByStatus(status, link) ||
        !(await this.#doubt.isConfirmed(link))
      )
        throw error
      this.#startAnew()
    }
    if (unheard !== true && !REPEATABLE.has(call.method)) throw error
    return this.#again(call)
  }

  #startAnew(): void {
    this.#keepers.memory.forget()
    this.#fleet.startAnew(OTHER_ERA)
  }

  async #again(call: Call): Promise<Answer> {
    const link = await this.#fleet.soon(call)
    if (link === undefined) return cancelledAnswer()
    link.use.hold()
    try {
      return await this.#wishes.answer(call, link)
    } finally {
      link.use.letGo()
    }
  }
}
