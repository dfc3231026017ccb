import type { Services } from '../api/index.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import { METHODS } from '../protocol/methods.ts'
import type { HookName, TapOptions } from './hook-table.ts'
import { HOOKS } from './hook-table.ts'
import type { HookTaps } from './hook-taps.ts'
import type { TapOrigin, TapTimeout } from './tap-guard.ts'
import { guardSync } from './tap-guard.ts'
import { HookPoint } from './hook-point.ts'

/** Hook as plugins see it. */
export interface Tappable<T> {
  tap(run: T): void
  tap(options: TapOptions, run: T): void
}

/** Keyed hook as plugins see it, for example by upstream type. */
export interface TappableMap<T> {
  for(key: string): Tappable<T>
}

/** All hooks as plugins see them. */
export type PluginHooks = {
  readonly [N in HookName]: N extends 'createUpstream' | 'createListener' | 'control' | 'http'
    ? TappableMap<HookTaps[N]>
    : Tappable<HookTaps[N]>
}

/** Runs a hook; undefined if no tap matches the method or key. */
type Runner<N extends HookName> = ((...args: Parameters<HookTaps[N]>) => ReturnType<HookTaps[N]>) | undefined

/** A plugin's latest error in one hook. */
interface TapFailure {
  readonly plugin: string
  readonly hook: string
  readonly why: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Pipeline hooks, selected by method. */
const METHOD_HOOKS = ['request', 'route', 'call', 'response', 'settled'] as const

/** Runners of one method; undefined if no tap matches. */
type MethodRunners = { readonly [N in (typeof METHOD_HOOKS)[number]]: Runner<N> }

/** Hooks of one graph. They live as long as the graph, as compiling is expensive. */
export class Hooks {
  readonly #points: Readonly<Record<HookName, HookPoint>>
  /** By method; unknown methods share one entry, so that peers cannot grow the map. */
  readonly #byMethod = new Map<string, MethodRunners>()
  #services: Services | undefined
  /** Latest error by failed tap. */
  readonly failures = new Map<string, TapFailure>()

  /**
   * `report` receives errors of safe hooks. Without `patience` promises have no timeout. `describe` makes an error
   * readable for the owner.
   */
  constructor(report: (error: unknown) => void, patience?: TapTimeout, describe = getErrorMessage) {
    const onFailure = ({ plugin, hook }: TapOrigin, cause: unknown): void =>
      void this.failures.set(`${plugin} ${hook}`, { plugin, hook, why: describe(cause), at: Date.now() })
    const points = Object.keys(HOOKS).map(
      name => [name, new HookPoint(name as HookName, report, onFailure, patience)] as const,
    )
    this.#points = Object.freeze(Object.fromEntries(points)) as Readonly<Record<HookName, HookPoint>>
  }

  getRunner<N extends HookName>(name: N, selector?: string): Runner<N> {
    return this.#points[name].getRunner(selector) as Runner<N>
  }

  /** Returns all runners of a method in one lookup. */
  getRunners(method: string): MethodRunners {
    return this.#byMethod.get(method) ?? this.#makeRunners(method)
  }

  #makeRunners(method: string): MethodRunners {
    const isKnown = METHODS.has(method) || METHOD_HOOKS.some(name => this.#points[name].isNamed(method))
    const key = isKnown ? method : ''
    const made = this.#byMethod.get(key)
    if (made !== undefined) return made
    const runners = METHOD_HOOKS.map(name => [name, this.getRunner(name, key)] as const)
    const all = Object.fromEntries(runners) as unknown as MethodRunners
    this.#byMethod.set(key, all)
    return all
  }

  /** Objects that plugins provide; complete when the hooks are sealed. */
  get services(): Services {
    return this.#services ?? this.#collectServices()
  }

  #collectServices(): Services {
    const taps = this.taps('services').length === 0 ? [] : this.listTaps('services')
    return taps.reduce<Services>((services, { plugin, run }) => {
      const provided = run(services) ?? services
      const { admission } = provided
      if (admission === undefined || admission === services.admission) return provided
      const admit = guardSync(admission.admit, { plugin, hook: 'services' }) as typeof admission.admit
      return { ...provided, admission: { ...admission, admit } }
    }, {})
  }

  listTaps<N extends HookName>(name: N): readonly { readonly plugin: string; readonly run: NonNullable<Runner<N>> }[] {
    return this.#points[name].listTaps() as readonly { plugin: string; run: NonNullable<Runner<N>> }[]
  }

  listPlugins(name: HookName, selector?: string): string[] {
    return this.#points[name].listPlugins(selector)
  }

  /** Lists all registered taps of a hook, for `inspect`. */
  taps(name: HookName): readonly { plugin: string; options: TapOptions; key: string | undefined }[] {
    return this.#points[name].taps
  }

  /** Creates the hooks for one plugin. */
  createFacade(plugin: string, isBuiltIn = false): PluginHooks {
    const entries = Object.entries(this.#points).map(([name, point]) => [
      name,
      createTappable(point, plugin, isBuiltIn),
    ])
    return Object.freeze(Object.fromEntries(entries)) as PluginHooks
  }

  /** Seals all hooks. */
  seal(plugins: ReadonlySet<string>): void {
    for (const point of Object.values(this.#points)) point.seal(plugins)
    this.#services = this.#collectServices()
  }
}

function createTappable(point: HookPoint, plugin: string, isBuiltIn: boolean): unknown {
  const createTap = (key: string | undefined) => (first: unknown, second?: unknown) => {
    const run = second ?? first
    const options = second === undefined ? {} : (first as TapOptions)
    if (typeof run !== 'function') {
      throw gatewayError('GW_PLUGIN_SETUP', { plugin, why: `hooks.${point.name}.tap needs a function` })
    }
    if (point.name === 'listing' && typeof options.readers !== 'function')
      throw gatewayError('GW_PLUGIN_SETUP', {
        plugin,
        why: 'hooks.listing.tap requires `readers`, a function that returns the class of a reader',
      })
    point.add({ plugin, options, key, isBuiltIn, run: run as never })
  }
  if (HOOKS[point.name].by === 'key')
    return Object.freeze({ for: (key: string) => Object.freeze({ tap: createTap(key) }) })
  return Object.freeze({ tap: createTap(undefined) })
}
