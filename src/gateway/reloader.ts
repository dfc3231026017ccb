import { isDeepStrictEqual } from 'node:util'
import type { ConfigChanges, NameChanges } from '../api/gateway.ts'
import type { Notification, Session, Upstream, UpstreamState } from '../api/index.ts'
import type { Config, LoadedConfig } from '../config/index.ts'
import { parseConfig } from './load-config.ts'
import { notifyReloaded } from '../core/notifications/list-changes.ts'
import type { PipelineGate } from '../core/gate.ts'
import { getLiveUpstream } from '../core/upstream.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { gatewayError, getOwnerProblem, getOwnerReason } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { getChangedKinds } from '../protocol/methods.ts'
import { parseDuration } from '../util/units.ts'
import type { Generation, GatewayDeps } from './generation.ts'
import { buildGeneration } from './generation.ts'
import type { ListenerChange, ListenerSet } from './listener-set.ts'

const NAMED: readonly string[] = ['upstreams', 'listeners'] satisfies (keyof Config)[]

/** An old generation gets this long for what is still under way in it. */
const DRAIN_MS = 30_000
const DRAIN_POLL_MS = 20

/** Phase of a gateway's life. */
export interface GatewayLifecycle {
  isStarted: boolean
  isClosed: boolean
  /** Aborts when the end begins. */
  readonly ending: AbortController
}

/** Dependencies of the generations of one gateway. */
interface GenerationsDeps {
  readonly deps: GatewayDeps
  readonly gate: PipelineGate
  readonly listeners: ListenerSet
  readonly lifecycle: GatewayLifecycle
  /** Directory that relative paths of a plain configuration start from. */
  readonly directory: string
}

/** Configuration that took effect. */
interface ReloadResult {
  readonly source: LoadedConfig
  readonly changes: ConfigChanges
}

/** The generation that runs, the one that comes, and the one that goes: never more of them. */
export class Generations {
  readonly #host: GenerationsDeps
  #current: Generation
  #next: Generation | undefined
  #previous: Generation | undefined
  /** One after the other, and none during the end. */
  #lastReload: Promise<unknown> = Promise.resolve()
  #drained: Promise<void> = Promise.resolve()

  constructor(first: Generation, host: GenerationsDeps) {
    this.#current = first
    this.#host = host
  }

  get current(): Generation {
    return this.#current
  }

  async runReadyHooks({ graph }: Generation): Promise<void> {
    await graph.hooks.getRunner('ready')?.()
  }

  /** Notes changes of an upstream. Listens of the generation that goes hear of changes until they are ended. */
  says(
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

  /** Handles a notification received by a peer process. */
  handlePeerNotification(name: string, notification: Notification): void {
    const upstream = this.#current.graph.upstreams.get(name)?.upstream
    if (upstream !== undefined) this.says(name, notification, getLiveUpstream(upstream))
  }

  /**
   * An upstream became another state. One that is still to come, or goes, changes no list. False when the running
   * generation has another one of its name, so that nobody outside wants to know.
   */
  handleStateChange(name: string, state: UpstreamState, upstream: Upstream | undefined): boolean {
    if (hasUpstream(this.#current, name, upstream)) {
      this.#current.graph.notifier.handleStateChange(name, state)
      return true
    }
    const owner = [this.#next, this.#previous].find(
      one => one !== undefined && hasUpstream(one, name, upstream),
    )
    owner?.graph.hooks.getRunner('upstreamState')?.(name, state, upstream && getOwnerProblem(upstream))
    return owner !== undefined && !this.#current.graph.upstreams.has(name)
  }

  /** The hooks that hold for an upstream now: a server that a reload keeps is under those of the new configuration. */
  findHooks(name: string, upstream: Upstream | undefined): Hooks | undefined {
    const all = [this.#current, this.#next, this.#previous]
    return all.find(one => one !== undefined && hasUpstream(one, name, upstream))?.graph.hooks
  }

  /** Builds the next generation, starts what is new in it, swaps, and lets the old one finish. */
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
        deps.log.error('an old generation did not end well', { reason: getOwnerReason(error) }),
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
    this.#rejectWhenClosing()
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

  async #drainPrevious(
    before: Generation,
    next: Generation,
    change: ListenerChange | undefined,
  ): Promise<void> {
    const { lifecycle, deps } = this.#host
    this.#previous = before
    const settled = change?.settle(parseDuration(before.graph.config.shutdown.grace))
    const told = notifyReloaded(before.graph, next.graph).catch((error: unknown) =>
      deps.log.error('clients were not told of other lists', { reason: getOwnerReason(error) }),
    )
    await this.#waitOrEnd(told)
    before.graph.notifier.endListens()
    const deadline = deps.clock.now() + DRAIN_MS
    while (before.graph.running > 0 && deps.clock.now() < deadline && !lifecycle.isClosed)
      await new Promise(resolve => setTimeout(resolve, DRAIN_POLL_MS))
    await before.graph.hooks.getRunner('close')?.()
    await stopOtherUpstreams(before, next)
    this.#previous = undefined
    await settled
  }

  /** Resolves with the work, however it ends, or when the end of the gateway begins. */
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

  /** Resolves when no reload is under way any more; what is asked for later is refused. */
  async waitForReloads(): Promise<void> {
    await this.#lastReload
  }

  /** Resolves when nothing of an old generation is left. */
  async waitForDrained(): Promise<void> {
    await this.#drained
  }
}

/**
 * Starts what starts with the gateway, unless somebody has stopped it by name. Resolves when each had its first attempt, but
 * for those that run in the generation before: they are as they were.
 */
export async function startUpstreams({ graph }: Generation, before?: Generation): Promise<void> {
  const all = [...graph.upstreams.values()].map(({ upstream }) => upstream)
  await Promise.all(
    all.filter(shouldStart).map(async upstream => {
      const started = upstream.start()
      if (before === undefined || !hasUpstream(before, upstream.name, getLiveUpstream(upstream)))
        await started
    }),
  )
}

function shouldStart({ state, spec, server, isRemembered }: Upstream): boolean {
  if (state === 'stopped' || spec.start === 'lazy') return false
  // Lists that are remembered of a server that runs elsewhere may be outdated, and a connection to it costs no process.
  if (isRemembered === true && spec.type !== 'stdio') return true
  // One that rests is known already, and rests on.
  return state !== 'idle' || spec.start === 'eager' || server === undefined
}

/** True for notifications that each generation sends to its own listens; all else has one place to go. */
function isListenNotification(method: string): boolean {
  return method === 'notifications/resources/updated' || getChangedKinds(method).length > 0
}

/** One that is not quite made yet belongs to nobody. */
function hasUpstream({ graph }: Generation, name: string, upstream: Upstream | undefined): boolean {
  const own = graph.upstreams.get(name)?.upstream
  return upstream !== undefined && own !== undefined && getLiveUpstream(own) === upstream
}

/** A loaded file as it is; a plain object checked like one. */
export async function toLoadedConfig(
  source: LoadedConfig | JsonObject,
  directory: string,
): Promise<LoadedConfig> {
  return isLoaded(source) ? source : parseConfig(source, { directory })
}

function isLoaded(source: LoadedConfig | JsonObject): source is LoadedConfig {
  return 'origins' in source && 'config' in source
}

async function stopOtherUpstreams(generation: Generation, kept: Generation): Promise<void> {
  const keep = new Set([...kept.graph.upstreams.values()].map(({ upstream }) => getLiveUpstream(upstream)))
  const gone = [...generation.graph.upstreams.values()].filter(
    ({ upstream }) => !keep.has(getLiveUpstream(upstream)),
  )
  await Promise.all(gone.map(({ upstream }) => upstream.stop()))
}

/** Differences of the next configuration. */
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
