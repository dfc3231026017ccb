import type { HttpMethod } from '../../../src/plugin.ts'
import { isObject, readList, readMap, toOneLine, readText } from '../../../src/plugin.ts'
import { bodyOf, isJsonType, oneOf, parametersOf, plainType, resultOf } from './parts.ts'
import type {
  ApiDocument,
  Operation,
  Parameter,
  Plain,
  References,
  RequestBody,
  Requirements,
  SecurityScheme,
} from './types.ts'

/** Members of a parameter of 2.0 that belong to its schema in 3. */
const OF_SCHEMA =
  'type format items enum default minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems multipleOf'.split(
    ' ',
  )
const STYLES: Readonly<Record<string, string>> = {
  csv: 'form',
  multi: 'form',
  ssv: 'spaceDelimited',
  tsv: 'tabDelimited',
  pipes: 'pipeDelimited',
}

/** Parameters of an operation of 2.0, but for those that make its body. */
function swaggerParameters(all: readonly Plain[]): Parameter[] {
  return parametersOf(
    all.map(one => {
      const list = readText(one, 'collectionFormat') ?? 'csv'
      const style = one.in === 'query' || one.in === 'cookie' ? (STYLES[list] ?? 'form') : 'simple'
      return { ...one, schema: schemaOf(one), style, explode: list === 'multi' }
    }),
  )
}

function schemaOf(one: Plain): Plain {
  const entries = OF_SCHEMA.filter(key => one[key] !== undefined).map(key => [key, one[key]])
  const schema = Object.fromEntries(entries) as Plain
  return schema.type === 'file' ? { ...schema, type: 'string', format: 'binary' } : schema
}

/** The body of an operation of 2.0: one parameter, or all that are `formData`. */
function swaggerBody(all: readonly Plain[], operation: Plain, document: Plain): RequestBody | undefined {
  const own = readList(operation, 'consumes')
  const types = (own.length > 0 ? own : readList(document, 'consumes')).filter(
    type => typeof type === 'string',
  )
  const body = all.find(one => one.in === 'body')
  const shared = { description: body && readText(body, 'description'), encoding: new Map() }
  if (body !== undefined) {
    const contentType = types.find(isJsonType) ?? types[0] ?? 'application/json'
    const required = body.required === true
    return { ...shared, required, contentType: plainType(contentType), schema: body.schema }
  }
  const fields = all.filter(one => one.in === 'formData' && typeof one.name === 'string')
  if (fields.length === 0) return undefined
  const hasFile = fields.some(({ type }) => type === 'file')
  const isMultipart = hasFile || (types.includes('multipart/form-data') && !types.includes(FORM))
  const required = fields.filter(field => field.required === true).map(({ name }) => String(name))
  const properties = fields.map(field => {
    const described = { ...schemaOf(field), description: readText(field, 'description') }
    return [String(field.name), described] as const
  })
  const encoding = fields.map(({ name, collectionFormat }) => {
    const style = STYLES[String(collectionFormat ?? 'csv')] ?? 'form'
    return [String(name), { style, explode: collectionFormat === 'multi', contentType: undefined }] as const
  })
  return {
    description: undefined,
    encoding: new Map(encoding),
    required: required.length > 0,
    contentType: isMultipart ? 'multipart/form-data' : FORM,
    schema: { type: 'object', properties: Object.fromEntries(properties), required },
  }
}

const FORM = 'application/x-www-form-urlencoded'

/** The schema of the one JSON result of 2.0. */
function swaggerResult(operation: Plain, references: References): unknown {
  const schemas = Object.entries(readMap(operation, 'responses'))
    .filter(([status]) => /^2\d\d$/.test(status))
    .map(([, given]) => references.follow(given))
    .flatMap(response => (isObject(response) && response.schema !== undefined ? [response.schema] : []))
  const [only] = schemas
  return isObject(only) && only.type === 'file' ? undefined : oneOf(schemas)
}

/** `host`, `basePath` and `schemes` as servers of 3. */
function swaggerServers(document: Plain): unknown {
  const host = readText(document, 'host')
  const path = readText(document, 'basePath') ?? ''
  if (host === undefined) return [{ url: path === '' ? '/' : path }]
  const schemes = readList(document, 'schemes')
  const scheme = schemes.length === 0 || schemes.includes('https') ? 'https' : String(schemes[0])
  return [{ url: `${scheme}://${host}${path}` }]
}

const METHODS: Readonly<Record<string, HttpMethod>> = {
  get: 'GET',
  head: 'HEAD',
  options: 'OPTIONS',
  post: 'POST',
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
}

/** Operations of one document; more are left out. */
const MAX_OPERATIONS = 10_000
const MAX_PATH = 2048
// eslint-disable-next-line no-control-regex -- they are what is looked for
const NO_PATH = /[\x00-\x20\x7f?#\\]|^\/\/|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/**
 * Sorts what a document says, in the words of OpenAPI 3. What is broken in one operation leaves out that one.
 * @throws Error where it is no OpenAPI document
 */
export function readDocument(document: unknown): ApiDocument {
  if (!isObject(document)) throw new Error('it is no object')
  const isSwagger = document.swagger === '2.0' || document.swagger === 2
  if (!isSwagger && !/^3\.[0-2](\.|$)/.test(String(document.openapi)))
    throw new Error('it is none of OpenAPI 2.0, 3.0 or 3.1 ("swagger" or "openapi" says which)')
  const references = referencesIn(document)
  const found = operationsIn({ document, isSwagger, references })
  const description = readText(document, 'info', 'description')
  return {
    title: toOneLine(readText(document, 'info', 'title') ?? 'API').slice(0, 200),
    version: toOneLine(String(readMap(document, 'info').version ?? '0')).slice(0, 50),
    description,
    ...found,
    servers: isSwagger ? swaggerServers(document) : document.servers,
    schemes: schemesIn(document, references),
    references,
  }
}

interface Reading {
  readonly document: Plain
  readonly isSwagger: boolean
  readonly references: References
}

function operationsIn(reading: Reading): Pick<ApiDocument, 'operations' | 'leftOut'> {
  const operations: Operation[] = []
  const leftOut: string[] = []
  for (const [path, given] of Object.entries(readMap(reading.document, 'paths'))) {
    const shown = toOneLine(path).slice(0, 100)
    const item = attempted(() => reading.references.follow(given))
    if (typeof item === 'string') leftOut.push(`${shown}: ${item}`)
    if (!isObject(item)) continue
    for (const [key, method] of Object.entries(METHODS)) {
      const attempt = attempted(() => operationAt(reading, { path, item, key, method }))
      if (attempt === undefined) continue
      if (typeof attempt === 'string') leftOut.push(`${method} ${shown}: ${attempt}`)
      else if (operations.length >= MAX_OPERATIONS) leftOut.push(`${method} ${shown}: there are too many`)
      else operations.push(attempt)
    }
  }
  return { operations, leftOut }
}

function attempted<T>(read: () => T): T | string {
  try {
    return read()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

interface ParsedOperation {
  readonly path: string
  readonly item: Plain
  readonly key: string
  readonly method: HttpMethod
}

function operationAt(
  reading: Reading,
  { path, item: shared, key, method }: ParsedOperation,
): Operation | undefined {
  if (!isObject(shared[key])) return undefined
  const own = shared[key]
  if (!path.startsWith('/') || path.length > MAX_PATH || NO_PATH.test(path))
    throw new Error('that is no path')
  const given = [...readList(shared, 'parameters'), ...readList(own, 'parameters')]
  const all = given.map(one => reading.references.follow(one)).filter(isObject)
  const parts = reading.isSwagger ? swaggerParts(reading, own, all) : partsOf(reading, own, all)
  checkPieces(path, parts.parameters)
  const said = { ...shared, ...own }
  return {
    ...{ method, path, ...parts },
    id: readText(own, 'operationId'),
    summary: readText(said, 'summary'),
    description: readText(said, 'description'),
    tags: readList(own, 'tags').filter(tag => typeof tag === 'string'),
    isDeprecated: own.deprecated === true,
    security: requirementsOf(own.security ?? reading.document.security),
    servers: said.servers,
  }
}

type Parts = Pick<Operation, 'parameters' | 'body' | 'result'>

function partsOf({ references }: Reading, own: Plain, all: readonly Plain[]): Parts {
  const body = bodyOf(own.requestBody, references)
  return { parameters: parametersOf(all), body, result: resultOf(own, references) }
}

function swaggerParts({ references, document }: Reading, own: Plain, all: readonly Plain[]): Parts {
  const body = swaggerBody(all, own, document)
  return { parameters: swaggerParameters(all), body, result: swaggerResult(own, references) }
}

/** Each piece of a path that may vary must be described. */
function checkPieces(path: string, parameters: readonly Parameter[]): void {
  for (const [, name] of path.matchAll(/\{([^{}]*)\}/g))
    if (!parameters.some(one => one.in === 'path' && one.name === name))
      throw new Error(`nothing describes its parameter "${toOneLine(String(name)).slice(0, 50)}"`)
}

function requirementsOf(security: unknown): Requirements | undefined {
  if (!Array.isArray(security)) return undefined
  return security.filter(isObject).map(alternative => Object.keys(alternative))
}

/** References that lead to references. */
const MAX_HOPS = 32

/**
 * Follows `#/…` within one document. Files and URLs are never read: who writes a document must not choose what this machine
 * reads for him.
 */
function referencesIn(document: unknown): References {
  return {
    follow(value) {
      let found = value
      for (let hops = 0; isObject(found) && typeof found.$ref === 'string'; hops++) {
        if (hops >= MAX_HOPS) throw new Error('its references lead to each other')
        found = find(document, found.$ref)
      }
      return found
    },
  }
}

function find(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Error(`it refers to ${shown(reference)}, which is not in the document`)
  let found = document
  for (const part of reference.slice(2).split('/')) {
    const key = decoded(part)
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, key)
    if (!isThere) throw new Error(`it refers to ${shown(reference)}, and that is not there`)
    found = (found as Record<string, unknown>)[key]
  }
  return found
}

function decoded(part: string): string {
  let text = part
  try {
    text = decodeURIComponent(part)
  } catch {
    // A per cent sign that encodes nothing stands for itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

function shown(reference: string): string {
  return JSON.stringify(reference.slice(0, 100))
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The security schemes of a document, by name; those that nobody can put on a request are left out. */
function schemesIn(document: Plain, references: References): ReadonlyMap<string, SecurityScheme> {
  const schemes = {
    ...readMap(document, 'securityDefinitions'),
    ...readMap(document, 'components', 'securitySchemes'),
  }
  const found = Object.entries(schemes).flatMap(([name, given]) => {
    const scheme = schemeOf(references.follow(given))
    return scheme === undefined ? [] : [[name, scheme] as const]
  })
  return new Map(found)
}

/** Kinds by type, and for `http` by scheme. */
const KINDS: ReadonlyMap<string, 'basic' | 'bearer'> = new Map([
  ['basic', 'basic'],
  ['http basic', 'basic'],
  ['http bearer', 'bearer'],
  ['oauth2', 'bearer'],
  ['openIdConnect', 'bearer'],
])

function schemeOf(given: unknown): SecurityScheme | undefined {
  const type = readText(given, 'type')
  const scheme = type === 'http' ? ` ${readText(given, 'scheme')?.toLowerCase() ?? ''}` : ''
  const kind = KINDS.get(`${type ?? ''}${scheme}`)
  if (kind !== undefined) return { kind }
  return type === 'apiKey' ? keyOf(readText(given, 'in'), readText(given, 'name') ?? '') : undefined
}

function keyOf(place: string | undefined, name: string): SecurityScheme | undefined {
  if (place === 'query') return { kind: 'apiKey', in: place, name }
  const isIn = place === 'header' || place === 'cookie'
  return isIn && TOKEN.test(name) ? { kind: 'apiKey', in: place, name } : undefined
}
