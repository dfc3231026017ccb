import { isObject, type JsonObject } from '../../../src/plugin.ts'

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
const DEEPEST = 8

/** Changes of the arguments of one tool, in both directions: of the schema that clients read, and of the calls that they make. */
export class Arguments {
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
    if (depth > DEEPEST) return schema
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
