import type { CatalogEntry } from '../api/catalog-entry.ts'
import { createEntry, createUnlistedEntry } from '../api/catalog-entry.ts'
import type {
  Answer,
  Call,
  WrappedCall,
  ClientDescription,
  Clock,
  Config,
  Dispatch,
  Exchange,
  IncomingRequest,
  Log,
  Notification,
  Session,
  Upstream,
} from '../api/index.ts'
import { ANONYMOUS, authorizationKey } from '../api/principal.ts'
import { getErrorMessage } from '../errors/errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Kind } from '../protocol/methods.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import type { HideSecrets } from '../util/secrets.ts'
import { CallRecorder } from './call-recorder.ts'
import { CallTimer } from './call-timer.ts'
import { Catalog } from './catalog/catalog.ts'
import type { UnlistedMethods } from './catalog/upstream-list.ts'
import type { View } from './catalog/view.ts'
import { summarizeReply, recordAsk } from './client-request.ts'
import { askLegacy } from './client-requests/bridge.ts'
import type { Parking } from './client-requests/parking.ts'
import type { ExchangeDeps, PipelineCall } from './exchange.ts'
import { PipelineExchange } from './exchange.ts'
import { Router, findRoute, getTarget } from './router.ts'
import { StartupGrace, getLiveUpstream } from './reused-upstream.ts'
import type { Graph, Identity, UpstreamNode } from './graph-types.ts'
import { Notifier } from './notifications/notifier.ts'
import { runPipeline } from './pipeline.ts'
import type { Seal } from './seal.ts'
import { createRequestSession } from './session.ts'
import type { TaskStore } from './tasks/task-store.ts'

interface Maker extends Graph {
  exchange(session: Session, inbound: IncomingRequest): PipelineExchange
}

/** Nested calls: they cannot make further calls. */
const INNER = new WeakSet<PipelineExchange>()
const SILENT = (_: Notification): void => undefined

/**
 * Calls a tool within an exchange, for its caller and through the whole pipeline. It is cancelled with the exchange.
 */
async function callToolWithin(outer: PipelineExchange, params: WrappedCall, graph: Maker): Promise<Answer> {
  if (INNER.has(outer)) return { error: rpcError(RPC.invalidParams, 'nested calls cannot make further calls') }
  if (outer.cancelled) return { error: rpcError(RPC.internal, 'the request was cancelled') }
  const { session, principal, credentials, headers, remoteAddress, via } = outer
  const trace = getTraceContext(outer.params)
  const inbound: IncomingRequest = {
    method: 'tools/call',
    params: { ...params, ...(trace === undefined ? {} : { _meta: trace }) },
    via,
    // MCP headers describe the outer call.
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('mcp-'))),
    remoteAddress,
    principal,
    credentials,
    client: withoutCapabilities(session.client),
    emit: SILENT,
  }
  const inner = graph.exchange(createRequestSession(session, inbound), inbound)
  INNER.add(inner)
  inner.unwrap(params)
  const forget = outer.onCancel(reason => inner.cancel(reason))
  try {
    return await runPipeline(inner, graph)
  } finally {
    forget()
  }
}

const TRACE = ['traceparent', 'tracestate', 'baggage']

/** Returns the request's trace context, which its nested calls share. */
function getTraceContext(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?._meta
  const own = isObject(meta) ? Object.entries(meta).filter(([name]) => TRACE.includes(name)) : []
  return own.length === 0 ? undefined : Object.fromEntries(own)
}

const UNASKABLE = new WeakMap<ClientDescription, ClientDescription>()

/** Returns the client without capabilities, so that it receives no client requests. */
function withoutCapabilities(client: ClientDescription): ClientDescription {
  let cached = UNASKABLE.get(client)
  if (cached === undefined) UNASKABLE.set(client, (cached = { ...client, capabilities: {} }))
  return cached
}

interface GraphDeps {
  readonly config: Config
  readonly hooks: Hooks
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly identity: Identity
  readonly seal: Seal
  readonly parking: Parking
  readonly tasks: TaskStore
  readonly unlisted: UnlistedMethods
  readonly log: Log
  readonly clock: Clock
  readonly hide: HideSecrets
  /** The graph that this one replaces. */
  readonly before?: Graph | undefined
}

/** Hooks on which a plugin may have rules about resources. */
const JUDGES = ['request', 'route', 'catalog'] as const

/** Minimum view age before it is refreshed in the background. */
const REFRESH_AFTER_MS = 5000

/** One running generation of the configuration: creates and holds all core components. */
export class RuntimeGraph implements Graph {
  readonly config: Config
  readonly hooks: Hooks
  readonly upstreams: ReadonlyMap<string, UpstreamNode>
  readonly catalog: Catalog
  readonly router: Router
  readonly notifier: Notifier
  readonly seal: Seal
  readonly parking: Parking
  readonly tasks: TaskStore
  readonly log: Log
  readonly clock: Clock
  readonly hide: HideSecrets
  readonly recorder: CallRecorder
  readonly grace: StartupGrace
  readonly unlisted: UnlistedMethods
  /** True if any plugin has rules about resources. */
  readonly judgesUris: boolean
  /** True if any plugin may hide or change entries by rules. */
  readonly judgesEntries: boolean
  /** True if any plugin may send client requests during a call. */
  readonly holdsCalls: boolean
  /** True if a plugin reads the times of this method's calls. */
  readonly #isTimed: (method: string) => boolean
  readonly #identity: Identity
  readonly #exchangeDeps: ExchangeDeps
  readonly #renewed = new WeakMap<View, number>()
  #lastId = 0
  #running = 0

  constructor(parts: GraphDeps) {
    this.config = parts.config
    this.hooks = parts.hooks
    this.seal = parts.seal
    this.parking = parts.parking
    this.tasks = parts.tasks
    this.unlisted = parts.unlisted
    this.log = parts.log
    this.clock = parts.clock
    this.hide = parts.hide
    this.recorder = new CallRecorder({ hide: parts.hide, now: () => parts.clock.now() })
    this.grace = new StartupGrace(parts.config, parts.clock, parts.before?.grace)
    this.judgesUris = JUDGES.some(hook => parts.hooks.taps(hook).some(tap => tap.options.checksUris === true))
    this.judgesEntries = parts.hooks.taps('catalog').some(tap => tap.options.onlyRenames !== true)
    this.holdsCalls = parts.hooks.taps('dispatch').some(tap => tap.options.asks === true)
    this.#isTimed = createTimingCheck(parts.hooks)
    this.#identity = parts.identity
    this.upstreams = new Map([...parts.upstreams].map(([name, upstream]) => [name, this.#node(upstream)]))
    this.catalog = new Catalog(this)
    this.router = new Router(this)
    this.notifier = new Notifier(this)
    this.#exchangeDeps = {
      emit: (exchange, notification, send) => this.notifier.emit(exchange, notification, send),
      ask: (exchange, ask, send) => askLegacy(exchange, ask, this, send),
      listShown: (exchange, kind) => this.#listShownEntries(exchange, kind),
      judgeEntry: ({ session }, kind, upstream, original, value) => {
        const { prefix = '' } = this.upstreams.get(upstream) ?? {}
        const create = value === undefined ? createUnlistedEntry : createEntry
        return this.catalog.applyCatalogTaps(create(kind, upstream, original, prefix, value ?? {}), session)
      },
      callTool: (exchange, params) => callToolWithin(exchange, params, this),
      outdated: call => getOutdatedReason(call, this),
      recorder: this.recorder,
      onClientReply: (exchange, ask, reply) => recordAsk(this.hooks, exchange, ask, summarizeReply(reply)),
    }
  }

  get running(): number {
    return this.#running
  }

  beginCall(): void {
    this.#running++
  }

  endCall(): void {
    this.#running--
  }

  nextId(): number {
    return ++this.#lastId
  }

  exchange(session: Session, inbound: IncomingRequest): PipelineExchange {
    const now = this.clock.now()
    const exchange = new PipelineExchange(this.nextId(), session, inbound, this.#exchangeDeps, now)
    if (this.#isTimed(inbound.method)) exchange.times = new CallTimer(this.clock)
    return exchange
  }

  /** Gateway name and version; a single unprefixed upstream shows its own. */
  identity(): Identity {
    const [only] = this.upstreams.values()
    const isTransparent = this.upstreams.size === 1 && only?.prefix === '' && this.#identity.isDefault === true
    const { isDefault: _, ...own } = this.#identity
    return isTransparent ? (only.upstream.server?.info ?? own) : own
  }

  async #listShownEntries({ session }: Exchange, kind: Kind): Promise<readonly CatalogEntry[]> {
    const { catalog } = this
    const cached = catalog.getCachedView(kind, session)
    if (cached !== undefined) this.#refreshView(cached, kind, session)
    return catalog.listings.getListedView(cached ?? (await catalog.load(kind, session)), session).view.entries
  }

  /** Refreshes in the background: servers need not announce list changes. */
  #refreshView(view: View, kind: Kind, session: Session): void {
    const now = this.clock.now()
    if (now - (this.#renewed.get(view) ?? -Infinity) < REFRESH_AFTER_MS) return
    this.#renewed.set(view, now)
    void this.catalog.load(kind, session).catch(() => undefined)
  }

  #node(upstream: Upstream): UpstreamNode {
    const callUpstream = (call: Call): ReturnType<Dispatch> => upstream.dispatch(call)
    const own: Dispatch =
      this.#isTimed === never
        ? callUpstream
        : call =>
            (call.exchange.times as CallTimer | undefined)?.measure(() => callUpstream(call)) ?? callUpstream(call)
    const dispatch = this.hooks.getRunner('dispatch')?.(own, upstream) ?? own
    return { upstream, prefix: upstream.spec.prefix ?? `${upstream.name}__`, dispatch }
  }
}

/** Returns a check for methods whose times a `settled` tap reads. */
function createTimingCheck(hooks: Hooks): (method: string) => boolean {
  const taps = hooks.taps('settled').filter(({ options }) => options.timed === true)
  if (taps.length === 0) return never
  if (taps.some(({ options }) => options.methods === undefined)) return () => true
  const methods = new Set(taps.flatMap(({ options }) => options.methods ?? []))
  return method => methods.has(method)
}

function never(): boolean {
  return false
}

/**
 * Returns why the current configuration would reject a delayed call; undefined if it would accept it. A reload may
 * have removed its server, name or caller.
 */
async function getOutdatedReason(call: PipelineCall, graph: Graph): Promise<string | undefined> {
  const now = graph.tasks.graph
  if (now === undefined || now === graph) return undefined
  try {
    if (now.hooks.getRunner('approval') === undefined) return 'approval is no longer configured'
    if (!(await isAdmitted(call, now))) return 'the caller is no longer authorized'
    return await getRejectionReason(call, graph, now)
  } catch (error) {
    graph.log.warn('a delayed call cannot be checked against the current configuration', {
      reason: getErrorMessage(error),
    })
    return 'the configuration has changed'
  }
}

/** True without request credentials: each reload checks those of open connections. */
async function isAdmitted({ exchange }: PipelineCall, { hooks }: Graph): Promise<boolean> {
  const { credentials, principal } = exchange
  const find = credentials && hooks.getRunner('authenticate', credentials.listener)
  if (credentials === undefined || find === undefined) return true
  const result = (await find(credentials)) ?? ANONYMOUS
  return !('status' in result) && authorizationKey(result) === authorizationKey(principal)
}

async function getRejectionReason(
  { upstream, params, exchange }: PipelineCall,
  before: Graph,
  now: Graph,
): Promise<string | undefined> {
  const own = before.upstreams.get(upstream)
  const current = now.upstreams.get(upstream)
  if (own === undefined || current === undefined || getLiveUpstream(own.upstream) !== getLiveUpstream(current.upstream))
    return 'the upstream was replaced'
  const route = await findRoute(exchange, now)
  if ('error' in route) return 'the target is no longer available to the caller'
  const getTargetName = (params: Call['params']): string | undefined => getTarget(exchange.method, params)?.name
  const isSame =
    route.to === 'one' && route.upstream === upstream && getTargetName(route.params) === getTargetName(params)
  return isSame ? undefined : 'the name now refers to another target'
}
