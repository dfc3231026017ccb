import { isObject, readList, readMap, readText, readTexts, resolveReference, toOneLine } from '../../../src/plugin.ts'
import type {
  ApiDocument,
  Operation,
  Parameter,
  PlainObject,
  References,
  Requirements,
  SecurityScheme,
} from './operation-parts.ts'
import { findResultSchema, isJsonType, parseBody, parseParameters } from './operation-parts.ts'

/** Swagger 2.0 parameter members that belong to the schema in OpenAPI 3. */
const SCHEMA_MEMBERS =
  'type format items enum default minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems multipleOf'.split(
    ' ',
  )
const STYLES: Readonly<Record<string, string>> = {
  csv: 'form',
  multi: 'form',
  ssv: 'spaceDelimited',
  pipes: 'pipeDelimited',
}

/** Converts a Swagger 2.0 operation's parts to OpenAPI 3. */
function convertSwaggerOperation(
  operation: PlainObject,
  all: readonly PlainObject[],
  { document, references }: DocumentContext,
): { readonly operation: PlainObject; readonly parameters: readonly PlainObject[] } {
  const parameters = all.map(one => {
    const isList = one.in === 'query' || one.in === 'cookie'
    return {
      ...one,
      schema: extractSchema(one),
      ...convertCollectionFormat(one),
      ...(isList ? {} : { style: 'simple' }),
    }
  })
  const requestBody = convertSwaggerBody(all, operation, document)
  return { operation: { requestBody, responses: convertSwaggerResponses(operation, references) }, parameters }
}

function convertCollectionFormat({ collectionFormat = 'csv' }: PlainObject): PlainObject {
  return { style: STYLES[String(collectionFormat)] ?? 'form', explode: collectionFormat === 'multi' }
}

function extractSchema(one: PlainObject): PlainObject {
  const entries = SCHEMA_MEMBERS.filter(key => one[key] !== undefined).map(key => [key, one[key]])
  const schema = Object.fromEntries(entries) as PlainObject
  return schema.type === 'file' ? { ...schema, type: 'string', format: 'binary' } : schema
}

/** Converts one `body` parameter, or all `formData` parameters. */
function convertSwaggerBody(
  all: readonly PlainObject[],
  operation: PlainObject,
  document: PlainObject,
): PlainObject | undefined {
  const own = readTexts(operation, 'consumes')
  const types = own.length > 0 ? own : readTexts(document, 'consumes')
  const body = all.find(one => one.in === 'body')
  if (body !== undefined) {
    const { schema, required, description } = body
    const contentType = types.find(isJsonType) ?? types[0] ?? 'application/json'
    return { required, description, content: { [contentType]: { schema } } }
  }
  const fields = all.filter(one => one.in === 'formData' && typeof one.name === 'string')
  if (fields.length === 0) return undefined
  const hasFile = fields.some(({ type }) => type === 'file')
  const isMultipart = hasFile || (types.includes('multipart/form-data') && !types.includes(FORM))
  const required = fields.filter(field => field.required === true).map(({ name }) => String(name))
  const properties = fields.map(field => {
    const described = { ...extractSchema(field), description: readText(field, 'description') }
    return [String(field.name), described] as const
  })
  const schema = { type: 'object', properties: Object.fromEntries(properties), required }
  const encoding = Object.fromEntries(fields.map(field => [String(field.name), convertCollectionFormat(field)]))
  return {
    required: required.length > 0,
    content: { [isMultipart ? 'multipart/form-data' : FORM]: { schema, encoding } },
  }
}

const FORM = 'application/x-www-form-urlencoded'

function convertSwaggerResponses(operation: PlainObject, references: References): PlainObject {
  const responses = Object.entries(readMap(operation, 'responses')).map(([status, response]) => {
    const { schema } = readMap(references.follow(response))
    const type = readText(schema, 'type') === 'file' ? 'application/octet-stream' : 'application/json'
    return [status, schema === undefined ? {} : { content: { [type]: { schema } } }] as const
  })
  return Object.fromEntries(responses)
}

/** Converts `host`, `basePath` and `schemes` to OpenAPI 3 servers. */
function convertSwaggerServers(document: PlainObject): unknown {
  const host = readText(document, 'host')
  const path = readText(document, 'basePath') ?? ''
  if (host === undefined) return [{ url: path === '' ? '/' : path }]
  const schemes = readList(document, 'schemes')
  const scheme = schemes.length === 0 || schemes.includes('https') ? 'https' : String(schemes[0])
  return [{ url: `${scheme}://${host}${path}` }]
}

const METHODS: Readonly<Record<string, Operation['method']>> = {
  get: 'GET',
  head: 'HEAD',
  options: 'OPTIONS',
  post: 'POST',
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
}

/** Maximum operations; the rest are skipped. */
const MAX_OPERATIONS = 10_000
const MAX_PATH = 2048
// eslint-disable-next-line no-control-regex -- matches control characters
const NO_PATH = /[\x00-\x20\x7f?#\\]|^\/\/|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/**
 * Parses a document, converting Swagger 2.0 to OpenAPI 3. An invalid operation is skipped.
 * @throws Error if it is not an OpenAPI document
 */
export function readDocument(document: unknown): ApiDocument {
  if (!isObject(document)) throw new Error('it is not an object')
  const isSwagger = document.swagger === '2.0' || document.swagger === 2
  if (!isSwagger && !/^3\.[0-2](\.|$)/.test(String(document.openapi)))
    throw new Error('it is not OpenAPI 2.0, 3.0 or 3.1 ("swagger" or "openapi" must be one of these versions)')
  const references = createReferences(document)
  const parsed = parseOperations({ document, isSwagger, references })
  const description = readText(document, 'info', 'description')
  return {
    title: toOneLine(readText(document, 'info', 'title') ?? 'API').slice(0, 200),
    version: toOneLine(String(readMap(document, 'info').version ?? '0')).slice(0, 50),
    description,
    ...parsed,
    servers: isSwagger ? convertSwaggerServers(document) : document.servers,
    schemes: parseSecuritySchemes(document, references),
    references,
  }
}

interface DocumentContext {
  readonly document: PlainObject
  readonly isSwagger: boolean
  readonly references: References
}

function parseOperations(reading: DocumentContext): Pick<ApiDocument, 'operations' | 'skipped'> {
  const operations: Operation[] = []
  const skipped: string[] = []
  for (const [path, pathItem] of Object.entries(readMap(reading.document, 'paths'))) {
    const shortPath = toOneLine(path).slice(0, 100)
    const item = attemptRead(() => reading.references.follow(pathItem))
    if (typeof item === 'string') skipped.push(`${shortPath}: ${item}`)
    if (!isObject(item)) continue
    for (const [key, method] of Object.entries(METHODS)) {
      const attempt = attemptRead(() => parseOperation(reading, { path, item, key, method }))
      if (attempt === undefined) continue
      if (typeof attempt === 'string') skipped.push(`${method} ${shortPath}: ${attempt}`)
      else if (operations.length >= MAX_OPERATIONS) skipped.push(`${method} ${shortPath}: too many operations`)
      else operations.push(attempt)
    }
  }
  return { operations, skipped }
}

function attemptRead<T>(read: () => T): T | string {
  try {
    return read()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

interface OperationSource {
  readonly path: string
  readonly item: PlainObject
  readonly key: string
  readonly method: Operation['method']
}

function parseOperation(
  reading: DocumentContext,
  { path, item: shared, key, method }: OperationSource,
): Operation | undefined {
  if (!isObject(shared[key])) return undefined
  const own = shared[key]
  if (!path.startsWith('/') || path.length > MAX_PATH || NO_PATH.test(path)) throw new Error('invalid path')
  const declared = [...readList(shared, 'parameters'), ...readList(own, 'parameters')]
  const all = declared.map(one => reading.references.follow(one)).filter(isObject)
  const { operation, parameters } = reading.isSwagger
    ? convertSwaggerOperation(own, all, reading)
    : { operation: own, parameters: all }
  const parsed = parseParameters(parameters)
  checkPathParameters(path, parsed)
  const merged = { ...shared, ...own }
  return {
    ...{ method, path, parameters: parsed },
    body: parseBody(operation.requestBody, reading.references),
    result: findResultSchema(operation, reading.references),
    id: readText(own, 'operationId'),
    summary: readText(merged, 'summary'),
    description: readText(merged, 'description'),
    tags: readTexts(own, 'tags'),
    isDeprecated: own.deprecated === true,
    security: parseRequirements(own.security ?? reading.document.security),
    servers: merged.servers,
  }
}

/** Each template variable needs a parameter. */
function checkPathParameters(path: string, parameters: readonly Parameter[]): void {
  for (const [, name] of path.matchAll(/\{([^{}]*)\}/g))
    if (!parameters.some(one => one.in === 'path' && one.name === name))
      throw new Error(`path parameter "${toOneLine(String(name)).slice(0, 50)}" is not declared`)
}

function parseRequirements(security: unknown): Requirements | undefined {
  if (!Array.isArray(security)) return undefined
  return security.filter(isObject).map(alternative => Object.keys(alternative))
}

/** Maximum chained references. */
const MAX_HOPS = 32

/** Resolves `#/…` within the document. Never reads files or URLs: the document's author must not choose them. */
function createReferences(document: unknown): References {
  return {
    follow(value) {
      let target = value
      for (let hops = 0; isObject(target) && typeof target.$ref === 'string'; hops++) {
        if (hops >= MAX_HOPS) throw new Error('circular reference')
        target = lookUpReference(document, target.$ref)
      }
      return target
    },
  }
}

function lookUpReference(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) throw new Error(`reference ${quoteReference(reference)} is not within the document`)
  const target = resolveReference(reference, document)
  if (target === undefined) throw new Error(`reference ${quoteReference(reference)} not found`)
  return target
}

function quoteReference(reference: string): string {
  return JSON.stringify(reference.slice(0, 100))
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Parses security schemes by name; unsupported ones are skipped. */
function parseSecuritySchemes(document: PlainObject, references: References): ReadonlyMap<string, SecurityScheme> {
  const schemes = {
    ...readMap(document, 'securityDefinitions'),
    ...readMap(document, 'components', 'securitySchemes'),
  }
  const entries = Object.entries(schemes).flatMap(([name, definition]) => {
    const scheme = parseSecurityScheme(references.follow(definition))
    return scheme === undefined ? [] : [[name, scheme] as const]
  })
  return new Map(entries)
}

/** Kinds by type, and by scheme for `http`. */
const KINDS: ReadonlyMap<string, 'basic' | 'bearer'> = new Map([
  ['basic', 'basic'],
  ['http basic', 'basic'],
  ['http bearer', 'bearer'],
  ['oauth2', 'bearer'],
  ['openIdConnect', 'bearer'],
])

function parseSecurityScheme(definition: unknown): SecurityScheme | undefined {
  const type = readText(definition, 'type')
  const scheme = type === 'http' ? ` ${readText(definition, 'scheme')?.toLowerCase() ?? ''}` : ''
  const kind = KINDS.get(`${type ?? ''}${scheme}`)
  if (kind !== undefined) return { kind }
  return type === 'apiKey'
    ? parseApiKeyScheme(readText(definition, 'in'), readText(definition, 'name') ?? '')
    : undefined
}

function parseApiKeyScheme(location: string | undefined, name: string): SecurityScheme | undefined {
  if (location === 'query') return { kind: 'apiKey', in: location, name }
  const isIn = location === 'header' || location === 'cookie'
  return isIn && TOKEN.test(name) ? { kind: 'apiKey', in: location, name } : undefined
}
