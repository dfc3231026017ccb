import { resolve } from 'node:path'
import { parseConfig, type LoadedConfig } from './config/index.ts'
import { RoadGate } from './core/gate.ts'
import type { Listener, Upstream } from './core/ports.ts'
import { Parking } from './core/parking.ts'
import { TaskStore } from './core/tasks/task-store.ts'
import { Seal } from './core/seal.ts'
import { gatewayError, reasonOf } from './errors.ts'
import type { Connection, ConnectOptions, GatewayOptions, Inspection, UpstreamHandle } from './gateway-api.ts'
import { buildGeneration, type Generation, type Surroundings } from './generation.ts'
import { handleOf, inspect } from './inspect.ts'
import { Listeners } from './listeners.ts'
import { SlotTable } from './plugin-host/slots.ts'
import type { JsonObject } from './protocol/jsonrpc.ts'
import { connect } from './transport/in-process.ts'
import { InProcessTransport } from './transport/in-process-transport.ts'
import { systemClock } from './util/clock.ts'
import { createLog } from './util/log.ts'
import { parseDuration } from './util/units.ts'
import { ownPackage } from './util/version.ts'

/** An old generation gets this long for what is still on its road. */
const DRAIN_MS = 30_000
const DRAIN_POLL_MS = 20

/**
 * Builds a gateway from a loaded file, or from a plain object of the same shape. No socket and no process yet.
 *
 * ```ts
 * const gateway = await createGateway({ upstreams: { files: { type: 'stdio', command: 'mcp-server-filesystem', args: ['.'] } } })
 * await gateway.start()
 * const client = await gateway.connect()
 * console.error(await client.request('tools/list'))
 * await gateway.close()
 * ```
 * @throws GatewayError GW_CONFIG_INVALID, GW_PLUGIN_LOAD, GW_PLUGIN_OPTIONS, GW_PLUGIN_SETUP
 */
export async function createGateway(
  source: LoadedConfig | JsonObject,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const directory = resolve(options.directory ?? '.')
  const loaded = await loadedFrom(source, directory)
  const log = options.log ?? createLog({ level: 'warn', format: 'json', write: () => undefined })
  const live: { gateway?: Gateway } = {}
  const around: Surroundings = {
    log,
    clock: systemClock,
    slots: new SlotTable(),
    seal: new Seal(),
    parking: new Parking(),
    tasks: new TaskStore(),
    environment: options.environment ?? {},
    plugins: options.plugins ?? [],
    upstreamSays: (upstream, notification) =>
      live.gateway?.generation.graph.lane.upstreamSays(upstream, notification),
    upstreamChanged: (upstream, state) =>
      live.gateway?.generation.graph.lane.upstreamChanged(upstream, state),
  }
  const gateway = new Gateway(await buildGeneration(loaded, around), around, directory)
  live.gateway = gateway
  return gateway
}

/** A running gateway: `start` it, `reload` it, `connect` to it, `close` it. */
export class Gateway {
  readonly #around: Surroundings
  readonly #gate: RoadGate
  readonly #listeners: Listeners
  readonly #draining = new Set<Promise<void>>()
  /** One reload after the other, and none during the end. */
  #reloading: Promise<void> = Promise.resolve()
  #generation: Generation
  readonly #directory: string
  #isStarted = false
  #isClosed = false

  constructor(generation: Generation, around: Surroundings, directory: string) {
    this.#directory = directory
    this.#generation = generation
    this.#around = around
    this.#gate = new RoadGate(generation.graph, ownPackage())
    this.#listeners = new Listeners({ gate: this.#gate, log: around.log, clock: around.clock })
  }

  /** The configuration that runs, with its graph. */
  get generation(): Generation {
    return this.#generation
  }

  /** Where clients arrive. `url` is known after `start`. */
  get listeners(): readonly Listener[] {
    return this.#listeners.all
  }

  /** The configured servers by name, to watch, start, stop and restart each. */
  get upstreams(): ReadonlyMap<string, UpstreamHandle> {
    const { graph } = this.#generation
    const nodes = [...graph.upstreams.values()]
    return new Map(nodes.map(({ upstream }) => [upstream.name, handleOf(upstream, graph)]))
  }

  /**
   * Opens the listeners and begins to start the upstreams; `settled` waits for those.
   * @throws GatewayError GW_LISTEN, or what a plugin's `ready` threw; the gateway is closed then.
   */
  async start(): Promise<void> {
    this.#isStarted = true
    this.#startUpstreams()
    const { graph, loaded } = this.#generation
    try {
      await graph.hooks.runner('ready')?.()
      await this.#listeners.become(loaded, graph.hooks, 0)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Resolves when every upstream has had its first attempt, well or badly. */
  async settled(): Promise<void> {
    await Promise.all(wanted(this.#generation).map(upstream => upstream.start()))
  }

  /** Starts the upstreams without opening a listener: for tools that only look. */
  #startUpstreams(): void {
    for (const { upstream } of this.#generation.graph.upstreams.values()) void upstream.start()
  }

  /** Resolves when the client of every stdio listener has gone away; never when another kind of listener is open. */
  get ended(): Promise<void> {
    const ends = this.#listeners.all.map(listener => listener.ended ?? new Promise<void>(() => undefined))
    return ends.length === 0 ? new Promise(() => undefined) : Promise.all(ends).then(() => undefined)
  }

  /**
   * Builds the next generation, starts what is new in it, swaps, and lets the old one finish.
   * @throws GatewayError when anything is wrong with it; the running generation is untouched then.
   */
  reload(source: LoadedConfig | JsonObject): Promise<void> {
    const done = this.#reloading.then(() => this.#reload(source))
    this.#reloading = done.catch(() => undefined)
    return done
  }

  async #reload(source: LoadedConfig | JsonObject): Promise<void> {
    if (this.#isClosed) throw gatewayError('GW_STOPPING')
    const before = this.#generation
    const next = await buildGeneration(await loadedFrom(source, this.#directory), this.#around, before)
    try {
      await this.#prepare(next)
      if (this.#isClosed) throw gatewayError('GW_STOPPING')
    } catch (error) {
      await this.#discard(next, before)
      throw error
    }
    this.#generation = next
    this.#gate.swap(next.graph)
    for (const kind of ['tools', 'prompts', 'resources'])
      next.graph.lane.listChanged(`notifications/${kind}/list_changed`)
    const drained = this.#drain(before, next).finally(() => this.#draining.delete(drained))
    this.#draining.add(drained)
  }

  async #prepare(next: Generation): Promise<void> {
    if (!this.#isStarted) return
    const graceMs = parseDuration(next.graph.config.lists.grace)
    const starts = wanted(next).map(upstream => upstream.start())
    await Promise.race([
      Promise.all(starts),
      new Promise<void>(resolve => this.#around.clock.after(graceMs, resolve)),
    ])
    await next.graph.hooks.runner('ready')?.()
    await this.#listeners.become(
      next.loaded,
      next.graph.hooks,
      parseDuration(next.graph.config.shutdown.grace),
    )
  }

  async #discard(failed: Generation, kept: Generation): Promise<void> {
    await failed.graph.hooks.runner('close')?.()
    await stopAllBut(failed, kept)
    if (this.#isClosed) return
    await this.#listeners
      .become(kept.loaded, kept.graph.hooks, 0)
      .catch((error: unknown) => this.#around.log.error(reasonOf(error)))
  }

  async #drain(before: Generation, next: Generation): Promise<void> {
    const deadline = this.#around.clock.now() + DRAIN_MS
    while (before.graph.running > 0 && this.#around.clock.now() < deadline)
      await new Promise(resolve => setTimeout(resolve, DRAIN_POLL_MS))
    await before.graph.hooks.runner('close')?.()
    await stopAllBut(before, next)
  }

  /** Stops accepting, lets what runs finish within `shutdown.grace`, then stops every upstream. Nothing is left behind. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // The clock's timers do not keep the process alive, and it must live until everything has ended.
    const alive = setInterval(() => undefined, DRAIN_MS)
    try {
      await this.#end()
    } finally {
      clearInterval(alive)
    }
  }

  async #end(): Promise<void> {
    await this.#reloading
    const { graph } = this.#generation
    await this.#listeners.stop(parseDuration(graph.config.shutdown.grace))
    this.#gate.shut()
    this.#around.parking.end()
    this.#around.tasks.end()
    graph.lane.end()
    await Promise.all([...graph.upstreams.values()].map(({ upstream }) => upstream.stop()))
    await Promise.all(this.#draining)
    await graph.hooks.runner('close')?.()
  }

  /** A client inside this process, which takes the same road as any other. */
  async connect(options: ConnectOptions = {}): Promise<Connection> {
    if (!this.#isStarted) this.#startUpstreams()
    this.#isStarted = true
    return connect(this.#gate, options)
  }

  /** A transport for an MCP SDK `Client`: `await new Client(info).connect(gateway.transport())`. */
  transport(): InProcessTransport {
    if (!this.#isStarted) this.#startUpstreams()
    this.#isStarted = true
    return new InProcessTransport({
      name: 'in-process',
      gate: this.#gate,
      log: this.#around.log,
      clock: this.#around.clock,
    })
  }

  /** What runs, as plain data without secrets. Before `start` nothing is asked, so the catalog is empty. */
  async inspect(): Promise<Inspection> {
    return inspect(this.#generation, this.#listeners.all, this.#isStarted)
  }
}

/** A loaded file as it is; a plain object checked like one. */
async function loadedFrom(source: LoadedConfig | JsonObject, directory: string): Promise<LoadedConfig> {
  return isLoaded(source) ? source : parseConfig(source, { directory })
}

function isLoaded(source: LoadedConfig | JsonObject): source is LoadedConfig {
  return 'origins' in source && 'config' in source
}

/** The upstreams that nobody has stopped by name. */
function wanted({ graph }: Generation): Upstream[] {
  return [...graph.upstreams.values()]
    .map(({ upstream }) => upstream)
    .filter(({ state }) => state !== 'stopped')
}

async function stopAllBut(generation: Generation, kept: Generation): Promise<void> {
  const keep = new Set([...kept.graph.upstreams.values()].map(({ upstream }) => upstream))
  const gone = [...generation.graph.upstreams.values()].filter(({ upstream }) => !keep.has(upstream))
  await Promise.all(gone.map(({ upstream }) => upstream.stop()))
}
