import type {
  Answer,
  Call,
  JsonObject,
  Notification,
  ServerSide,
  Session,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
} from '../../api/index.ts'
import { tokenOf } from '../../api/principal.ts'
import { baseOf } from '../../core/session.ts'
import { writtenParams } from '../../protocol/params-as-written.ts'
import { writeSession } from '../ipc/serialize.ts'
import { ownerNeedsTokens } from '../partition.ts'
import type { Maker } from '../ipc/rpc.ts'

/** State of an upstream, as its owner reports it. */
export interface OwnedState {
  readonly name: string
  readonly state: UpstreamState
  readonly problem?: string
  readonly problemDetail?: string
  readonly server?: ServerSide
  readonly pid?: number
  readonly degraded?: string
  readonly isRemembered?: boolean
}

/** The owner, as an upstream of its speaks to it. */
export interface OwnerSide {
  request(request: JsonObject, maker: Maker): Promise<Answer>
  /** A session is over that made requests. */
  ended(id: string): void
  /** There is a session that has made no request of this upstream, as its lists are kept here. */
  introduce(upstream: string, session: Session, method: string): void
}

/** An upstream that another process owns: each call crosses the line to it, and so does what it says. */
export class OwnedUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly #context: UpstreamContext
  readonly #line: () => OwnerSide
  readonly #needsTokens: boolean
  readonly #sessions = new Map<string, Session>()
  /** Keys of the lists of sessions that have their own, as the owner said last; the line keeps them beyond a reload. */
  readonly #ownLists: ReadonlyMap<string, string>
  #known: Omit<OwnedState, 'name'> = { state: 'idle' }

  constructor(
    spec: UpstreamConfig,
    context: UpstreamContext,
    line: () => OwnerSide,
    ownLists: ReadonlyMap<string, string> = new Map(),
  ) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#line = line
    this.#ownLists = ownLists
    this.#needsTokens = ownerNeedsTokens(spec)
  }

  get state(): UpstreamState {
    return this.#known.state
  }

  get problem(): string | undefined {
    return this.#known.problem
  }

  get problemDetail(): string | undefined {
    return this.#known.problemDetail
  }

  get server(): ServerSide | undefined {
    return this.#known.server
  }

  get pid(): number | undefined {
    return this.#known.pid
  }

  get degraded(): string | undefined {
    return this.#known.degraded
  }

  get isRemembered(): boolean {
    return this.#known.isRemembered === true
  }

  /** Its owner says how it does. */
  become(known: OwnedState, hasChanged: boolean): void {
    this.#known = known
    if (hasChanged) this.#context.stateChanged(known.state, known.problem)
  }

  /** Passes on a notification of the upstream that belongs to no request. */
  says(notification: Notification, meant: readonly string[] | undefined): void {
    const ids = meant && new Set(meant)
    const { isOfOwnLists, method } = notification
    const isMeant = (session: Session): boolean => {
      if (isOfOwnLists === true) this.#introduce(baseOf(session), method)
      return ids?.has(session.id) === true
    }
    this.#context.notify(notification, ids && isMeant)
  }

  /** The owner cannot know yet if it is for a session that was given its lists from memory: it says so once it knows that one. */
  #introduce(session: Session, method: string): void {
    if (this.#sessions.has(session.id)) return
    this.#sessions.set(session.id, session)
    this.#line().introduce(this.name, session, method)
  }

  /** Passes on a notification of the upstream to one session, outside any request. */
  tell(id: string, notification: Notification): void {
    this.#sessions.get(id)?.notify(notification)
  }

  dispatch(call: Call): Promise<Answer> {
    const { exchange, method, params, headers, mayBeTask, ownList } = call
    const { session, principal } = exchange
    this.#sessions.set(session.id, baseOf(session))
    const written = writtenParams(params, exchange.received)
    const token = this.#needsTokens ? tokenOf(principal) : undefined
    const request: JsonObject = {
      upstream: this.name,
      method,
      ...(written === undefined ? { params } : { written }),
      session: writeSession(session),
      ...(principal === session.principal ? {} : { principal }),
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
      ...(mayBeTask === true ? { mayBeTask } : {}),
      ...(ownList === undefined ? {} : { own: ownList }),
      ...(token === undefined ? {} : { token }),
      from: exchange.headers,
      via: exchange.via,
      asks: exchange.canAsk,
    }
    return this.#line().request(request, {
      emit: notification => exchange.emit(notification),
      ask: ask => this.#context.ask(ask, exchange),
      onCancel: listener => call.onCancel(listener),
    })
  }

  listsOf(session: Session): string | undefined {
    return this.#ownLists.size === 0 ? undefined : this.#ownLists.get(baseOf(session).id)
  }

  sessionEnded({ id }: Session): void {
    if (this.#sessions.delete(id)) this.#line().ended(id)
  }

  /** Its owner has begun already, or begins now; what comes of it is heard before this resolves. */
  async start(): Promise<void> {
    const silent = { emit: () => undefined, onCancel: () => () => undefined }
    await this.#line()
      .request({ upstream: this.name, start: true }, silent)
      .catch(() => undefined)
  }

  /** A worker that has no use for it any more says nothing of the others. */
  async stop(): Promise<void> {
    this.#sessions.clear()
  }
}
