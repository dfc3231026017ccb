import { isDeepStrictEqual, promisify } from 'node:util'
import type { ConfigChanges, NameChanges } from '../api/gateway.ts'
import type { Notification, Session, Upstream, UpstreamState } from '../api/index.ts'
import type { Config, LoadedConfig } from '../config/index.ts'
import { loadConfigObject } from './load-config.ts'
import { notifyReloaded } from '../core/notifications/list-changes.ts'
import type { PipelineGate } from '../core/listener-gate.ts'
import { getLiveUpstream } from '../core/reused-upstream.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { gatewayError, getOwnerProblem, getOwnerReason } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { getChangedKinds } from '../protocol/methods.ts'
import { parseDuration } from '../util/units.ts'
import type { Generation, GatewayDeps } from './generation.ts'
import { buildGeneration } from './generation.ts'
import type { ListenerChange, ListenerSet } from './listener-set.ts'

const NAMED: readonly string[] = ['upstreams', 'listeners'] satisfies (keyof Config)[]

/** Drain timeout for an old generation. */
const DRAIN_MS = 30_000
const DRAIN_POLL_MS = 20

/** Gateway lifecycle phase. */
export interface GatewayLifecycle {
  isStarted: boolean
  isClosed: boolean
  /** Aborts when the shutdown begins. */
  readonly ending: AbortController
}

interface GenerationsDeps {
  readonly deps: GatewayDeps
  readonly gate: PipelineGate
  readonly listeners: ListenerSet
  readonly lifecycle: GatewayLifecycle
  /** Base directory for relative paths in a plain configuration. */
  readonly directory: string
}

/** The configuration that took effect. */
interface ReloadResult {
  readonly source: LoadedConfig
  readonly changes: ConfigChanges
}

/** The running generation, the next and the draining one: never more. */
export class Generations {
  readonly #host: GenerationsDeps
  #current: Generation
  #next: Generation | undefined
  #previous: Generation | undefined
  /** Reloads run one after the other, and none during shutdown. */
  #lastReload: Promise<unknown> = Promise.resolve()
  #drained: Promise<void> = Promise.resolve()

  constructor(first: Generation, host: GenerationsDeps) {
    this.#current = first
    this.#host = host
  }

  get current(): Generation {
    return this.#current
  }

  /** Runs the `ready` hooks one after the other. @throws GatewayError GW_STOPPING if the gateway closes meanwhile */
  async runReadyHooks({ graph }: Generation): Promise<void> {
    this.#rejectWhenClosing()
    for (const { run } of graph.hooks.listTaps('ready')) {
      // Listed taps of asynchronous hooks end with a callback.
      await promisify(run as (first: undefined, done: () => void) => void)(undefined)
      this.#rejectWhenClosing()
    }
  }

  /** Emits upstream changes. Open listens in the old generation receive changes until they close. */
  forwardNotification(
    name: string,
    notification: Notification,
    upstream: Upstream | undefined,
    isMeant?: (session: Session) => boolean,
  ): void {
    const leaving = isListenNotification(notification.method) ? this.#previous : undefined
    for (const generation of [this.#current, leaving])
      if (generation !== undefined && hasUpstream(generation, name, upstream))
        generation.graph.notifier.notifyUpstream(name, notification, isMeant)
  }

  handlePeerNotification(name: string, notification: Notification): void {
    const upstream = this.#current.graph.upstreams.get(name)?.upstream
    if (upstream !== undefined) this.forwardNotification(name, notification, getLiveUpstream(upstream))
  }

  /**
   * Handles an upstream's state change. Future and draining upstreams change no list. Returns false if the running
   * generation has another upstream of this name, so that no event is emitted.
   */
  handleStateChange(name: string, state: UpstreamState, upstream: Upstream | undefined): boolean {
    if (hasUpstream(this.#current, name, upstream)) {
      this.#current.graph.notifier.handleStateChange(name, state)
      return true
    }
    const owner = [this.#next, this.#previous].find(one => one !== undefined && hasUpstream(one, name, upstream))
    owner?.graph.hooks.getRunner('upstreamState')?.(name, state, upstream && getOwnerProblem(upstream))
    return owner !== undefined && !this.#current.graph.upstreams.has(name)
  }

  /** Returns an upstream's current hooks: a server that a reload reuses uses those from the new configuration. */
  findHooks(name: string, upstream: Upstream | undefined): Hooks | undefined {
    const all = [this.#current, this.#next, this.#previous]
    return all.find(one => one !== undefined && hasUpstream(one, name, upstream))?.graph.hooks
  }

  /** Builds the next generation, starts new upstreams, swaps, and drains the old generation. */
  replace(source: () => Promise<LoadedConfig | JsonObject>): Promise<ReloadResult> {
    const done = this.#lastReload.then(async () => this.#replace(await source()))
    this.#lastReload = done.catch(() => undefined)
    return done
  }

  async #replace(source: LoadedConfig | JsonObject): Promise<ReloadResult> {
    const { deps, directory, gate, listeners } = this.#host
    this.#rejectWhenClosing()
    const before = this.#current
    const loaded = await toLoadedConfig(source, directory)
    const next = await buildGeneration(loaded, deps, before)
    this.#next = next
    try {
      await this.#waitOrEnd(this.#drained)
      const listening = await this.#prepareGeneration(next)
      this.#current = next
      const { max, starting } = next.loaded.config.processes
      deps.processLimits.resize(max, starting)
      gate.swap(next.graph)
      listeners.recheckCredentials()
      this.#drained = this.#drainPrevious(before, next, listening).catch((error: unknown) =>
        deps.log.error('draining the previous configuration failed', { reason: getOwnerReason(error) }),
      )
    } catch (error) {
      await next.graph.hooks.getRunner('close')?.()
      await stopOtherUpstreams(next, before)
      throw error
    } finally {
      this.#next = undefined
    }
    return { source: loaded, changes: compareUpstreams(before.graph.config, next.graph.config) }
  }

  #rejectWhenClosing(): void {
    if (this.#host.lifecycle.isClosed) throw gatewayError('GW_STOPPING')
  }

  async #prepareGeneration(next: Generation): Promise<ListenerChange | undefined> {
    const { lifecycle, deps, listeners } = this.#host
    this.#rejectWhenClosing()
    if (!lifecycle.isStarted) return undefined
    const { lists, shutdown } = next.graph.config
    let takeBack = (): void => undefined
    const grace = new Promise<void>(resolve => {
      takeBack = deps.clock.after(parseDuration(lists.grace), resolve)
    })
    await this.#waitOrEnd(Promise.race([startUpstreams(next, this.#current), grace])).finally(takeBack)
    await this.runReadyHooks(next)
    const { loaded, neighbours } = next
    const plan = { loaded, neighbours, hooks: next.graph.hooks }
    const change = await listeners.applyPlan(plan, parseDuration(shutdown.grace))
    if (lifecycle.isClosed) {
      await change.undo()
      throw gatewayError('GW_STOPPING')
    }
    return change
  }

  async #drainPrevious(before: Generation, next: Generation, change: ListenerChange | undefined): Promise<void> {
    const { lifecycle, deps } = this.#host
    this.#previous = before
    const settled = change?.settle(parseDuration(before.graph.config.shutdown.grace))
    const notified = notifyReloaded(before.graph, next.graph).catch((error: unknown) =>
      deps.log.error('notifying clients of changed lists failed', { reason: getOwnerReason(error) }),
    )
    await this.#waitOrEnd(notified)
    before.graph.notifier.endListens()
    const deadline = deps.clock.now() + DRAIN_MS
    while (before.graph.running > 0 && deps.clock.now() < deadline && !lifecycle.isClosed)
      await new Promise(resolve => setTimeout(resolve, DRAIN_POLL_MS))
    await before.graph.hooks.getRunner('close')?.()
    await stopOtherUpstreams(before, next)
    this.#previous = undefined
    await settled
  }

  /** Resolves when the work settles, or when the gateway begins to close. */
  #waitOrEnd(work: Promise<unknown>): Promise<void> {
    const { signal } = this.#host.lifecycle.ending
    return new Promise(resolve => {
      const done = (): void => {
        signal.removeEventListener('abort', done)
        resolve()
      }
      if (signal.aborted) return resolve()
      signal.addEventListener('abort', done)
      void work.then(done, done)
    })
  }

  /** Resolves when no reload is running; later requests are rejected. */
  async waitForReloads(): Promise<void> {
    await this.#lastReload
  }

  /** Resolves when all old generations are drained. */
  async waitForDrained(): Promise<void> {
    await this.#drained
  }
}

/**
 * Starts the upstreams that start with the gateway, except those stopped by name. Resolves after the first attempt of
 * each, without those reused from the previous generation.
 */
export async function startUpstreams({ graph }: Generation, before?: Generation): Promise<void> {
  const all = [...graph.upstreams.values()].map(({ upstream }) => upstream)
  await Promise.all(
    all.filter(shouldStart).map(async upstream => {
      const started = upstream.start()
      if (before === undefined || !hasUpstream(before, upstream.name, getLiveUpstream(upstream))) await started
    }),
  )
}

function shouldStart({ state, spec, server, isRemembered }: Upstream): boolean {
  if (state === 'stopped' || spec.start === 'lazy') return false
  // Cached lists of a remote server may be outdated, and a connection to it costs no process.
  if (isRemembered === true && spec.type !== 'stdio') return true
  // An idle server is already known and stays idle.
  return state !== 'idle' || spec.start === 'eager' || server === undefined
}

/** True for notifications that each generation sends to its own listens; others have one target. */
function isListenNotification(method: string): boolean {
  return method === 'notifications/resources/updated' || getChangedKinds(method).length > 0
}

/** True if this generation has the upstream; an upstream under construction has none. */
function hasUpstream({ graph }: Generation, name: string, upstream: Upstream | undefined): boolean {
  const own = graph.upstreams.get(name)?.upstream
  return upstream !== undefined && own !== undefined && getLiveUpstream(own) === upstream
}

/** Returns a loaded file unchanged; validates a plain object in the same way. */
export async function toLoadedConfig(source: LoadedConfig | JsonObject, directory: string): Promise<LoadedConfig> {
  return isLoaded(source) ? source : loadConfigObject(source, { directory })
}

function isLoaded(source: LoadedConfig | JsonObject): source is LoadedConfig {
  return 'origins' in source && 'config' in source
}

async function stopOtherUpstreams(generation: Generation, current: Generation): Promise<void> {
  const retained = new Set([...current.graph.upstreams.values()].map(({ upstream }) => getLiveUpstream(upstream)))
  const removed = [...generation.graph.upstreams.values()].filter(
    ({ upstream }) => !retained.has(getLiveUpstream(upstream)),
  )
  await Promise.all(removed.map(({ upstream }) => upstream.stop()))
}

/** Compares upstreams in two configurations. */
function compareUpstreams(old: Config, now: Config): ConfigChanges {
  const keys = new Set([...Object.keys(old), ...Object.keys(now)] as (keyof Config)[])
  return {
    upstreams: compareEntries(isEnabled(old), isEnabled(now)),
    listeners: compareEntries(listEnabled(old.listeners), listEnabled(now.listeners)),
    settings: [...keys].filter(key => !NAMED.includes(key) && !isDeepStrictEqual(old[key], now[key])),
  }
}

function compareEntries(old: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): NameChanges {
  const both = [...now.keys()].filter(name => old.has(name))
  const isKept = (name: string): boolean => isDeepStrictEqual(old.get(name), now.get(name))
  return {
    added: [...now.keys()].filter(name => !old.has(name)),
    removed: [...old.keys()].filter(name => !now.has(name)),
    changed: both.filter(name => !isKept(name)),
    kept: both.filter(isKept),
  }
}

function listEnabled(values: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(values))
}

function isEnabled({ upstreams }: Config): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(upstreams).filter(([, spec]) => spec.enabled))
}
