import { resolve } from 'node:path'
import type {
  ConfigChanges,
  ClientConnection,
  ConnectOptions,
  GatewayEvents,
  GatewayOptions,
  Inspection,
  Load,
  RequestOptions,
  UpstreamHandle,
} from '../api/gateway.ts'
import type { Clock, Listener, Log } from '../api/index.ts'
import type { LoadedConfig } from '../config/index.ts'
import type { Problem } from '../config/problem.ts'
import { formatProblem } from '../config/problem.ts'
import { UnlistedMethods } from '../core/catalog/upstream-list.ts'
import type { ClientRoots } from '../core/client-requests/client-roots.ts'
import { fetchRoots } from '../core/client-requests/client-roots.ts'
import { Parking } from '../core/client-requests/parking.ts'
import { PipelineGate } from '../core/listener-gate.ts'
import type { RuntimeGraph } from '../core/generation-graph.ts'
import { createRefusedFinding } from '../core/health.ts'
import { getLiveUpstream } from '../core/reused-upstream.ts'
import { TaskStore } from '../core/tasks/task-store.ts'
import { gatewayError, GatewayError } from '../errors/errors.ts'
import type { Health } from '../errors/health.ts'
import { connect, InProcessTransport } from '../listeners/in-process.ts'
import { SlotTable } from '../plugin-host/slots.ts'
import { PluginPrograms } from '../processes/plugin-programs.ts'
import { ProcessQuota } from '../processes/process-quota.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { systemClock } from '../util/clock.ts'
import { createLog, createRedactedLog } from '../util/log.ts'
import { Secrets } from '../util/secrets.ts'
import { parseDuration } from '../util/units.ts'
import { readOwnPackage } from '../util/version.ts'
import { runVerb } from './control-verbs.ts'
import { findPrincipal } from './explain.ts'
import { GatewayEventEmitter, UpstreamLogFeed } from './event-emitter.ts'
import type { Generation, GatewayDeps } from './generation.ts'
import { buildGeneration, openSeal, openState } from './generation.ts'
import { createUpstreamHandle, inspect, measureLoad } from './inspect.ts'
import { ListenerSet } from './listener-set.ts'
import type { GatewayLifecycle } from './reloader.ts'
import { Generations, toLoadedConfig, startUpstreams } from './reloader.ts'

const KEEP_ALIVE_MS = 30_000

/**
 * Builds a gateway from a loaded file, or from a plain object of the same shape. Opens no socket and starts no
 * process.
 *
 * ```ts
 * const gateway = await createGateway({ upstreams: { files: { type: 'stdio', command: 'mcp-server-filesystem', args:
 * ['.'] } } })
 * await gateway.start()
 * const client = await gateway.connect()
 * console.error(await client.request('tools/list'))
 * await gateway.close()
 * ```
 * @throws GatewayError GW_CONFIG_INVALID, GW_PLUGIN_LOAD, GW_PLUGIN_OPTIONS, GW_PLUGIN_SETUP
 */
export function createGateway(source: LoadedConfig | JsonObject, options: GatewayOptions = {}): Promise<Gateway> {
  return makeGateway(source, options)
}

/** The same, with upstreams that replace those from plugins. */
export async function makeGateway(
  source: LoadedConfig | JsonObject,
  options: GatewayOptions,
  upstream?: GatewayDeps['upstream'],
): Promise<Gateway> {
  const directory = resolve(options.directory ?? '.')
  const loaded = await toLoadedConfig(source, directory)
  const secrets = new Secrets()
  const unheard = createLog({ level: 'warn', format: 'json', write: () => undefined })
  const log = createRedactedLog(options.log ?? unheard, secrets.hide)
  const live: LateDeps = { events: new GatewayEventEmitter(log) }
  const deps = await createGatewayDeps(loaded, { ...options, log, secrets, upstream }, live)
  const first = await buildGeneration(loaded, deps)
  const gate = new PipelineGate(first.graph, readOwnPackage())
  live.roots = gate.roots
  const { clock } = deps
  const listeners = new ListenerSet({ gate, log, clock })
  const lifecycle: GatewayLifecycle = { isStarted: false, isClosed: false, ending: new AbortController() }
  const generations = new Generations(first, { deps, directory, gate, listeners, lifecycle })
  live.generations = generations
  const { programs } = deps
  const parts = { deps, programs, gate, listeners, lifecycle, generations, ...live, load: options.load }
  const gateway = new Gateway(parts)
  live.gateway = gateway
  return gateway
}

/** State that exists once the first generation is built. */
interface LateDeps {
  readonly events: GatewayEventEmitter
  generations?: Generations
  roots?: ClientRoots
  /** Absent until the gateway is built. */
  gateway?: Gateway
}

async function createGatewayDeps(
  loaded: LoadedConfig,
  options: GatewayOptions & Pick<GatewayDeps, 'log' | 'secrets' | 'upstream'>,
  live: LateDeps,
): Promise<GatewayDeps & { readonly programs: PluginPrograms }> {
  const { log, secrets, environment = {}, clock = systemClock } = options
  const processLimits = ProcessQuota.fromConfig(loaded.config)
  const shared = { log, clock, environment }
  const { memories, directory, privatePlaces } = await openState(loaded, options, { log, clock })
  const state = { directory, isShared: options.ephemeral === true }
  const programs = new PluginPrograms({
    ...shared,
    limiter: processLimits,
    hide: secrets.hide,
    privatePlaces,
    ...loaded,
  })
  return {
    ...{ ...shared, processLimits, secrets, memories, state, programs, privatePlaces },
    slots: new SlotTable(),
    seal: await openSeal(memories, options, log),
    parking: new Parking(),
    tasks: new TaskStore(),
    unlisted: new UnlistedMethods(),
    plugins: options.plugins ?? [],
    runVerb: (verb, params) =>
      live.gateway?.control(verb, params) ??
      Promise.reject(new Error('verbs are not available while plugins are being set up')),
    onPeerNotification: (name, notification) => live.generations?.handlePeerNotification(name, notification),
    getListenerUrl: name => live.gateway?.listeners.find(listener => listener.name === name)?.url,
    upstream: options.upstream,
    upstreamSays: (name, notification, upstream, isMeant) =>
      live.generations?.forwardNotification(name, notification, upstream, isMeant),
    upstreamChanged: (name, state, upstream) => {
      if (live.generations?.handleStateChange(name, state, upstream) !== true) return
      const { problem } = upstream ?? {}
      live.events.emit('state', { upstream: name, state, ...(problem === undefined ? {} : { problem }) })
    },
    hooksOf: (name, upstream) => live.generations?.findHooks(name, upstream),
    rootsFor: upstream => fetchRoots(upstream, () => live.roots),
  }
}

interface GatewayMembers {
  readonly deps: GatewayDeps
  readonly programs: PluginPrograms
  readonly gate: PipelineGate
  readonly listeners: ListenerSet
  readonly lifecycle: GatewayLifecycle
  readonly generations: Generations
  readonly events: GatewayEventEmitter
  readonly load: GatewayOptions['load']
}

/** A running gateway: `start` it, `reload` it, `connect` to it, `close` it. */
export class Gateway {
  readonly #deps: GatewayDeps
  readonly #programs: PluginPrograms
  readonly #gate: PipelineGate
  readonly #listeners: ListenerSet
  readonly #lifecycle: GatewayLifecycle
  readonly #generations: Generations
  readonly #events: GatewayEventEmitter
  readonly #logs: UpstreamLogFeed
  readonly #load: GatewayOptions['load']
  #startedAt: number | undefined
  /** The `ready` hooks and listeners of `start`, until they are done. */
  #opening: Promise<unknown> | undefined

  constructor({ deps, programs, gate, listeners, lifecycle, generations, events, load }: GatewayMembers) {
    this.#deps = deps
    this.#programs = programs
    this.#gate = gate
    this.#listeners = listeners
    this.#lifecycle = lifecycle
    this.#generations = generations
    this.#events = events
    this.#logs = new UpstreamLogFeed((upstream, line) => events.emit('log', { upstream, line }))
    this.#load = load
    this.#followLogs()
  }

  /** The running configuration with its graph. */
  get generation(): Generation {
    return this.#generations.current
  }

  /** Open listeners. `url` is known after `start`. */
  get listeners(): readonly Listener[] {
    return this.#listeners.all
  }

  /** `start` time in milliseconds since 1970; undefined before. */
  get startedAt(): number | undefined {
    return this.#startedAt
  }

  /** The configured upstreams by name, to watch, start, stop and restart each. */
  get upstreams(): ReadonlyMap<string, UpstreamHandle> {
    const { graph } = this.generation
    const nodes = [...graph.upstreams.values()]
    return new Map(nodes.map(({ upstream }) => [upstream.name, createUpstreamHandle(upstream, graph)]))
  }

  /**
   * Subscribes to `state`, `reloaded`, `refused` or `log` events. Returns the unsubscribe function.
   *
   * ```ts
   * const leave = gateway.on('state', ({ upstream, state, problem }) => console.error(upstream, state, problem))
   * ```
   */
  on<E extends keyof GatewayEvents>(event: E, listener: (event: GatewayEvents[E]) => void): () => void {
    const leave = this.#events.on(event, listener)
    if (event !== 'log') return leave
    const unfollow = this.#logs.follow()
    return () => {
      leave()
      unfollow()
    }
  }

  /**
   * Opens the listeners, then begins to start the upstreams; `settled` waits for those.
   * @throws GatewayError GW_LISTEN, GW_STOPPING if the gateway was closed, or the error of a plugin's `ready` hook; the
   * gateway is closed then.
   */
  async start(): Promise<void> {
    this.#markStarted()
    this.#opening = this.#openListeners()
    try {
      await this.#opening
      if (this.#lifecycle.isClosed) throw gatewayError('GW_STOPPING')
    } catch (error) {
      await this.close()
      throw error
    }
    void startUpstreams(this.generation)
  }

  async #openListeners(): Promise<void> {
    const { graph, loaded, neighbours } = this.generation
    await this.#generations.runReadyHooks(this.generation)
    await this.#listeners.applyPlan({ loaded, hooks: graph.hooks, neighbours }, 0)
  }

  /** Resolves when the first attempt of every upstream has succeeded or failed. */
  async settled(): Promise<void> {
    await startUpstreams(this.generation)
  }

  /** Starts the upstreams without opening a listener, for read-only tools. */
  #startUpstreams(): void {
    if (this.#lifecycle.isStarted) return
    this.#markStarted()
    void startUpstreams(this.generation)
  }

  #markStarted(): void {
    this.#lifecycle.isStarted = true
    this.#startedAt ??= Date.now()
  }

  /**
   * Resolves when the clients of all stdio listeners have disconnected; never if another kind of listener is open.
   */
  get ended(): Promise<void> {
    const { added } = this.generation
    const own = this.#listeners.all.filter(({ name }) => !added.has(name))
    const endings = own.map(listener => listener.ended ?? new Promise<void>(() => undefined))
    return endings.length === 0 ? new Promise(() => undefined) : Promise.all(endings).then(() => undefined)
  }

  /**
   * Builds the next generation, starts new upstreams, swaps, and drains the old generation. Clients are notified only
   * of lists that changed. Without a source, `load` of the options returns the configuration.
   * @throws GatewayError if the configuration is invalid; the running generation stays unchanged then.
   */
  reload(source?: LoadedConfig | JsonObject): Promise<ConfigChanges> {
    return this.#replaceGeneration(async () => source ?? (await this.#loadConfig()))
  }

  async #replaceGeneration(load: () => Promise<LoadedConfig | JsonObject>, isRebuild = false): Promise<ConfigChanges> {
    try {
      const replaced = await this.#generations.replace(load)
      this.#followLogs()
      if (!isRebuild) this.#gate.removeFinding('config-refused')
      this.#events.emit('reloaded', replaced)
      return replaced.changes
    } catch (thrown) {
      const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
      if (error.code !== 'GW_STOPPING') this.#reportRefused(error)
      throw error
    }
  }

  #reportRefused(error: GatewayError): void {
    const [problem, ...others] = (error.fields.problems ?? []) as readonly Problem[]
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`
    const place = problem && `${formatProblem(problem, this.generation.loaded.directory)}${more}`
    this.#gate.addFinding(createRefusedFinding(error, place ?? error.message))
    this.#events.emit('refused', { error })
  }

  async #loadConfig(): Promise<LoadedConfig | JsonObject> {
    if (this.#load === undefined) throw gatewayError('GW_NO_SOURCE')
    return this.#load()
  }

  #followLogs(): void {
    const upstreams = [...this.generation.graph.upstreams.values()].map(({ upstream }) => getLiveUpstream(upstream))
    this.#logs.setUpstreams(upstreams)
  }

  /**
   * Reports not ready to load balancers and serves for another `shutdown.delay`; returns immediately without HTTP
   * listeners. Call `close` afterwards.
   */
  async drain(): Promise<void> {
    if (!this.#lifecycle.isClosed)
      await drainListeners(this.generation.graph, this.#gate, this.#listeners.all, this.#deps)
  }

  /**
   * Stops accepting requests, drains running ones within `shutdown.grace`, then stops every upstream and releases all
   * resources.
   */
  async close(): Promise<void> {
    if (this.#lifecycle.isClosed) return
    this.#lifecycle.isClosed = true
    this.#lifecycle.ending.abort()
    // The clock's timers are unreferenced; keep the process alive until everything is closed.
    const keepAliveTimer = setInterval(() => undefined, KEEP_ALIVE_MS)
    try {
      await this.#shutDown()
    } finally {
      clearInterval(keepAliveTimer)
    }
  }

  async #shutDown(): Promise<void> {
    await this.#generations.waitForReloads()
    await this.#opening?.catch(() => undefined)
    const { graph } = this.generation
    const grace = parseDuration(graph.config.shutdown.grace)
    graph.hooks.getRunner('stopping')?.(grace)
    await this.#listeners.stop(grace)
    this.#gate.stopAccepting()
    this.#deps.parking.expireAll()
    this.#deps.tasks.cancelAll()
    graph.notifier.endListens()
    await Promise.all([...graph.upstreams.values()].map(({ upstream }) => upstream.stop()))
    await this.#generations.waitForDrained()
    await graph.hooks.getRunner('close')?.()
    this.#programs.retirePrograms()
    await this.#deps.memories?.flush()
  }

  /**
   * Connects a client inside this process, over the standard pipeline.
   * @throws GatewayError GW_CALLER_UNKNOWN
   */
  async connect(options: ConnectOptions = {}): Promise<ClientConnection> {
    this.#startUpstreams()
    return connect(this.#gate, findPrincipal(options.as, this.generation.graph), options)
  }

  /** Returns a transport for an MCP SDK `Client`: `await new Client(info).connect(gateway.transport())`. */
  transport(): InProcessTransport {
    this.#startUpstreams()
    return new InProcessTransport({
      name: 'in-process',
      gate: this.#gate,
      log: this.#deps.log,
      clock: this.#deps.clock,
    })
  }

  get load(): Load {
    return measureLoad(this.generation.graph, this.#listeners.all)
  }

  /**
   * Number of open sessions, of all sessions so far, and of running requests. A modern HTTP request is its own
   * session.
   */
  get activity(): { readonly sessions: number; readonly opened: number; readonly running: number } {
    return this.#gate.activity
  }

  /** Findings for the owner, the most severe first. */
  get health(): Health {
    return this.#gate.health()
  }

  /**
   * Describes the running gateway as plain data without secrets. Before `start` no upstream is queried, so the
   * catalog is empty.
   */
  async inspect(): Promise<Inspection> {
    return inspect(this.generation, this.#listeners.all, this.#lifecycle.isStarted)
  }

  /**
   * Runs an owner verb, as the control socket does: `ps`, `inspect`, `reload`, `upstream.start`, `upstream.stop`,
   * `upstream.restart`, `upstream.logs`, and verbs that plugins add with `control.for(verb)`. A streaming verb, such
   * as
   * `upstream.logs` with `follow`, sends notifications to `onNotification` until `signal` aborts or the gateway
   * closes.
   * @throws GatewayError GW_VERB_UNKNOWN, GW_VERB_PARAMS, GW_UPSTREAM_UNKNOWN, or the verb's own error.
   */
  control(verb: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<JsonObject> {
    const rebuild = (): Promise<object> => this.#replaceGeneration(() => Promise.resolve(this.generation.written), true)
    return runVerb(this, verb, params, { ...options, rebuild, ending: this.#lifecycle.ending.signal })
  }
}

/**
 * Reports not ready to load balancers and serves for another `shutdown.delay`; returns immediately if no listener can
 * have a load balancer.
 */
async function drainListeners(
  { config }: RuntimeGraph,
  gate: PipelineGate,
  listeners: readonly Listener[],
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<void> {
  const delayMs = parseDuration(config.shutdown.delay)
  const isReachable = listeners.some(({ type }) => type === 'http')
  if (delayMs === 0 || !isReachable || gate.isDraining) return
  gate.drain()
  log.info('draining: not ready, still serving', { delayMs })
  await new Promise<void>(resolve => clock.after(delayMs, resolve))
}
