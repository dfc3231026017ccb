import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, readList, readMap, readTexts, sanitizeText } from '../../../src/plugin.ts'
import type { ApiDocument, Operation, Parameter, PlainObject, References } from '../document/operation-parts.ts'
import { isJsonType, sanitizeName } from '../document/operation-parts.ts'
import { convertSchema } from './convert-schema.ts'

/** Where an argument is sent: a parameter, a body property, or the whole body. */
type ArgumentTarget =
  | { readonly to: 'parameter'; readonly parameter: Parameter }
  | { readonly to: 'property'; readonly name: string }
  | { readonly to: 'body' }

export interface ToolArgument {
  readonly name: string
  readonly isRequired: boolean
  readonly target: ArgumentTarget
  readonly schema: PlainObject
}

const MAX_ARGUMENT = 16 * 1024
const MAX_NAME = 64
/** Limit for all arguments of an operation; those beyond it accept anything. */
const MAX_ALL = 64 * 1024
const LOCATION_ORDER = ['path', 'query', 'header', 'cookie']
/** Maximum `allOf` nesting. */
const MAX_NESTED = 16

/** Lists an operation's arguments: its parameters, and its body properties unless their names collide. */
function listArguments(operation: Operation, references: References): readonly ToolArgument[] {
  const names = new ArgumentNames()
  let left = MAX_ALL
  const convert = (input: unknown, description?: string): PlainObject => {
    const maxBytes = Math.min(MAX_ARGUMENT, left)
    const schema = convertSchema(input, references, { isLoose: false, maxBytes })
    if (description !== undefined) schema.description = description.slice(0, Math.max(0, Math.min(1000, left)))
    left -= JSON.stringify(schema).length
    return schema
  }
  const parameters = [...operation.parameters].sort(
    (a, b) => LOCATION_ORDER.indexOf(a.in) - LOCATION_ORDER.indexOf(b.in),
  )
  const own = parameters.map(parameter => ({
    name: names.assign(parameter.name, parameter.in),
    isRequired: parameter.required,
    target: { to: 'parameter' as const, parameter },
    schema: convert(parameter.schema, parameter.description),
  }))
  return [...own, ...listBodyArguments(operation, references, names, convert)]
}

function listBodyArguments(
  { body }: Operation,
  references: References,
  names: ArgumentNames,
  convert: (schema: unknown, description?: string) => PlainObject,
): ToolArgument[] {
  if (body === undefined) return []
  const members = collectMembers(body.schema, references, 0)
  const isFlat =
    members !== undefined &&
    members.properties.size > 0 &&
    [...members.properties.keys()].every(name => !names.isTaken(name))
  if (!isFlat) {
    const schema = convert(body.schema, body.description)
    return [{ name: names.assign('body', 'request'), isRequired: body.required, target: { to: 'body' }, schema }]
  }
  return [...members.properties].flatMap(([name, propertySchema]) => {
    const followed = references.follow(propertySchema)
    if (isObject(followed) && followed.readOnly === true) return []
    const isRequired = body.required && members.required.has(name)
    const target = { to: 'property' as const, name }
    return [{ name: names.assign(name, 'body'), isRequired, target, schema: convert(propertySchema) }]
  })
}

interface ObjectMembers {
  readonly properties: Map<string, unknown>
  readonly required: Set<string>
}

/** Collects the properties of a closed object schema; undefined for any other schema. */
function collectMembers(input: unknown, references: References, depth: number): ObjectMembers | undefined {
  const schema = references.follow(input)
  if (depth > MAX_NESTED || !isObject(schema) || !isClosedObject(schema)) return undefined
  const members: ObjectMembers = {
    properties: new Map(Object.entries(readMap(schema, 'properties'))),
    required: new Set(readTexts(schema, 'required')),
  }
  for (const branch of readList(schema, 'allOf')) {
    const inner = collectMembers(branch, references, depth + 1)
    if (inner === undefined) return undefined
    for (const [name, value] of inner.properties) members.properties.set(name, value)
    for (const name of inner.required) members.required.add(name)
  }
  return members
}

/** Returns true for an object without additional properties or alternatives. */
function isClosedObject({ type = 'object', anyOf, oneOf, additionalProperties = false }: PlainObject): boolean {
  return type === 'object' && anyOf === undefined && oneOf === undefined && additionalProperties === false
}

function createInputSchema(all: readonly ToolArgument[]): PlainObject {
  const required = all.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(all.map(({ name, schema }) => [name, schema])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}

/** Assigns unique argument names that every client accepts. */
class ArgumentNames {
  readonly #usedNames = new Set<string>()

  isTaken(name: string): boolean {
    return this.#usedNames.has(sanitizeArgumentName(name))
  }

  assign(name: string, location: string): string {
    const plain = sanitizeArgumentName(name)
    let assigned = plain
    for (let count = 1; this.#usedNames.has(assigned); count++) {
      const end = count === 1 ? `_${location}` : `_${location}${count}`
      assigned = plain.slice(0, MAX_NAME - end.length) + end
    }
    this.#usedNames.add(assigned)
    return assigned
  }
}

function sanitizeArgumentName(name: string): string {
  const plain = /^[A-Za-z0-9_.-]+$/.test(name) ? name : sanitizeName(name)
  return (plain === '' ? 'argument' : plain).slice(0, MAX_NAME)
}

/** An operation as a tool. */
export interface OpenApiTool {
  readonly name: string
  readonly operation: Operation
  readonly arguments: ReadonlyMap<string, ToolArgument>
  /** Its server's path prefix. */
  readonly basePath: string
  /** Entry in `tools/list`. */
  readonly definition: JsonObject
  readonly hasOutputSchema: boolean
}

const MAX_DESCRIPTION = 2000
const OUTPUT = { isLoose: true, maxBytes: 4 * 1024 }
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

interface ToolOptions {
  readonly name: string
  readonly basePath: string
  readonly hasOutput: boolean
}

/** Creates a tool from an operation. @throws Error if a reference cannot be resolved */
export function createTool(
  operation: Operation,
  { references }: ApiDocument,
  { name, basePath, hasOutput }: ToolOptions,
): OpenApiTool {
  const all = listArguments(operation, references)
  const title = sanitizeText(operation.summary ?? '').slice(0, 200)
  const output = hasOutput ? createOutputSchema(convertSchema(operation.result, references, OUTPUT)) : undefined
  const definition = {
    name,
    ...(title === '' ? {} : { title }),
    description: formatDescription(operation),
    inputSchema: createInputSchema(all),
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: createAnnotations(operation, title),
  }
  return {
    ...{ name, operation, basePath, definition },
    arguments: new Map(all.map(argument => [argument.name, argument])),
    hasOutputSchema: output !== undefined,
  }
}

function formatDescription({ method, path, summary, description, isDeprecated, body }: Operation): string {
  const isRaw = body !== undefined && !isJsonType(body.contentType)
  const parts = [
    isDeprecated ? 'Deprecated.' : undefined,
    summary,
    description === summary ? undefined : description,
    isRaw ? `The body is sent as ${body.contentType}.` : undefined,
  ]
  const text = sanitizeText(parts.filter(part => part !== undefined && part !== '').join('\n\n'))
  return (text === '' ? sanitizeText(`${method} ${path}`) : text).slice(0, MAX_DESCRIPTION)
}

function createAnnotations({ method }: Operation, title: string): PlainObject {
  return {
    ...(title === '' ? {} : { title }),
    readOnlyHint: SAFE_METHODS.has(method),
    ...(method === 'DELETE' ? { destructiveHint: true } : {}),
    idempotentHint: IDEMPOTENT_METHODS.has(method),
    openWorldHint: true,
  }
}

/** Tool results are objects: other values are wrapped as `result`. */
function createOutputSchema(schema: PlainObject): PlainObject | undefined {
  if (Object.keys(schema).length === 0) return undefined
  const types = [schema.type].flat()
  const { type: _, ...rest } = schema
  if (types.includes('object')) return { type: 'object', ...rest }
  return { type: 'object', properties: { result: schema } }
}

/** Wraps values that are no objects as `result`. */
export function toStructuredContent(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : { result: value }
}
