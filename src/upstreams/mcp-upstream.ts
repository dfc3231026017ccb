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
import { Connections } from './connections.ts'
import { Supervisors, type Connect } from './supervisors.ts'
import type { Link } from './connection/connection.ts'
import { Remembered } from './saved-server-info.ts'
import { Refusals } from './refusal-log.ts'
import { UNSUBSCRIBE, ClientInterest } from './subscriptions/client-interest.ts'

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
  readonly #supervisors: Supervisors
  readonly #connections: Connections
  readonly #doubt: EraDoubt
  readonly #interest: ClientInterest
  readonly #remembered: Remembered
  readonly #refusals: Refusals

  constructor(spec: UpstreamConfig, context: UpstreamContext, connect: Connect) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#doubt = new EraDoubt(context)
    this.#interest = new ClientInterest(context, session => this.#connections.home(session))
    this.#supervisors = new Supervisors(spec, context, connect, supervisor =>
      this.#interest.audienceOf(supervisor),
    )
    this.#remembered = new Remembered(context.memory)
    this.server = this.#remembered.server
    if (this.server !== undefined) this.#supervisors.memory.learn(this.server.era, this.#remembered.ageMs)
    this.#connections = new Connections({
      spec,
      context,
      supervisors: this.#supervisors,
      isWatched: supervisor => this.#interest.arePending(supervisor),
      moved: supervisor => this.#interest.moved(supervisor),
      changed: (state, link) => this.#changed(state, link),
      opened: link => this.#interest.opened(link),
    })
    this.#refusals = new Refusals(context, problem => this.#connections.note(problem))
  }

  get state(): UpstreamState {
    return this.#connections.main.state
  }

  get problem(): string | undefined {
    return this.#connections.main.problem
  }

  get pid(): number | undefined {
    return this.#connections.main.link?.wire.pid
  }

  get dropped(): Readonly<Record<string, number>> | undefined {
    return this.#supervisors.drops.counts
  }

  get runtime(): UpstreamRuntime {
    return this.#connections.runtime
  }

  get memory(): UpstreamMemory | undefined {
    return this.#context.memory
  }

  get isRemembered(): boolean {
    return this.server !== undefined && !this.#remembered.isConfirmed
  }

  get degraded(): string | undefined {
    return this.#supervisors.drops.degraded
  }

  start(): Promise<void> {
    return this.#connections.start()
  }

  async stop(): Promise<void> {
    this.#interest.stop()
    await this.#connections.stop()
  }

  sessionEnded(session: Session): void {
    this.#interest.forget(session, this.#connections.links())
    this.#connections.sessionEnded(session)
  }

  rootsChanged(changed: readonly Session[]): void {
    this.#connections.rootsChanged(changed)
  }

  async dispatch(call: Call): Promise<Answer> {
    if (call.method === UNSUBSCRIBE) return this.#interest.unsubscribe(call)
    const link = this.#connections.now(call) ?? (await this.#connections.soon(call))
    if (link === undefined) return cancelledAnswer()
    const { use } = link
    use.hold()
    try {
      const answer = await this.#interest.answer(call, link)
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
    this.#interest.follow(state === 'ready' ? link : undefined)
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
    if (sessionLost === true) this.#connections.replace(link, String(error.fields.why))
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
    this.#supervisors.memory.forget()
    this.#connections.startAnew(OTHER_ERA)
  }

  async #again(call: Call): Promise<Answer> {
    const link = await this.#connections.soon(call)
    if (link === undefined) return cancelledAnswer()
    link.use.hold()
    try {
      return await this.#interest.answer(call, link)
    } finally {
      link.use.letGo()
    }
  }
}
