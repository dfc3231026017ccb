import type { Config, JsonObject } from '../../../src/plugin.ts'
import { BoundedMap, compileGlobs, isObject, parsePointer } from '../../../src/plugin.ts'

/** Dressed tools by what servers said, so that the same words make the same object: lists are compared by it. */
const DRESSED = new WeakMap<Override, WeakMap<JsonObject, JsonObject>>()

/** A tool as its owner describes it. */
export function dressTool(value: JsonObject, override: Override): JsonObject {
  let known = DRESSED.get(override)
  if (known === undefined) DRESSED.set(override, (known = new WeakMap<JsonObject, JsonObject>()))
  let made = known.get(value)
  if (made === undefined) known.set(value, (made = dressed(value, override)))
  return made
}

function dressed(value: JsonObject, override: Override): JsonObject {
  const { title, annotations, icons, texts = {} } = override
  const made: JsonObject = { ...value }
  if (title !== undefined) made.title = title
  if (annotations !== undefined && Object.keys(annotations).length > 0)
    made.annotations = { ...(isObject(value.annotations) ? value.annotations : {}), ...annotations }
  if (icons !== undefined) made.icons = icons
  const { inputSchema } = value
  if (!isObject(inputSchema)) return made
  const described = Object.entries(texts).reduce(withText, inputSchema)
  made.inputSchema = override.arguments?.shown(described) ?? described
  return made
}

/** A schema with another text at one place; the very same where the place is not there. */
function withText(schema: JsonObject, [pointer, text]: [string, string]): JsonObject {
  return describedAt(schema, parsePointer(pointer), text) ?? schema
}

function describedAt(schema: unknown, steps: readonly string[], text: string): JsonObject | undefined {
  if (!isObject(schema)) return undefined
  const [step, ...rest] = steps
  if (step === undefined) return { ...schema, description: text }
  const part = Object.hasOwn(schema, step) ? schema[step] : undefined
  if (Array.isArray(part)) return describedInList(schema, step, part, rest, text)
  const made = describedAt(part, rest, text)
  return made && { ...schema, [step]: made }
}

function describedInList(
  schema: JsonObject,
  step: string,
  list: readonly unknown[],
  [index = '', ...rest]: readonly string[],
  text: string,
): JsonObject | undefined {
  const made = describedAt(list[Number(index)], rest, text)
  return made && { ...schema, [step]: list.with(Number(index), made) }
}

/** True if a schema has something at this place that a text can be about. */
export function hasPlace(schema: JsonObject, pointer: string): boolean {
  return describedAt(schema, parsePointer(pointer), '') !== undefined
}

/** One argument, as it is written; its name is the server's. */
export interface ArgumentSpec {
  readonly rename?: string
  readonly description?: string
  readonly default?: unknown
  readonly value?: unknown
  readonly hide?: boolean
}

/** Arguments as a server gets them, or the one that there is not, or the one that cannot be passed on. */
type PutBack = { readonly args: JsonObject } | { readonly unknown: string } | { readonly inexact: string }

/** Members of a schema that are about the same value as it is. */
const SAME_VALUE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const
const SAME_VALUE = ['if', 'then', 'else', 'not'] as const
const MAX_DEPTH = 8

/** Changes of the arguments of one tool, in both directions: of the schema that clients read, and of the calls that they make. */
class Arguments {
  readonly specs: ReadonlyMap<string, ArgumentSpec>
  readonly #real: ReadonlyMap<string, string>

  constructor(specs: Readonly<Record<string, ArgumentSpec>>) {
    this.specs = new Map(Object.entries(specs))
    this.#real = new Map(
      [...this.specs].flatMap(([name, { rename }]) =>
        rename === undefined ? [] : [[rename, name] as const],
      ),
    )
  }

  /** The schema of what clients give. */
  shown(schema: JsonObject, depth = 0): JsonObject {
    if (depth > MAX_DEPTH) return schema
    const { properties, required } = schema
    const made: JsonObject = { ...schema }
    if (isObject(properties))
      made.properties = Object.fromEntries(
        Object.entries(properties).flatMap(([name, property]) => this.#property(name, property)),
      )
    if (Array.isArray(required)) made.required = required.flatMap(name => this.#required(name))
    for (const key of SAME_VALUE) {
      const part = schema[key]
      if (isObject(part)) made[key] = this.shown(part, depth + 1)
    }
    for (const key of SAME_VALUE_LISTS) {
      const parts = schema[key]
      if (Array.isArray(parts))
        made[key] = parts.map((part: unknown) => (isObject(part) ? this.shown(part, depth + 1) : part))
    }
    return made
  }

  #property(name: string, property: unknown): [string, unknown][] {
    const spec = this.specs.get(name)
    if (spec === undefined) return [[name, property]]
    if (isHidden(spec)) return []
    const said = {
      ...(spec.description === undefined ? {} : { description: spec.description }),
      ...('default' in spec ? { default: spec.default } : {}),
    }
    const isPlain = Object.keys(said).length === 0
    const whole = isObject(property) ? property : {}
    return [[spec.rename ?? name, isPlain ? property : { ...whole, ...said }]]
  }

  #required(name: unknown): unknown[] {
    const spec = typeof name === 'string' ? this.specs.get(name) : undefined
    if (spec === undefined) return [name]
    return isHidden(spec) || 'default' in spec ? [] : [spec.rename ?? name]
  }

  /** Arguments under the names of the server, with those that are fixed, and those that the client left out. */
  putBack(given: JsonObject, isExact: boolean): PutBack {
    const entries: [string, unknown][] = []
    for (const [name, value] of Object.entries(given)) {
      const real = this.#real.get(name)
      if (real !== undefined) {
        // Under another name a number is written anew, and may become another one.
        if (!isExact && mayHoldNumber(value)) return { inexact: name }
        entries.push([real, value])
      } else if (this.#isTakenAway(name)) return { unknown: name }
      else entries.push([name, value])
    }
    const names = new Set(entries.map(([name]) => name))
    for (const [name, spec] of this.specs) {
      if ('value' in spec) entries.push([name, spec.value])
      else if ('default' in spec && !names.has(name)) entries.push([name, spec.default])
    }
    return { args: Object.fromEntries(entries) }
  }

  /** True for a name that clients do not see any more. */
  #isTakenAway(name: string): boolean {
    const spec = this.specs.get(name)
    return spec !== undefined && (isHidden(spec) || (spec.rename !== undefined && spec.rename !== name))
  }
}

/** True for an argument that clients do not see, because the gateway gives it or nobody does. */
export function isHidden(spec: ArgumentSpec): boolean {
  return spec.hide === true || 'value' in spec
}

function mayHoldNumber(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'object' && value !== null)
}

/** One entry of `override`, as it is written. */
export interface OverrideSpec {
  readonly title?: string
  readonly annotations?: JsonObject
  readonly icons?: readonly JsonObject[]
  /** Texts by the place of what they describe in the schema. */
  readonly texts?: Readonly<Record<string, string>>
  readonly arguments?: Readonly<Record<string, ArgumentSpec>>
}

type OverrideTable = Readonly<Record<string, OverrideSpec>>

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
      tools?.override === undefined ? [] : [[name, tools.override as OverrideTable] as const],
    )
    const all = (config.filters?.tools?.override ?? {}) as OverrideTable
    if (own.length === 0 && Object.keys(all).length === 0) return undefined
    return new Overrides(new Map(own), all, visible)
  }

  private constructor(own: ReadonlyMap<string, OverrideTable>, all: OverrideTable, visible: VisibleName) {
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

function matcher(written: OverrideTable): Matcher {
  const rows = Object.entries(written).map(([glob, spec]) => ({ fits: compileGlobs(glob), spec }))
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
