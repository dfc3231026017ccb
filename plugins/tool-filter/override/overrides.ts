import { BoundedMap, globs, type Config, type JsonObject } from '../../../src/plugin.ts'
import { Arguments, type ArgumentSpec } from './arguments.ts'

/** One entry of `override`, as it is written. */
export interface OverrideSpec {
  readonly title?: string
  readonly annotations?: JsonObject
  readonly icons?: readonly JsonObject[]
  /** Texts by the place of what they describe in the schema. */
  readonly texts?: Readonly<Record<string, string>>
  readonly arguments?: Readonly<Record<string, ArgumentSpec>>
}

type Written = Readonly<Record<string, OverrideSpec>>

/** All that is said of one tool, ready for use. */
export interface Override extends Omit<OverrideSpec, 'arguments'> {
  readonly arguments: Arguments | undefined
}

/** Name of a tool under which `filters` speak of it. */
type VisibleName = (upstream: string, original: string) => string

const MAX_TOOLS = 10_000

/** Finds what is said of tools; undefined where nothing is said of any. */
export class Overrides {
  readonly #own: ReadonlyMap<string, Matcher>
  readonly #all: Matcher
  readonly #visible: VisibleName
  readonly #known = new BoundedMap<string, { readonly override: Override | undefined }>({ max: MAX_TOOLS })
  /** True if any of them changes what arguments there are. */
  readonly changesArguments: boolean

  static of(config: Config, visible: VisibleName): Overrides | undefined {
    const own = Object.entries(config.upstreams).flatMap(([name, { tools }]) =>
      tools?.override === undefined ? [] : [[name, tools.override as Written] as const],
    )
    const all = (config.filters?.tools?.override ?? {}) as Written
    if (own.length === 0 && Object.keys(all).length === 0) return undefined
    return new Overrides(new Map(own), all, visible)
  }

  private constructor(own: ReadonlyMap<string, Written>, all: Written, visible: VisibleName) {
    this.#own = new Map([...own].map(([name, written]) => [name, matcher(written)]))
    this.#all = matcher(all)
    this.#visible = visible
    this.changesArguments = [...own.values(), all].some(written =>
      Object.values(written).some(spec => spec.arguments !== undefined),
    )
  }

  /** What is said of a tool, by its server's own name for it. */
  for(upstream: string, original: string): Override | undefined {
    const key = JSON.stringify([upstream, original])
    const known = this.#known.use(key)
    if (known !== undefined) return known.override
    const own = this.#own.get(upstream)?.(original) ?? []
    const override = merged([...own, ...this.#all(this.#visible(upstream, original))])
    this.#known.set(key, { override })
    return override
  }
}

type Matcher = (name: string) => readonly OverrideSpec[]

function matcher(written: Written): Matcher {
  const rows = Object.entries(written).map(([glob, spec]) => ({ fits: globs(glob), spec }))
  return name => rows.filter(({ fits }) => fits(name)).map(({ spec }) => spec)
}

/** One of several that are about the same tool: of two that say the same thing, the later one counts. */
export function merged(specs: readonly OverrideSpec[]): Override | undefined {
  if (specs.length === 0) return undefined
  const whole = specs.reduce((one, other) => ({
    ...one,
    ...other,
    annotations: { ...one.annotations, ...other.annotations },
    texts: { ...one.texts, ...other.texts },
    arguments: { ...one.arguments, ...other.arguments },
  }))
  const args =
    Object.keys(whole.arguments ?? {}).length === 0 ? undefined : new Arguments(whole.arguments ?? {})
  return { ...whole, arguments: args }
}
