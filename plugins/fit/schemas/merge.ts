import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, resolveReference, readMap, readTexts } from '../../../src/plugin.ts'
import type { FitContext } from './fit-context.ts'
import { readSchemaList, UnfitError, omitMembers } from './fit-context.ts'

/** Maximum merged schemas; merging takes quadratic time. */
const MAX_MERGED = 128

/** Chooses the stricter of two limits. */
const STRICTER: ReadonlyMap<string, (a: number, b: number) => number> = new Map([
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'].map(key => [key, Math.max] as const),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'].map(key => [key, Math.min] as const),
])

/**
 * Merges schemas so that a value must match all. If two conditions cannot be combined, the first is kept and the
 * result is looser.
 */
export function mergeAll(schemas: readonly JsonObject[], work: FitContext): JsonObject {
  checkCount(schemas)
  const made: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const schema of schemas)
    for (const [key, value] of Object.entries(schema)) {
      if (!(key in made)) made[key] = value
      else if (made[key] !== value) made[key] = mergeKeyword(key, made[key], value, work)
    }
  // Each part closes only its own properties, so the merged schema must stay open.
  if (schemas.filter(one => 'properties' in one).length > 1) delete made.additionalProperties
  return Object.fromEntries(Object.entries(made))
}

function checkCount(schemas: readonly JsonObject[]): void {
  if (schemas.length > MAX_MERGED)
    throw new UnfitError(`${schemas.length} parts of the schema must be merged, and the maximum is ${MAX_MERGED}`)
}

type MergeValues = (a: unknown, b: unknown) => unknown

/** Combines two keyword values; undefined if they cannot be combined. */
const MERGERS: ReadonlyMap<string, MergeValues> = new Map<string, MergeValues>([
  ['properties', (a, b) => (isObject(a) && isObject(b) ? mergeMaps(a, b) : undefined)],
  ['required', (a, b) => [...new Set([...readTexts(a), ...readTexts(b)])]],
  ['enum', (a, b) => (Array.isArray(a) && Array.isArray(b) ? intersectLists(a, b) : undefined)],
  ['type', mergeTypes],
  ['allOf', (a, b) => (Array.isArray(a) && Array.isArray(b) ? [...(a as unknown[]), ...(b as unknown[])] : undefined)],
])

function mergeKeyword(key: string, a: unknown, b: unknown, work: FitContext): unknown {
  const merged = MERGERS.get(key)?.(a, b)
  if (merged !== undefined) return merged
  const stricter = STRICTER.get(key)
  if (stricter !== undefined && typeof a === 'number' && typeof b === 'number') return stricter(a, b)
  if (!ANNOTATIONS.has(key) && !isSameValue(a, b)) work.addNote(`kept the first of two conditions (${key})`)
  return a
}

/** Annotations, which do not restrict values. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  'description',
  'title',
  'default',
  'examples',
  'deprecated',
  '$schema',
  '$id',
  '$comment',
])

function mergeMaps(a: JsonObject, b: JsonObject): JsonObject {
  const entries = new Map(Object.entries(a))
  for (const [key, value] of Object.entries(b)) {
    const existing = entries.get(key)
    entries.set(key, existing === undefined || isSameValue(existing, value) ? value : { allOf: [existing, value] })
  }
  return Object.fromEntries(entries)
}

function intersectLists(a: readonly unknown[], b: readonly unknown[]): readonly unknown[] {
  const values = new Set(b)
  return a.filter(one => values.has(one))
}

function mergeTypes(a: unknown, b: unknown): unknown {
  const [one, secondTypes] = [a, b].map(type => (Array.isArray(type) ? (type as unknown[]) : [type])) as [
    unknown[],
    unknown[],
  ]
  const common = one.filter(
    type => secondTypes.includes(type) || (type === 'integer' && secondTypes.includes('number')),
  )
  return common.length === 1 ? common[0] : common.length === 0 ? a : common
}

function isSameValue(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

const ALL_OF = new Set(['allOf'])

export function mergeAllOf(schema: JsonObject, work: FitContext): JsonObject {
  const parts = readSchemaList(schema, 'allOf')
  if (parts === undefined) return schema
  work.addNote('merged allOf')
  return mergeAll([omitMembers(schema, ALL_OF), ...parts.filter(isObject)], work)
}

const UNIONS = new Set(['anyOf', 'oneOf'])

/**
 * Converts root alternatives to one object with the properties of all; a property is required if all alternatives
 * require it. The result accepts every value of the union, and the description names the alternatives.
 */
export function mergeRootUnion(schema: JsonObject, branches: readonly JsonObject[], work: FitContext): JsonObject {
  checkCount(branches)
  work.addNote('merged alternatives at the root into one object; its description lists them')
  const base = omitMembers(schema, UNIONS)
  const properties = new Map(Object.entries(readMap(base, 'properties')))
  for (const branch of branches)
    for (const [name, value] of Object.entries(readMap(branch, 'properties'))) {
      const existing = properties.get(name)
      properties.set(
        name,
        existing === undefined || isSameValue(existing, value) ? value : addAlternative(existing, value),
      )
    }
  const [first = [], ...remaining] = branches.map(branch => readTexts(branch, 'required'))
  const shared = first.filter(name => remaining.every(names => names.includes(name)))
  const required = [...new Set([...readTexts(base, 'required'), ...shared])]
  const isClosed = branches.every(branch => branch.additionalProperties === false)
  const alternatives = branches.map(branch => readTexts(branch, 'required').join(', ') || 'nothing').join('; or ')
  const sentence = `Needs ${alternatives}.`
  return {
    ...omitMembers(base, new Set(['required', 'additionalProperties'])),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(isClosed ? { additionalProperties: false } : {}),
    description: typeof base.description === 'string' ? `${base.description} ${sentence}` : sentence,
  }
}

function addAlternative(a: unknown, b: unknown): JsonObject {
  const anyOf = isObject(a) && Object.keys(a).length === 1 ? readSchemaList(a, 'anyOf') : undefined
  return anyOf === undefined
    ? { anyOf: [a, b] }
    : { anyOf: anyOf.some(one => isSameValue(one, b)) ? anyOf : [...anyOf, b] }
}

const REFERENCE = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

export function getReference(schema: JsonObject): unknown {
  return schema.$ref ?? schema.$dynamicRef ?? schema.$recursiveRef
}

/** Resolves a reference and merges its sibling keywords. An unresolvable or recursive reference accepts any value. */
export function followReference(
  schema: JsonObject,
  work: FitContext,
): { readonly schema: JsonObject; readonly name: string } {
  const reference = getReference(schema)
  const siblings = omitMembers(schema, REFERENCE)
  const name = typeof reference === 'string' ? reference : ''
  const target = findTarget(name, work.root)
  if (target === undefined) {
    work.addNote('replaced unresolvable references with schemas that accept anything')
    return { schema: siblings, name: '' }
  }
  if (work.openReferences.includes(name)) {
    work.addNote('cut recursive schemas')
    const { type } = target
    return { schema: type === undefined ? siblings : { type, ...siblings }, name: '' }
  }
  work.addNote('inlined references')
  return { schema: mergeSiblings(target, siblings, work), name }
}

function mergeSiblings(target: JsonObject, siblings: JsonObject, work: FitContext): JsonObject {
  if (Object.keys(siblings).length === 0) return target
  return Object.keys(siblings).every(key => ANNOTATIONS.has(key))
    ? { ...target, ...siblings }
    : mergeAll([target, siblings], work)
}

/** Finds the schema at a local pointer or anchor. */
function findTarget(reference: string, root: JsonObject): JsonObject | undefined {
  if (!reference.startsWith('#')) return undefined
  const isPointer = reference === '#' || reference.startsWith('#/')
  const target = isPointer ? resolveReference(reference, root) : findAnchor(reference.slice(1), root)
  if (target === true) return {}
  return isObject(target) ? target : undefined
}

function findAnchor(name: string, root: JsonObject): JsonObject | undefined {
  for (const key of ['$defs', 'definitions']) {
    const map = root[key]
    if (!isObject(map)) continue
    for (const one of Object.values(map))
      if (isObject(one) && (one.$anchor === name || one.$dynamicAnchor === name)) return one
  }
  return undefined
}
