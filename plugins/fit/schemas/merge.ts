import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { Work } from './work.ts'
import { mapIn, schemasIn, textsIn, Unfit, without } from './work.ts'

/** Most schemas that become one: each is compared with what those before it have become. */
const MAX_MERGED = 128

/** Of two limits the one that lets less through. */
const STRICTER: ReadonlyMap<string, (a: number, b: number) => number> = new Map([
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'].map(
    key => [key, Math.max] as const,
  ),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'].map(
    key => [key, Math.min] as const,
  ),
])

/** One schema for values that all of these take. Where two cannot be said at once, the first is kept, and more is taken than before. */
export function mergeAll(schemas: readonly JsonObject[], work: Work): JsonObject {
  checkCount(schemas)
  const made: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const schema of schemas)
    for (const [key, value] of Object.entries(schema)) {
      if (!(key in made)) made[key] = value
      else if (made[key] !== value) made[key] = both(key, made[key], value, work)
    }
  // Each counts its own properties only, so together they forbid none.
  if (schemas.filter(one => 'properties' in one).length > 1) delete made.additionalProperties
  return Object.fromEntries(Object.entries(made))
}

function checkCount(schemas: readonly JsonObject[]): void {
  if (schemas.length > MAX_MERGED)
    throw new Unfit(`${schemas.length} parts of its schema would become one, and ${MAX_MERGED} are the most`)
}

type Both = (a: unknown, b: unknown) => unknown

/** Value of a keyword that says what two values say together; undefined where no value does. */
const TOGETHER: ReadonlyMap<string, Both> = new Map<string, Both>([
  ['properties', (a, b) => (isObject(a) && isObject(b) ? bothMaps(a, b) : undefined)],
  ['required', (a, b) => [...new Set([...textsIn({ a }, 'a'), ...textsIn({ b }, 'b')])]],
  ['enum', (a, b) => (Array.isArray(a) && Array.isArray(b) ? bothLists(a, b) : undefined)],
  ['type', bothTypes],
  [
    'allOf',
    (a, b) => (Array.isArray(a) && Array.isArray(b) ? [...(a as unknown[]), ...(b as unknown[])] : undefined),
  ],
])

function both(key: string, a: unknown, b: unknown, work: Work): unknown {
  const together = TOGETHER.get(key)?.(a, b)
  if (together !== undefined) return together
  const stricter = STRICTER.get(key)
  if (stricter !== undefined && typeof a === 'number' && typeof b === 'number') return stricter(a, b)
  if (!TEXTS.has(key) && !same(a, b)) work.note(`of two conditions of one kind (${key}) the first is kept`)
  return a
}

const TEXTS: ReadonlySet<string> = new Set([
  'description',
  'title',
  'default',
  'examples',
  '$schema',
  '$id',
  '$comment',
])

function bothMaps(a: JsonObject, b: JsonObject): JsonObject {
  const entries = new Map(Object.entries(a))
  for (const [key, value] of Object.entries(b)) {
    const known = entries.get(key)
    entries.set(key, known === undefined || same(known, value) ? value : { allOf: [known, value] })
  }
  return Object.fromEntries(entries)
}

function bothLists(a: readonly unknown[], b: readonly unknown[]): readonly unknown[] {
  const others = new Set(b)
  return a.filter(one => others.has(one))
}

function bothTypes(a: unknown, b: unknown): unknown {
  const [one, other] = [a, b].map(type => (Array.isArray(type) ? (type as unknown[]) : [type])) as [
    unknown[],
    unknown[],
  ]
  const common = one.filter(type => other.includes(type) || (type === 'integer' && other.includes('number')))
  return common.length === 1 ? common[0] : common.length === 0 ? a : common
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

const ALL_OF = new Set(['allOf'])

/** The schema with `allOf` worked into it. */
export function withoutAllOf(schema: JsonObject, work: Work): JsonObject {
  const parts = schemasIn(schema, 'allOf')
  if (parts === undefined) return schema
  work.note('parts that must all hold (allOf) are one')
  return mergeAll([without(schema, ALL_OF), ...parts.filter(isObject)], work)
}

const UNIONS = new Set(['anyOf', 'oneOf'])

/**
 * A root that takes one of several objects becomes an object with the properties of all; only what all of them need is required.
 * The result takes all that the union took, and the description says the rest.
 */
export function withoutRootUnion(
  schema: JsonObject,
  branches: readonly JsonObject[],
  work: Work,
): JsonObject {
  checkCount(branches)
  work.note('alternatives at the root are one object with the properties of all; its description names them')
  const base = without(schema, UNIONS)
  const properties = new Map(Object.entries(mapIn(base, 'properties')))
  for (const branch of branches)
    for (const [name, value] of Object.entries(mapIn(branch, 'properties'))) {
      const known = properties.get(name)
      properties.set(name, known === undefined || same(known, value) ? value : either(known, value))
    }
  const [first = [], ...others] = branches.map(branch => textsIn(branch, 'required'))
  const shared = first.filter(name => others.every(names => names.includes(name)))
  const required = [...new Set([...textsIn(base, 'required'), ...shared])]
  const isClosed = branches.every(branch => branch.additionalProperties === false)
  const alternatives = branches
    .map(branch => textsIn(branch, 'required').join(', ') || 'nothing')
    .join('; or ')
  const says = `Needs ${alternatives}.`
  return {
    ...without(base, new Set(['required', 'additionalProperties'])),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(isClosed ? { additionalProperties: false } : {}),
    description: typeof base.description === 'string' ? `${base.description} ${says}` : says,
  }
}

function either(a: unknown, b: unknown): JsonObject {
  const known = isObject(a) && Object.keys(a).length === 1 ? schemasIn(a, 'anyOf') : undefined
  return known === undefined
    ? { anyOf: [a, b] }
    : { anyOf: known.some(one => same(one, b)) ? known : [...known, b] }
}
