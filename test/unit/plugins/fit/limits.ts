import { isObject, type JsonObject } from '../../../../src/protocol/json/json.ts'

/** Keywords of https://ai.google.dev/api/caching#Schema. */
const GEMINI = new Set([
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'maxItems', 'minItems', 'properties', 'required'],
  ...['minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern', 'example', 'anyOf', 'propertyOrdering'],
  ...['default', 'items', 'minimum', 'maximum'],
])

type Problems = (string | false)[]

/** What the API of a vendor would refuse about a tool's schema; empty if nothing. Written from their errors, not from the plugin. */
export function refusedBy(dialect: string, schema: JsonObject): string[] {
  if (dialect === 'full') return []
  const found: Problems = [
    schema.type !== 'object' && 'the root is no object',
    ...['anyOf', 'oneOf', 'allOf'].map(key => key in schema && `${key} at the root`),
    JSON.stringify(schema).length > 200_000 && 'too long',
    ...anthropic(schema),
    ...strict(schema),
    ...(dialect === 'common' ? partsOf(schema).flatMap(openai) : []),
    ...(dialect === 'gemini' ? partsOf(schema).flatMap(gemini) : []),
  ]
  return found.filter(one => one !== false)
}

function anthropic(schema: JsonObject): Problems {
  const names = isObject(schema.properties) ? Object.keys(schema.properties) : []
  const isOld = partsOf(schema).some(part => isObject(part) && typeof part.exclusiveMinimum === 'boolean')
  return [isOld && 'a limit of draft 4', ...oddNames(names)]
}

function oddNames(names: readonly string[]): Problems {
  return names.map(name => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name) && `the property ${name.slice(0, 80)}`)
}

function strict(schema: JsonObject): Problems {
  return [
    !isObject(schema.properties) && 'no properties',
    ...['not', 'enum'].map(key => key in schema && `${key} at the root`),
  ]
}

function openai(part: unknown): Problems {
  if (typeof part === 'boolean') return []
  if (!isObject(part)) return ['a schema that is none']
  return [
    '$ref' in part && 'a reference',
    'allOf' in part && 'allOf',
    part.type === 'array' && !('items' in part) && 'a list of nothing',
  ]
}

function gemini(part: unknown): Problems {
  if (!isObject(part)) return ['a schema that is no object']
  const { type, items, format } = part
  return [
    ...Object.keys(part).map(key => !GEMINI.has(key) && `the keyword ${key}`),
    typeof type !== 'string' && !('anyOf' in part) && 'no type',
    type === 'array' && !isObject(items) && 'a list of nothing',
    format !== undefined && !formatsOf(type).includes(format) && `the format ${JSON.stringify(format)}`,
    !isTexts(part.enum) && 'values that are no texts',
  ]
}

function formatsOf(type: unknown): readonly unknown[] {
  return type === 'string' ? ['enum', 'date-time'] : ['float', 'double', 'int32', 'int64']
}

function isTexts(values: unknown): boolean {
  if (values === undefined) return true
  return Array.isArray(values) && values.every(one => typeof one === 'string' && one !== '')
}

/** Every schema inside a schema, and itself. */
function partsOf(schema: unknown): unknown[] {
  if (!isObject(schema)) return [schema]
  const maps = [schema.properties, schema.$defs, schema.patternProperties].filter(isObject)
  const lists = [schema.anyOf, schema.oneOf, schema.allOf, schema.prefixItems].filter(Array.isArray) as unknown[][]
  const single = [schema.items, schema.additionalProperties].filter(
    part => part !== undefined && typeof part !== 'boolean',
  )
  const inside = [...maps.flatMap(map => Object.values(map)), ...lists.flat(), ...single]
  return [schema, ...inside.flatMap(partsOf)]
}
