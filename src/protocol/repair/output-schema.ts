import { percentDecoded } from '../../util/plain-text.ts'
import { isObject, type JsonObject } from '../json/json.ts'

type Check = (value: unknown) => boolean

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const isSchema: Check = value => typeof value === 'boolean' || isObject(value)
const isSchemas: Check = value => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isSchemaMap: Check = value => isObject(value) && Object.values(value).every(isSchema)
const isStrings: Check = value =>
  Array.isArray(value) &&
  value.every(name => typeof name === 'string') &&
  new Set(value).size === value.length
const isNumber: Check = value => typeof value === 'number'
const isCount: Check = value => Number.isInteger(value) && (value as number) >= 0
const isPattern: Check = value => typeof value === 'string' && compiles(value)
const isAnchor: Check = value => typeof value === 'string' && /^[a-z_][-a-z0-9._]*$/i.test(value)
const isNever: Check = () => false

/** Keywords that the validators of clients refuse to compile with another value. Others mean nothing to them. */
const KEYWORDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['type', value => [value].flat().every(name => TYPES.includes(name))],
  ['properties', isSchemaMap],
  ['patternProperties', value => isSchemaMap(value) && Object.keys(value as object).every(compiles)],
  ['$defs', isSchemaMap],
  ['definitions', isSchemaMap],
  ['dependentSchemas', isSchemaMap],
  ['dependentRequired', value => isObject(value) && Object.values(value).every(isStrings)],
  [
    'dependencies',
    value => isObject(value) && Object.values(value).every(part => isSchema(part) || isStrings(part)),
  ],
  ['items', value => isSchema(value) || (Array.isArray(value) && value.every(isSchema))],
  ...['prefixItems', 'allOf', 'anyOf', 'oneOf'].map(key => [key, isSchemas] as const),
  ...['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalItems'].map(
    key => [key, isSchema] as const,
  ),
  ...['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'].map(
    key => [key, isSchema] as const,
  ),
  ['required', isStrings],
  ['enum', value => Array.isArray(value) && value.length > 0],
  ...['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'].map(key => [key, isNumber] as const),
  ['multipleOf', value => isNumber(value) && (value as number) > 0],
  ...['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties'].map(
    key => [key, isCount] as const,
  ),
  ...['maxContains', 'minContains'].map(key => [key, isCount] as const),
  ['uniqueItems', value => typeof value === 'boolean'],
  ['pattern', isPattern],
  ['format', value => typeof value === 'string'],
  ['$ref', value => typeof value === 'string'],
  ['$dynamicRef', value => typeof value === 'string'],
  ['$anchor', isAnchor],
  ['$dynamicAnchor', isAnchor],
  ...['id', '$async', 'formatMaximum', 'formatMinimum'].map(key => [key, isNever] as const),
  ...['formatExclusiveMaximum', 'formatExclusiveMinimum'].map(key => [key, isNever] as const),
])

/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose members have names of the author's choice. */
const MAPS: readonly string[] = [
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]

/**
 * Returns why clients could not compile an output schema, or undefined if they can. SDK v1 compiles the output schemas of
 * all tools as it lists them: one that it cannot compile takes the whole list from it.
 */
export function outputSchemaProblem(schema: JsonObject): string | undefined {
  return problemIn(schema, schema, new Set())
}

function problemIn(schema: JsonObject, root: JsonObject, anchors: Set<unknown>): string | undefined {
  const own =
    Object.entries(schema)
      .filter(([key, value]) => KEYWORDS.get(key)?.(value) === false)
      .map(([key]) => `"${key}" is invalid`)[0] ??
    idProblem(schema, root) ??
    anchorProblem(schema, anchors)
  if (own !== undefined) return own
  if (schema.nullable !== undefined && !isNullable(schema)) return '"nullable" is invalid'
  for (const part of parts(schema)) {
    const problem = isObject(part) ? problemIn(part, root, anchors) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

function idProblem(schema: JsonObject, root: JsonObject): string | undefined {
  const { $id, $ref } = schema
  // One validator compiles the schemas of all tools, so that an inner id may be that of another tool.
  if ($id !== undefined && !(schema === root && isId($id))) return '"$id" is invalid'
  if (typeof $ref === 'string' && !isResolvable($ref, root)) return '"$ref" leads nowhere'
  return undefined
}

function anchorProblem({ $anchor, $dynamicAnchor }: JsonObject, anchors: Set<unknown>): string | undefined {
  for (const anchor of new Set([$anchor, $dynamicAnchor])) {
    if (anchor !== undefined && anchors.has(anchor)) return '"$anchor" is there twice'
    anchors.add(anchor)
  }
  return undefined
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/[\w.-]+(?::\d+)?(?:\/[\w./~-]*)?#?$/.test(value)
}

function isNullable({ nullable, type }: JsonObject): boolean {
  return typeof nullable === 'boolean' && type !== undefined && (nullable || ![type].flat().includes('null'))
}

function parts(schema: JsonObject): unknown[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    if (DATA.has(key) || typeof value !== 'object' || value === null) return []
    if (MAPS.includes(key)) return Object.values(value) as unknown[]
    return Array.isArray(value) ? (value as unknown[]) : [value]
  })
}

/** Tells whether a reference leads to a schema inside this one; clients fetch no others. */
function isResolvable(reference: string, root: JsonObject): boolean {
  if (reference === '#' || reference === root.$id) return true
  if (!reference.startsWith('#')) return false
  if (!reference.startsWith('#/')) return hasAnchor(root, reference.slice(1))
  let at: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const key = percentDecoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false
    at = (at as JsonObject)[key]
  }
  return isSchema(at)
}

function hasAnchor(schema: JsonObject, name: string): boolean {
  return (
    schema.$anchor === name ||
    schema.$dynamicAnchor === name ||
    parts(schema).some(part => isObject(part) && hasAnchor(part, name))
  )
}

function compiles(pattern: string): boolean {
  try {
    void new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}
