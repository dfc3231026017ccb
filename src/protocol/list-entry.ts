import { readTexts } from '../util/plain-data.ts'
import { decodePercent } from '../util/plain-text.ts'
import type { JsonObject } from './json/json.ts'
import { isObject } from './json/json.ts'
import type { Kind } from './methods.ts'
import { LISTS } from './methods.ts'
import { removeUnsafeIcons } from './uri.ts'

type SchemaCheck = (value: unknown) => boolean

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const isSchema: SchemaCheck = value => typeof value === 'boolean' || isObject(value)
const isSchemas: SchemaCheck = value => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isSchemaMap: SchemaCheck = value => isObject(value) && Object.values(value).every(isSchema)
const isStrings: SchemaCheck = value =>
  Array.isArray(value) && value.every(name => typeof name === 'string') && new Set(value).size === value.length
const isNumber: SchemaCheck = value => typeof value === 'number'
const isCount: SchemaCheck = value => Number.isInteger(value) && (value as number) >= 0
const isPattern: SchemaCheck = value => typeof value === 'string' && isRegExp(value)
const isAnchor: SchemaCheck = value => typeof value === 'string' && /^[a-z_][-a-z0-9._]*$/i.test(value)
const isNever: SchemaCheck = () => false

/** Keyword values that clients' validators can compile. Invalid values of other keywords are ignored. */
const KEYWORDS: ReadonlyMap<string, SchemaCheck> = new Map<string, SchemaCheck>([
  ['type', value => [value].flat().every(name => TYPES.includes(name))],
  ['properties', isSchemaMap],
  ['patternProperties', value => isSchemaMap(value) && Object.keys(value as object).every(isRegExp)],
  ['$defs', isSchemaMap],
  ['definitions', isSchemaMap],
  ['dependentSchemas', isSchemaMap],
  ['dependentRequired', value => isObject(value) && Object.values(value).every(isStrings)],
  ['dependencies', value => isObject(value) && Object.values(value).every(part => isSchema(part) || isStrings(part))],
  ['items', value => isSchema(value) || (Array.isArray(value) && value.every(isSchema))],
  ...['prefixItems', 'allOf', 'anyOf', 'oneOf'].map(key => [key, isSchemas] as const),
  ...['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalItems'].map(key => [key, isSchema] as const),
  ...['additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'].map(key => [key, isSchema] as const),
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

const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose members have arbitrary names. */
const MAP_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

/**
 * Returns the reason why clients cannot compile an output schema, or undefined. SDK v1 compiles all output schemas
 * when it lists tools, and fails the entire list on one error.
 */
function findOutputSchemaProblem(schema: JsonObject): string | undefined {
  return findSchemaProblem(schema, schema, new Set())
}

function findSchemaProblem(schema: JsonObject, root: JsonObject, anchors: Set<unknown>): string | undefined {
  const own =
    Object.entries(schema)
      .filter(([key, value]) => KEYWORDS.get(key)?.(value) === false)
      .map(([key]) => `"${key}" is invalid`)[0] ??
    findIdProblem(schema, root) ??
    findAnchorProblem(schema, anchors)
  if (own !== undefined) return own
  if (schema.nullable !== undefined && !isNullable(schema)) return '"nullable" is invalid'
  for (const part of listSubschemas(schema)) {
    const problem = isObject(part) ? findSchemaProblem(part, root, anchors) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

function findIdProblem(schema: JsonObject, root: JsonObject): string | undefined {
  const { $id, $ref } = schema
  // One validator compiles all tools' schemas, so an inner id may clash with another tool's.
  if ($id !== undefined && !(schema === root && isId($id))) return '"$id" is invalid'
  if (typeof $ref === 'string' && !isResolvable($ref, root)) return '"$ref" cannot be resolved'
  return undefined
}

function findAnchorProblem({ $anchor, $dynamicAnchor }: JsonObject, anchors: Set<unknown>): string | undefined {
  for (const anchor of new Set([$anchor, $dynamicAnchor])) {
    if (anchor !== undefined && anchors.has(anchor)) return 'duplicate "$anchor"'
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

function listSubschemas(schema: JsonObject): unknown[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    if (DATA_KEYWORDS.has(key) || typeof value !== 'object' || value === null) return []
    if (MAP_KEYWORDS.has(key)) return Object.values(value) as unknown[]
    return Array.isArray(value) ? (value as unknown[]) : [value]
  })
}

/** Returns true if a reference stays within the schema; clients do not fetch others. */
function isResolvable(reference: string, root: JsonObject): boolean {
  if (reference === '#' || reference === root.$id) return true
  if (!reference.startsWith('#')) return false
  if (!reference.startsWith('#/')) return hasAnchor(root, reference.slice(1))
  let at: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const key = decodePercent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false
    at = (at as JsonObject)[key]
  }
  return isSchema(at)
}

function hasAnchor(schema: JsonObject, name: string): boolean {
  return (
    schema.$anchor === name ||
    schema.$dynamicAnchor === name ||
    listSubschemas(schema).some(part => isObject(part) && hasAnchor(part, name))
  )
}

function isRegExp(pattern: string): boolean {
  try {
    void new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** Repaired list entry, and the dropped fields. */
interface RepairedEntry {
  readonly entry: JsonObject
  readonly dropped: readonly string[]
}

/** Returns a valid or repaired value, or undefined; records dropped parts. */
type FieldRepair = (value: unknown, path: string, dropped: string[]) => unknown
type FieldRepairs = Readonly<Record<string, FieldRepair>>

const text: FieldRepair = value => (typeof value === 'string' ? value : undefined)
const bool: FieldRepair = value => (typeof value === 'boolean' ? value : undefined)
const number: FieldRepair = value => (Number.isFinite(value) ? value : undefined)
const anyObject: FieldRepair = value => (isObject(value) ? value : undefined)

function createEnumField(...values: readonly unknown[]): FieldRepair {
  return value => (values.includes(value) ? value : undefined)
}

function createObjectField(fields: FieldRepairs): FieldRepair {
  return (value, path, dropped) => (isObject(value) ? repairMembers(value, fields, `${path}.`, dropped) : undefined)
}

/** Drops elements that cannot be repaired or lack a required member. */
function repairElements(field: FieldRepair, needed?: string): FieldRepair {
  return (value, path, dropped) => {
    if (!Array.isArray(value)) return undefined
    const list = value as unknown[]
    const repaired = list.map((element, index) => {
      const repaired = field(element, `${path}[${index}]`, dropped)
      const isKept = needed === undefined || (isObject(repaired) && repaired[needed] !== undefined)
      if (isKept && repaired !== undefined) return repaired
      dropped.push(`${path}[${index}]`)
      return undefined
    })
    return repaired.every((element, index) => element === list[index])
      ? list
      : repaired.filter(element => element !== undefined)
  }
}

const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const dateTime: FieldRepair = value => {
  const date = typeof value === 'string' ? DATE_TIME.exec(value)?.[1] : undefined
  return date !== undefined && new Date(date).toISOString().startsWith(date) ? value : undefined
}

const priority: FieldRepair = value => (typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined)

const icons = repairElements(
  createObjectField({
    src: text,
    mimeType: text,
    sizes: repairElements(text),
    theme: createEnumField('light', 'dark'),
  }),
  'src',
)

const COMMON: FieldRepairs = { title: text, description: text, icons, _meta: anyObject }

const annotations = createObjectField({
  audience: repairElements(createEnumField('user', 'assistant')),
  priority,
  lastModified: dateTime,
})

const CONTENT: FieldRepairs = { ...COMMON, name: text, mimeType: text, annotations }

/** A non-schema property is unconstrained; `false` forbids all values. */
const property: FieldRepair = (value, path, dropped) => {
  if (isObject(value)) return value
  if (value !== true && value !== false && value !== null) dropped.push(path)
  return value === false ? { not: {} } : {}
}

const properties: FieldRepair = (value, path, dropped) => {
  if (!isObject(value)) return undefined
  const repaired = Object.entries(value).map(([name, schema]) => [name, property(schema, `${path}.${name}`, dropped)])
  return repaired.every(([name, schema]) => value[name as string] === schema) ? value : Object.fromEntries(repaired)
}

const SCHEMA: FieldRepairs = { $schema: text, properties, required: repairElements(text) }

/** Arguments are always an object, whatever the schema's type. */
const inputSchema: FieldRepair = (value, path, dropped) => {
  const schema = isObject(value) ? repairMembers(value, SCHEMA, `${path}.`, dropped) : undefined
  if (schema === undefined) return undefined
  if (schema.type === 'object') return schema
  if (schema.type !== undefined && schema.type !== null) dropped.push(`${path}.type`)
  return { ...schema, type: 'object' }
}

const outputSchema: FieldRepair = (value, path, dropped) => {
  const schema = isObject(value) ? repairMembers(value, SCHEMA, `${path}.`, dropped) : undefined
  return schema !== undefined && findOutputSchemaProblem(schema) === undefined ? schema : undefined
}

const FIELDS: Readonly<Record<Kind, FieldRepairs>> = {
  tools: {
    ...COMMON,
    inputSchema,
    outputSchema,
    annotations: createObjectField({
      title: text,
      readOnlyHint: bool,
      destructiveHint: bool,
      idempotentHint: bool,
      openWorldHint: bool,
    }),
    execution: createObjectField({ taskSupport: createEnumField('required', 'optional', 'forbidden') }),
  },
  prompts: {
    ...COMMON,
    arguments: repairElements(
      createObjectField({ name: text, title: text, description: text, required: bool }),
      'name',
    ),
  },
  resources: { ...CONTENT, size: number },
  resourceTemplates: CONTENT,
}

/**
 * Repairs a list entry for strict clients: null means absent, optional fields of the wrong type are dropped. Returns
 * the same entry if it is valid, and the reason if it cannot be repaired.
 */
export function repairEntry(kind: Kind, value: unknown): RepairedEntry | { readonly problem: string } {
  const { key } = LISTS[kind]
  if (!isObject(value)) return { problem: 'not an object' }
  if (typeof value[key] !== 'string') return { problem: `"${key}" is missing` }
  const dropped: string[] = []
  const entry = removeUnsafeIcons(repairMembers(value, FIELDS[kind], '', dropped))
  return { entry: addRequired(kind, entry, value[key]), dropped }
}

function addRequired(kind: Kind, entry: JsonObject, key: string): JsonObject {
  if (kind === 'tools' && entry.inputSchema === undefined) return { ...entry, inputSchema: { type: 'object' } }
  return entry.name === undefined ? { ...entry, name: key } : entry
}

/** Drops null members and repairs others; returns the same object if all are valid. */
function repairMembers(value: JsonObject, fields: FieldRepairs, path: string, dropped: string[]): JsonObject {
  let isRepaired = false
  const members = Object.entries(value).flatMap<[string, unknown]>(([key, member]) => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (field === undefined) return [[key, member]]
    const repaired = member === null ? undefined : field(member, path + key, dropped)
    if (repaired === member) return [[key, member]]
    isRepaired = true
    if (repaired !== undefined) return [[key, repaired]]
    if (member !== null) dropped.push(path + key)
    return []
  })
  return isRepaired ? Object.fromEntries(members) : value
}

/** Checks whether only apps, not models, may call a tool (MCP Apps, `visibility`). */
export function isAppOnly(tool: JsonObject): boolean {
  const visibility = readTexts(tool, '_meta', 'ui', 'visibility')
  return visibility.length > 0 && !visibility.includes('model')
}
