import type { Config, JsonObject } from '../../../src/plugin.ts'
import { BoundedMap, compileGlobs, isObject, resolvePointer } from '../../../src/plugin.ts'

/** Overridden tools by original value, so that equal tools stay identical objects for comparison. */
const OVERRIDDEN_TOOLS = new WeakMap<Override, WeakMap<JsonObject, JsonObject>>()

/** Applies an override to a tool definition. */
export function applyOverride(value: JsonObject, override: Override): JsonObject {
  let cache = OVERRIDDEN_TOOLS.get(override)
  if (cache === undefined) OVERRIDDEN_TOOLS.set(override, (cache = new WeakMap<JsonObject, JsonObject>()))
  let made = cache.get(value)
  if (made === undefined) cache.set(value, (made = overrideTool(value, override)))
  return made
}

function overrideTool(value: JsonObject, override: Override): JsonObject {
  const { title, annotations, icons, texts = {} } = override
  const made: JsonObject = { ...value }
  if (title !== undefined) made.title = title
  if (annotations !== undefined && Object.keys(annotations).length > 0)
    made.annotations = { ...(isObject(value.annotations) ? value.annotations : {}), ...annotations }
  if (icons !== undefined) made.icons = icons
  const { inputSchema } = value
  if (!isObject(inputSchema)) return made
  const described = Object.entries(texts).reduce(describePart, inputSchema)
  made.inputSchema = override.arguments?.overrideSchema(described) ?? described
  return made
}

/** Sets a description in a schema; unchanged if the pointer does not exist. */
function describePart(schema: JsonObject, [pointer, description]: [string, string]): JsonObject {
  const made = structuredClone(schema)
  const part = resolvePointer(pointer, made)
  if (isObject(part)) Object.assign(part, { description })
  return made
}

/** Configured argument override; keyed by original name. */
interface ArgumentSpec {
  readonly rename?: string
  readonly description?: string
  readonly default?: unknown
  readonly value?: unknown
  readonly hide?: boolean
}

/** Restored arguments, or the unknown or inexact one. */
type RestoredArguments = { readonly args: JsonObject } | { readonly unknown: string } | { readonly inexact: string }

/** Keywords with subschemas for the same value. */
const SAME_VALUE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const
const SAME_VALUE = ['if', 'then', 'else', 'not'] as const
const MAX_DEPTH = 8

/** One tool's argument overrides, for its schema and its calls. */
class ArgumentOverrides {
  readonly specs: ReadonlyMap<string, ArgumentSpec>
  readonly #originalNames: ReadonlyMap<string, string>

  constructor(specs: Readonly<Record<string, ArgumentSpec>>) {
    this.specs = new Map(Object.entries(specs))
    this.#originalNames = new Map(
      [...this.specs].flatMap(([name, { rename }]) => (rename === undefined ? [] : [[rename, name] as const])),
    )
  }

  /** Returns the schema that clients see. */
  overrideSchema(schema: JsonObject, depth = 0): JsonObject {
    if (depth > MAX_DEPTH) return schema
    const { properties, required } = schema
    const made: JsonObject = { ...schema }
    if (isObject(properties))
      made.properties = Object.fromEntries(
        Object.entries(properties).flatMap(([name, property]) => this.#overrideProperty(name, property)),
      )
    if (Array.isArray(required)) made.required = required.flatMap(name => this.#overrideRequired(name))
    for (const key of SAME_VALUE) {
      const part = schema[key]
      if (isObject(part)) made[key] = this.overrideSchema(part, depth + 1)
    }
    for (const key of SAME_VALUE_LISTS) {
      const parts = schema[key]
      if (Array.isArray(parts))
        made[key] = parts.map((part: unknown) => (isObject(part) ? this.overrideSchema(part, depth + 1) : part))
    }
    return made
  }

  #overrideProperty(name: string, property: unknown): [string, unknown][] {
    const spec = this.specs.get(name)
    if (spec === undefined) return [[name, property]]
    if (isHidden(spec)) return []
    const changes = {
      ...(spec.description === undefined ? {} : { description: spec.description }),
      ...('default' in spec ? { default: spec.default } : {}),
    }
    const isPlain = Object.keys(changes).length === 0
    const base = isObject(property) ? property : {}
    return [[spec.rename ?? name, isPlain ? property : { ...base, ...changes }]]
  }

  #overrideRequired(name: unknown): unknown[] {
    const spec = typeof name === 'string' ? this.specs.get(name) : undefined
    if (spec === undefined) return [name]
    return isHidden(spec) || 'default' in spec ? [] : [spec.rename ?? name]
  }

  /** Restores original names, and adds fixed and default values. */
  restore(args: JsonObject, isExact: boolean): RestoredArguments {
    const entries: [string, unknown][] = []
    for (const [name, value] of Object.entries(args)) {
      const real = this.#originalNames.get(name)
      if (real !== undefined) {
        // A renamed number is serialized again, which may change it.
        if (!isExact && mayHoldNumber(value)) return { inexact: name }
        entries.push([real, value])
      } else if (this.#isRemoved(name)) return { unknown: name }
      else entries.push([name, value])
    }
    const names = new Set(entries.map(([name]) => name))
    for (const [name, spec] of this.specs) {
      if ('value' in spec) entries.push([name, spec.value])
      else if ('default' in spec && !names.has(name)) entries.push([name, spec.default])
    }
    return { args: Object.fromEntries(entries) }
  }

  /** True for a name that is hidden or renamed. */
  #isRemoved(name: string): boolean {
    const spec = this.specs.get(name)
    return spec !== undefined && (isHidden(spec) || (spec.rename !== undefined && spec.rename !== name))
  }
}

/** True for an argument that clients do not see. */
function isHidden(spec: ArgumentSpec): boolean {
  return spec.hide === true || 'value' in spec
}

function mayHoldNumber(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'object' && value !== null)
}

/** Configured entry under `override`. */
export interface OverrideSpec {
  readonly title?: string
  readonly annotations?: JsonObject
  readonly icons?: readonly JsonObject[]
  /** Descriptions by JSON pointer. */
  readonly texts?: Readonly<Record<string, string>>
  readonly arguments?: Readonly<Record<string, ArgumentSpec>>
}

type OverrideTable = Readonly<Record<string, OverrideSpec>>

/** One tool's merged overrides. */
export interface Override extends Omit<OverrideSpec, 'arguments'> {
  readonly arguments: ArgumentOverrides | undefined
}

/** Returns a tool's exposed name, which `filters` use. */
type VisibleName = (upstream: string, original: string) => string

const MAX_TOOLS = 10_000

/** Finds a tool's override. */
export class Overrides {
  readonly #own: ReadonlyMap<string, Matcher>
  readonly #all: Matcher
  readonly #visible: VisibleName
  readonly #overrides = new BoundedMap<string, { readonly override: Override | undefined }>({ max: MAX_TOOLS })
  /** True if any override changes arguments. */
  readonly changesArguments: boolean

  static create(config: Config, visible: VisibleName): Overrides | undefined {
    const own = Object.entries(config.upstreams).flatMap(([name, { tools }]) =>
      tools?.override === undefined ? [] : [[name, tools.override as OverrideTable] as const],
    )
    const all = (config.filters?.tools?.override ?? {}) as OverrideTable
    if (own.length === 0 && Object.keys(all).length === 0) return undefined
    return new Overrides(new Map(own), all, visible)
  }

  private constructor(own: ReadonlyMap<string, OverrideTable>, all: OverrideTable, visible: VisibleName) {
    this.#own = new Map([...own].map(([name, written]) => [name, compileMatcher(written)]))
    this.#all = compileMatcher(all)
    this.#visible = visible
    this.changesArguments = [...own.values(), all].some(written =>
      Object.values(written).some(spec => spec.arguments !== undefined),
    )
  }

  /** Returns a tool's override, by original name. */
  findOverride(upstream: string, original: string): Override | undefined {
    const key = JSON.stringify([upstream, original])
    const cached = this.#overrides.use(key)
    if (cached !== undefined) return cached.override
    const own = this.#own.get(upstream)?.(original) ?? []
    const override = mergeOverrides([...own, ...this.#all(this.#visible(upstream, original))])
    this.#overrides.set(key, { override })
    return override
  }
}

type Matcher = (name: string) => readonly OverrideSpec[]

function compileMatcher(written: OverrideTable): Matcher {
  const rows = Object.entries(written).map(([glob, spec]) => ({ fits: compileGlobs(glob), spec }))
  return name => rows.filter(({ fits }) => fits(name)).map(({ spec }) => spec)
}

/** Merges overrides of the same tool; the last one wins. */
function mergeOverrides(specs: readonly OverrideSpec[]): Override | undefined {
  if (specs.length === 0) return undefined
  const merged = specs.reduce((one, second) => ({
    ...one,
    ...second,
    annotations: { ...one.annotations, ...second.annotations },
    texts: { ...one.texts, ...second.texts },
    arguments: { ...one.arguments, ...second.arguments },
  }))
  const args =
    Object.keys(merged.arguments ?? {}).length === 0 ? undefined : new ArgumentOverrides(merged.arguments ?? {})
  return { ...merged, arguments: args }
}
