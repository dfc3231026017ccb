import type {
  Answer,
  AuditEvent,
  Credentials,
  Metric,
  Gate,
  HttpReply,
  HttpRequest,
  IncomingRequest,
  Notification,
  Principal,
  Readiness,
  Refusal,
  RunningExchange,
  Session,
  SessionInit,
  Upstream,
} from '../api/index.ts'
import { ANONYMOUS } from '../api/principal.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { Health, HealthFinding } from '../errors/health.ts'
import { finding, summarizeFindings } from '../errors/health.ts'
import type { HookTaps } from '../hooks/hook-taps.ts'
import { isObject } from '../protocol/json/json.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import { ClientRoots } from './client-requests/client-roots.ts'
import type { PipelineExchange } from './exchange.ts'
import type { RuntimeGraph } from './generation-graph.ts'
import { isOwnerError, runPipeline } from './pipeline.ts'
import { computeHealth, getUpstreamStatus } from './health.ts'
import { PipelineSession, createRequestSession } from './session.ts'
import { isUp } from './reused-upstream.ts'
import { isVisible } from './capabilities.ts'

type AuthenticationResult = ReturnType<HookTaps['authenticate']>

/** Maximum sessions that can receive notifications. */
const MAX_SESSIONS = 100_000

/** The gate between listeners and the pipeline. It outlives generations; the graph behind it is swapped. */
export class PipelineGate implements Gate {
  readonly info: { readonly name: string; readonly version: string }
  readonly roots: ClientRoots
  #graph: RuntimeGraph
  #isOpen = true
  #isDraining = false
  readonly #sessions = new Set<Session>()
  /** Findings without an upstream or plugin, by code. */
  readonly #standingFindings = new Map<string, HealthFinding>()
  #conversations = 0
  #opened = 0

  constructor(graph: RuntimeGraph, info: { name: string; version: string }) {
    this.#graph = graph
    this.info = info
    this.roots = new ClientRoots(() => this.#graph, this.#sessions)
    graph.notifier.attach(this.#sessions)
    graph.tasks.attach(graph)
  }

  get graph(): RuntimeGraph {
    return this.#graph
  }

  /**
   * New exchanges use the new graph's pipeline; running ones finish on the old one. The caller must end the old
   * graph's listens.
   */
  swap(graph: RuntimeGraph): void {
    graph.notifier.attach(this.#sessions)
    graph.notifier.adopt(this.#graph.notifier)
    this.#graph.notifier.attach(new Set())
    this.#graph = graph
    graph.tasks.attach(graph)
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** Reports not ready, but keeps serving. */
  drain(): void {
    this.#isDraining = true
  }

  stopAccepting(): void {
    this.#isOpen = false
  }

  admit(listener: string, path?: string): Refusal | 'close' | undefined {
    try {
      return this.#graph.hooks.services.admission?.admit(listener, path)
    } catch (thrown) {
      this.#graph.log.error('admission check failed', { listener, reason: getErrorMessage(thrown) })
      return createFailureRefusal()
    }
  }

  authenticate(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal> {
    const find = this.#graph.hooks.getRunner('authenticate', credentials.listener)
    if (find === undefined) return ANONYMOUS
    let result: AuthenticationResult
    try {
      result = find(credentials)
    } catch (thrown) {
      result = this.#handleAuthFailure(thrown)
    }
    // Most callers are identified synchronously; skip the promise.
    if (!(result instanceof Promise)) return this.#checkIdentity(result, credentials)
    return result
      .catch((thrown: unknown) => this.#handleAuthFailure(thrown))
      .then(caller => this.#checkIdentity(caller, credentials))
  }

  reportRefusal(refusal: Refusal, credentials: Credentials): void {
    this.#graph.hooks.getRunner('auditEvent')?.(createRefusalEvent(refusal, credentials))
  }

  #checkIdentity(identity: Awaited<AuthenticationResult>, credentials: Credentials): Principal | Refusal {
    const caller = identity ?? ANONYMOUS
    if ('status' in caller && credentials.isOptional !== true) this.reportRefusal(caller, credentials)
    return caller
  }

  /** Refuses a caller that cannot be identified because a plugin failed. */
  #handleAuthFailure(thrown: unknown): Refusal {
    this.#graph.log.error('authentication failed with an internal error', { reason: getErrorMessage(thrown) })
    return createFailureRefusal()
  }

  serve(request: HttpRequest): Promise<HttpReply | undefined> | undefined {
    const { hooks } = this.#graph
    const answer = hooks.getRunner('http', request.path) ?? hooks.getRunner('http', normalizePath(request.path))
    return answer === undefined ? undefined : Promise.resolve(answer(request)).then(reply => reply ?? undefined)
  }

  async openSession(init: SessionInit): Promise<Session> {
    if (!this.#isOpen) throw gatewayError('GW_STOPPING')
    const session = new PipelineSession(init)
    try {
      await this.#graph.hooks.getRunner('session')?.(session)
    } catch (thrown) {
      if (isOwnerError(thrown)) this.#graph.log.error(getErrorMessage(thrown), { ...thrown.fields, code: thrown.code })
      throw thrown
    }
    this.#conversations++
    this.#opened++
    return session
  }

  closeSession(session: Session, reason: string): void {
    if (this.#sessions.delete(session)) this.roots.handleSessionEnd()
    this.#conversations--
    if (session.client.era === 'legacy') {
      this.#graph.notifier.forgetSession(session)
      this.#graph.tasks.handleSessionEnd(session)
    }
    // Server state for the session is needed until its background calls end.
    const end = (): void => {
      for (const { upstream } of this.#graph.upstreams.values()) upstream.onSessionEnd?.(session)
    }
    if (!(session instanceof PipelineSession)) return end()
    if (session.openedAt !== undefined) this.#reportEnd(session, session.openedAt, reason)
    session.runWhenIdle(end)
    session.runEndListeners(reason, error => this.#graph.log.error(getErrorMessage(error), { session: session.id }))
  }

  #reportEnd({ listener: name, client: { version } }: PipelineSession, openedAt: number, reason: string): void {
    const { hooks, clock } = this.#graph
    hooks.getRunner('sessionEnd')?.({ peer: 'client', name, version, ms: clock.now() - openedAt, reason })
  }

  run(session: Session, inbound: IncomingRequest): RunningExchange {
    if (!this.#isOpen) return { answer: Promise.resolve(createStoppingRefusal()), cancel: () => undefined }
    const graph = this.#graph
    const exchange = graph.exchange(createRequestSession(session, inbound), inbound)
    const answer =
      exchange.method === 'initialize' ? this.#createGreeting(exchange, graph) : runPipeline(exchange, graph)
    return { answer, cancel: reason => exchange.cancel(reason) }
  }

  async #createGreeting(exchange: PipelineExchange, graph: RuntimeGraph): Promise<Answer> {
    const answer = await runPipeline(exchange, graph)
    if ('result' in answer) this.#markInitialized(exchange.session)
    return answer
  }

  /** No notifications before initialization (2025-11-25, lifecycle). */
  #markInitialized(session: Session): void {
    if (session.client.era !== 'legacy') return
    if (session instanceof PipelineSession) session.root.openedAt ??= this.#graph.clock.now()
    if (this.#sessions.size < MAX_SESSIONS) this.#sessions.add(session)
  }

  receiveNotification(session: Session, notification: Notification): void {
    const context = { direction: 'upstream', upstream: undefined, exchange: undefined } as const
    const decided = this.#graph.hooks.getRunner('notification', notification.method)?.(notification, context)
    if (decided !== 'drop') this.roots.handleNotification(session, decided ?? notification)
  }

  readiness(caller: Principal = ANONYMOUS): Readiness {
    const upstreams: Record<string, Readiness['upstreams'][string]> = {}
    const nodes = [...this.#graph.upstreams.values()].map(node => node.upstream)
    for (const node of this.#graph.upstreams.values()) {
      if (caller !== ANONYMOUS && !isVisible({ principal: caller, profile: undefined }, node, this.#graph)) continue
      const { name, state, problem } = node.upstream
      upstreams[name] = problem === undefined ? { state } : { state, problem }
    }
    // Computed on demand: probes of unknown callers do not read it.
    const summarizeHealth = (): Health => {
      const { level, findings } = this.health()
      const relevant = findings.filter(({ upstream }) => upstream === undefined || upstream in upstreams)
      return relevant.length === findings.length ? { level, findings } : summarizeFindings(relevant)
    }
    const ready = this.#isOpen && !this.#isDraining && canServe(nodes)
    return {
      ready,
      upstreams,
      get health() {
        return summarizeHealth()
      },
    }
  }

  health(): Health {
    const ending = this.#isOpen && !this.#isDraining ? [] : [finding('stopping')]
    return computeHealth(this.#graph, [...ending, ...this.#standingFindings.values()])
  }

  /** Adds a finding until it is removed. */
  addFinding(finding: HealthFinding): void {
    this.#standingFindings.set(finding.code, finding)
  }

  removeFinding(code: string): void {
    this.#standingFindings.delete(code)
  }

  getMetrics(): readonly Metric[] {
    return this.#graph.hooks.getRunner('metrics')?.([]) ?? []
  }

  /** Numbers of open sessions, of sessions opened in total, and of running requests. */
  get activity(): { readonly sessions: number; readonly opened: number; readonly running: number } {
    return { sessions: this.#conversations, opened: this.#opened, running: this.#graph.running }
  }

  status(): ReturnType<Gate['status']> {
    const upstreams = [...this.#graph.upstreams.values()].map(node => getUpstreamStatus(node.upstream, this.#graph))
    return { upstreams, sessions: this.#conversations, running: this.#graph.running }
  }
}

/** True if a server can be called and all required servers are up. */
function canServe(nodes: readonly Upstream[]): boolean {
  const someReady = nodes.length === 0 || nodes.some(isUp)
  return someReady && nodes.every(node => node.spec.onFailure !== 'fail' || isUp(node))
}

/** Normalizes a path so that taps share one key for paths that differ only in the last segment. */
function normalizePath(path: string): string {
  return `${path.slice(0, path.lastIndexOf('/') + 1)}*`
}

function createStoppingRefusal(): Answer {
  const error = gatewayError('GW_STOPPING')
  return { error: rpcError(error.entry.rpc ?? RPC.internal, error.message, { code: error.code }) }
}

/** A plugin failed before an exchange existed: the caller must not learn details of the plugin. */
function createFailureRefusal(): Refusal {
  return { status: 500, error: rpcError(RPC.internal, gatewayError('GW_INTERNAL').message) }
}

function createRefusalEvent(
  { status, error: { code, message, data } }: Refusal,
  { listener, method, path, remoteAddress }: Credentials,
): AuditEvent {
  const outcome = isObject(data) && typeof data.code === 'string' ? data.code : message
  return {
    kind: 'refused',
    name: method,
    outcome,
    fields: { listener, path, address: remoteAddress ?? '', status, code },
  }
}
