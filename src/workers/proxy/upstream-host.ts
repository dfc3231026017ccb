import type { Duplex } from 'node:stream'
import type {
  Answer,
  JsonObject,
  Notification,
  Principal,
  Session,
  SharedStore,
  Upstream,
  Via,
} from '../../api/index.ts'
import { keepToken } from '../../api/principal.ts'
import { cannotAsk } from '../../core/client-request.ts'
import { type Carrier, PipelineCall, PipelineExchange } from '../../core/exchange.ts'
import { liveOf } from '../../core/kept-upstream.ts'
import type { Graph } from '../../core/graph-types.ts'
import { gatewayError } from '../../errors/errors.ts'
import { LISTS, METHODS } from '../../protocol/methods.ts'
import { isObject } from '../../protocol/json/json.ts'
import { type WrittenParams, readWritten } from '../../protocol/params-as-written.ts'
import { Payload } from '../../protocol/payload.ts'
import { SharedMemory } from '../../util/storage/shared-memory.ts'
import { Line, type Served } from '../ipc/rpc.ts'
import { readSession } from '../ipc/serialize.ts'
import type { OwnKey } from './host-client.ts'
import { answerShared, Subscriptions } from './shared-over-line.ts'

/** Passes notifications and asks on as they are: the hooks for them run in the worker. */
const STRAIGHT: Carrier = {
  emit: (_exchange, notification, send) => send(notification),
  ask: (_exchange, ask, send) => send?.(ask) ?? Promise.resolve(cannotAsk(ask)),
}

/** The owner of the upstreams that all workers share, and of the lines to the workers. */
export class Owner {
  readonly #graph: () => Graph
  readonly #lines = new Map<Line, Map<string, Session>>()
  /** Memory that the workers share. */
  readonly #memory: SharedMemory

  /** `key` is that of what the processes seal for each other. */
  constructor(graph: () => Graph, key: Uint8Array) {
    this.#graph = graph
    this.#memory = new SharedMemory({ now: () => performance.now(), key })
  }

  /** The same memory, for the plugins of this process. */
  get shared(): SharedStore {
    return this.#memory.of(this)
  }

  /** Serves a new worker over this stream; it hears at once how every upstream does. */
  serve(stream: Duplex): Line {
    const sessions = new Map<string, Session>()
    const subscriptions = new Subscriptions(note => line.note(note))
    const line: Line = new Line(stream, {
      serve: (request, served) =>
        typeof request.shared === 'string'
          ? answerShared(this.#memory.of(line), request, subscriptions)
          : this.#serve(request, served, line, sessions),
      note: ({ ended = [], introduced }) => {
        for (const id of ended as string[]) this.#ended(id, sessions)
        if (isObject(introduced)) this.#introduced(introduced, line, sessions)
      },
      closed: () => {
        this.#lines.delete(line)
        for (const id of [...sessions.keys()]) this.#ended(id, sessions)
        subscriptions.end()
        this.#memory.gone(line)
      },
    })
    this.#lines.set(line, sessions)
    line.note({ states: this.#states() })
    return line
  }

  /** An upstream became another state; without a name, they are others now. */
  changed(name?: string): void {
    const states = this.#states()
    for (const line of this.#lines.keys()) line.note({ states, changed: name })
  }

  /** Passes on a notification that belongs to no request; each worker knows who wants to hear it. */
  said(upstream: string, notification: Notification, isMeant?: (session: Session) => boolean): void {
    for (const [line, sessions] of this.#lines) {
      const meant = isMeant && [...sessions.values()].filter(isMeant)
      // Sessions that have asked for nothing yet may be shown these lists: their worker names them when it hears of a change.
      if (meant?.length === 0 && notification.isOfOwnLists !== true) continue
      const own = notification.isOfOwnLists === true ? this.#ownLists(upstream, meant ?? []) : undefined
      line.note({ said: upstream, notification, meant: meant?.map(({ id }) => id), own })
    }
  }

  /** A worker has a session that is not known here: it hears of what it may have missed. */
  #introduced(
    { upstream, method, session: written }: JsonObject,
    line: Line,
    sessions: Map<string, Session>,
  ): void {
    const session = sessionOn(line, upstream, written)
    if (sessions.has(session.id)) return
    sessions.set(session.id, session)
    if (this.#ownKey(String(upstream), session) !== undefined)
      this.#tellOwn(line, String(upstream), String(method), session)
  }

  /** Tells a worker whose lists a session is shown now, and that they may be others than before. */
  #tellOwn(line: Line, said: string, method: string, session: Session): void {
    const notification = { method, params: undefined, isOfOwnLists: true }
    line.note({ said, notification, meant: [session.id], own: this.#ownLists(said, [session]) })
  }

  /** Keys of the lists of their own that sessions are shown. */
  #ownLists(name: string, sessions: readonly Session[]): OwnKey[] {
    return sessions.map(session => [session.id, this.#ownKey(name, session) ?? null])
  }

  #ownKey(name: string, session: Session): string | undefined {
    return this.#graph().upstreams.get(name)?.upstream.listsOf?.(session)
  }

  /**
   * The list of its own that a session is to be given, as its worker asks for it. A worker that does not know yet what lists
   * the session is shown keeps them as what it asked for: it is given those of all, and told.
   */
  #ownList({ upstream, method, own }: JsonObject, session: Session, line: Line): string | undefined {
    const { to, kind } = METHODS.get(String(method)) ?? {}
    if (to !== 'list' || kind === undefined) return undefined
    const key = this.#ownKey(String(upstream), session)
    if (key === own) return key
    this.#tellOwn(line, String(upstream), LISTS[kind].changed, session)
    return undefined
  }

  #states(): JsonObject[] {
    return [...this.#graph().upstreams.values()].map(({ upstream }) => stateOf(upstream))
  }

  #serve(request: JsonObject, served: Served, line: Line, sessions: Map<string, Session>): Promise<Answer> {
    const graph = this.#graph()
    const name = String(request.upstream)
    const node = graph.upstreams.get(name)
    if (node === undefined)
      throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why: 'it is not configured any more' })
    if (request.start === true)
      return node.upstream.start().then(() => ({ result: Payload.of({ problem: node.upstream.problem }) }))
    const session = sessionOn(line, request.upstream, request.session)
    sessions.set(session.id, session)
    const call = callOf(request, session, served, graph)
    call.ownList = this.#ownList(request, session, line)
    graph.entered()
    return node.dispatch(call).then(
      answer => {
        graph.left()
        call.exchange.answer = answer
        return answer
      },
      (failure: unknown) => {
        graph.left()
        throw failure
      },
    )
  }

  #ended(id: string, sessions: Map<string, Session>): void {
    const session = sessions.get(id)
    if (session === undefined) return
    sessions.delete(id)
    for (const { upstream } of this.#graph().upstreams.values()) upstream.sessionEnded?.(session)
  }
}

/** A session of a worker, which is told of what its upstream says to it. */
function sessionOn(line: Line, upstream: unknown, written: unknown): Session {
  const session: Session = readSession(written, notification => {
    line.note({ tell: upstream, session: session.id, notification })
    return true
  })
  return session
}

function callOf(request: JsonObject, session: Session, served: Served, graph: Graph): PipelineCall {
  const method = String(request.method)
  const written = request.written as WrittenParams | undefined
  const params = written === undefined ? (request.params as JsonObject | undefined) : readWritten(written)
  const principal = (request.principal ?? session.principal) as Principal
  if (typeof request.token === 'string') keepToken(principal, request.token)
  const exchange = new PipelineExchange(
    graph.nextId(),
    session,
    {
      method,
      params,
      headers: (request.from ?? {}) as Record<string, string>,
      via: request.via as Via,
      principal,
      emit: notification => served.emit(notification),
      ...(request.asks === true ? { ask: ask => served.ask(ask) } : {}),
    },
    STRAIGHT,
    graph.clock.now(),
  )
  served.onCancel(reason => exchange.cancel(reason))
  const call = new PipelineCall(String(request.upstream), method, params, exchange)
  Object.assign(call.headers, request.headers)
  call.mayBeTask = request.mayBeTask === true
  return call
}

function stateOf(upstream: Upstream): JsonObject {
  const { name, state, problem, problemDetail, server, pid, degraded, isRemembered } = liveOf(upstream)
  return { name, state, problem, problemDetail, server, pid, degraded, isRemembered }
}
