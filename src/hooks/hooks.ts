import { gatewayError } from '../errors/errors.ts'
import { METHODS } from '../protocol/methods.ts'
import type { HookName, TapOptions } from './hook-table.ts'
import { HOOKS } from './hook-table.ts'
import type { HookTaps } from './hook-taps.ts'
import type { TapTimeout } from './tap-guard.ts'
import { HookPoint } from './hook-point.ts'

/** Hook as a plugin sees it: one verb. */
export interface Tappable<T> {
  tap(run: T): void
  tap(options: TapOptions, run: T): void
}

/** Hook with keys, such as upstream types, as a plugin sees it. */
export interface TappableMap<T> {
  for(key: string): Tappable<T>
}

/** The hooks as a plugin gets them. */
export type PluginHooks = {
  readonly [N in HookName]: N extends 'createUpstream' | 'createListener' | 'control' | 'http' | 'choice'
    ? TappableMap<HookTaps[N]>
    : Tappable<HookTaps[N]>
}

/** Function with which the core runs a hook; undefined when nobody taps it for this method or key. */
type Runner<N extends HookName> = ((...args: Parameters<HookTaps[N]>) => ReturnType<HookTaps[N]>) | undefined

/** Hooks that an exchange passes on its way, which are selected by its method. */
const METHOD_HOOKS = ['unwrap', 'request', 'route', 'call', 'patience', 'response', 'settled'] as const

/** Functions that run them for one method; undefined where nobody taps one. */
type MethodRunners = { readonly [N in (typeof METHOD_HOOKS)[number]]: Runner<N> }

/** The hooks of one graph. Compiling one costs as much as many exchanges, so they live as long as the graph. */
export class Hooks {
  readonly #points: Readonly<Record<HookName, HookPoint>>
  /** By method; those that nobody knows or names have one together, so that no peer can grow the table. */
  readonly #byMethod = new Map<string, MethodRunners>()

  /** `report` gets what a tap of a hook that must go on threw; without `patience`, promises are waited for as long as they take. */
  constructor(report: (error: unknown) => void, patience?: TapTimeout) {
    const points = Object.keys(HOOKS).map(
      name => [name, new HookPoint(name as HookName, report, patience)] as const,
    )
    this.#points = Object.freeze(Object.fromEntries(points)) as Readonly<Record<HookName, HookPoint>>
  }

  /** The one function that runs every tap which cares about `selector`. */
  getRunner<N extends HookName>(name: N, selector?: string): Runner<N> {
    return this.#points[name].getRunner(selector) as Runner<N>
  }

  /** All functions that an exchange of this method needs: to look each of them up costs as much as to run it. */
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

  /** Every tap of a hook on its own, in the order they run. */
  listTaps<N extends HookName>(
    name: N,
  ): readonly { readonly plugin: string; readonly run: NonNullable<Runner<N>> }[] {
    return this.#points[name].listTaps() as readonly { plugin: string; run: NonNullable<Runner<N>> }[]
  }

  /** The plugins on a hook, in the order they run. */
  listPlugins(name: HookName, selector?: string): string[] {
    return this.#points[name].listPlugins(selector)
  }

  /** Every tap of a hook as it was asked for, for inspect. */
  taps(name: HookName): readonly { plugin: string; options: TapOptions; key: string | undefined }[] {
    return this.#points[name].taps
  }

  /** The hooks as the plugin of this name sees them. */
  createFacade(plugin: string, isBuiltIn = false): PluginHooks {
    const entries = Object.entries(this.#points).map(([name, point]) => [
      name,
      createTappable(point, plugin, isBuiltIn),
    ])
    return Object.freeze(Object.fromEntries(entries)) as PluginHooks
  }

  /** Ends the time of tapping. */
  seal(plugins: ReadonlySet<string>): void {
    const isTimed = this.taps('settled').some(({ options }) => options.timed === true)
    for (const point of Object.values(this.#points)) point.seal(plugins, isTimed)
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
        why: 'hooks.listing.tap needs `readers`, which says what class a reader is of',
      })
    point.add({ plugin, options, key, isBuiltIn, run: run as never })
  }
  if (HOOKS[point.name].by === 'key')
    return Object.freeze({ for: (key: string) => Object.freeze({ tap: createTap(key) }) })
  return Object.freeze({ tap: createTap(undefined) })
}
