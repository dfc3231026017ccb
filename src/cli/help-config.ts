import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toYaml } from '../config/source/plain-yaml.ts'
import { gatewayError } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { suggestHint } from '../util/suggest.ts'
import { formatTable } from './output/table.ts'
import type { TerminalOutput } from './output/terminal.ts'

/** A key in gateway.yaml, as `gateway help config` describes it. */
export interface ConfigKey {
  readonly key: string
  readonly type: string
  readonly default: unknown
  readonly description: string
  readonly example: unknown
  readonly keys: readonly Pick<ConfigKey, 'key' | 'type' | 'default' | 'description'>[]
}

/**
 * Describes a key such as `upstreams.<name>.cache` from the schema; any name may stand for `<name>`, or none.
 * @throws GatewayError GW_USAGE if there is no such key
 */
export function describeConfigKey(words: readonly string[], root: string): ConfigKey {
  const schema = JSON.parse(readFileSync(join(root, 'schemas', 'gateway.json'), 'utf8')) as JsonObject
  const names = words.join('.').split('.').filter(Boolean)
  let path: readonly string[] = []
  let branches = [schema]
  for (const name of names) {
    const step = findStep(branches, name, schema)
    if (step === undefined) {
      const known = [...listProperties(branches, schema).keys()]
      const parent = path.length === 0 ? 'gateway.yaml' : `"${path.join('.')}"`
      throw gatewayError('GW_USAGE', { what: `${parent} has no key "${name}"${suggestHint(name, known)}` })
    }
    path = [...path, ...step.path]
    branches = resolveBranches(step.part, schema)
  }
  const [part = {}] = branches
  const keys = [...listProperties(branches, schema)].map(([key, value]) => describePart(key, value, schema))
  const { examples } = part
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined
  return { ...describePart(path.join('.'), part, schema), example, keys }
}

/** Formats a key's description, an example and the keys below it. */
export function formatConfigKey(
  { key, type, description, example, keys, ...one }: ConfigKey,
  out: TerminalOutput,
): string[] {
  const rows = keys.map(below => [
    out.paint('bold', below.key),
    out.paint('cyan', below.type),
    formatDefault(below.default),
    below.description,
  ])
  const name = key.split('.').at(-1) ?? key
  return [
    ...(key === ''
      ? []
      : [`${out.paint('bold', key)}  ${out.paint('cyan', type)}  ${formatDefault(one.default)}`.trimEnd()]),
    description,
    ...(example === undefined ? [] : ['', ...indent(toYaml({ [name]: example }))]),
    ...(rows.length === 0 ? [] : ['', ...formatTable(rows, out, 2)]),
  ]
}

function indent(yaml: string): string[] {
  return yaml
    .trimEnd()
    .split('\n')
    .map(line => `  ${line}`)
}

function formatDefault(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Finds a key, or one below a name. */
function findStep(
  branches: readonly JsonObject[],
  name: string,
  schema: JsonObject,
): { readonly path: readonly string[]; readonly part: JsonObject } | undefined {
  const part = listProperties(branches, schema).get(name)
  if (part !== undefined) return { path: [name], part }
  const named = branches.map(({ additionalProperties }) => additionalProperties).find(isObject)
  if (named === undefined) return undefined
  const below = listProperties(resolveBranches(named, schema), schema).get(name)
  return below === undefined ? { path: ['<name>'], part: named } : { path: ['<name>', name], part: below }
}

function listProperties(branches: readonly JsonObject[], schema: JsonObject): Map<string, JsonObject> {
  const own = new Map<string, JsonObject>()
  for (const { properties } of branches)
    for (const [key, part] of Object.entries((properties ?? {}) as Record<string, JsonObject>)) {
      // Alternatives differ by a constant.
      const values = [own.get(key)?.enum ?? [], part.const ?? []].flat()
      own.set(key, values.length === 0 ? part : { enum: values })
    }
  if (own.size > 0) return own
  const named = branches.map(({ additionalProperties, items }) => additionalProperties ?? items).find(isObject)
  return named === undefined ? own : listProperties(resolveBranches(named, schema), schema)
}

/** Resolves references and alternatives: the part itself, and what it may be. */
function resolveBranches(part: JsonObject, schema: JsonObject): JsonObject[] {
  const { $ref: ref, oneOf, anyOf, then } = part
  if (typeof ref === 'string') {
    const definitions = schema['$defs'] as Record<string, JsonObject>
    return resolveBranches({ ...definitions[ref.replace('#/$defs/', '')], ...part, $ref: undefined }, schema)
  }
  const others = [oneOf, anyOf, then].flat().filter(isObject)
  return [part, ...others.flatMap(other => resolveBranches(other, schema))]
}

function describePart(key: string, part: JsonObject, schema: JsonObject): Omit<ConfigKey, 'keys' | 'example'> {
  const [own = {}] = resolveBranches(part, schema)
  const { type, enum: options, const: constant, description, default: fallback } = own
  const types = Array.isArray(options) ? options : [constant ?? type ?? 'object'].flat()
  const text = typeof description === 'string' ? description : ''
  return {
    key,
    type: types.map(one => TYPES[String(one)] ?? String(one)).join('|'),
    default: fallback,
    description: text,
  }
}

const TYPES: Readonly<Record<string, string | undefined>> = { object: 'map', array: 'list' }
