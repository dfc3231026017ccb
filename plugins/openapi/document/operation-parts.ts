import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, readMap, readText } from '../../../src/plugin.ts'

const HASH_LENGTH = 6

/**
 * Names tools by operation id, or else by method and path. Names stay stable when the document grows, unless they
 * collide.
 */
export function nameOperations(operations: readonly Operation[], maxLength: number): ReadonlyMap<Operation, string> {
  const plain = operations.map(operation => [operation, createOperationName(operation)] as const)
  const byShortName = Map.groupBy(plain, ([, name]) => name.slice(0, maxLength))
  return new Map(
    plain.map(([operation, name]) => {
      const isUnique = byShortName.get(name.slice(0, maxLength))?.length === 1
      const hash = `_${hashOperation(operation)}`
      const isKept = isUnique && name.length <= maxLength
      return [operation, isKept ? name : name.slice(0, maxLength - hash.length) + hash]
    }),
  )
}

function createOperationName({ id, method, path }: Operation): string {
  const own = id === undefined ? '' : sanitizeName(id)
  if (own !== '') return own
  const made = sanitizeName(`${method.toLowerCase()}${path}`)
  return made === '' ? 'operation' : made
}

/** Reduces a text to characters that every client accepts in names. */
export function sanitizeName(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|(?<!_)_+$/g, '')
}

function hashOperation({ method, path }: Operation): string {
  return createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, HASH_LENGTH)
}

const LOCATIONS: ReadonlySet<unknown> = new Set(['path', 'query', 'header', 'cookie'])
const STYLES: Readonly<Record<ParameterLocation, string>> = {
  path: 'simple',
  query: 'form',
  header: 'simple',
  cookie: 'form',
}
/** Headers that the HTTP client sets or that identify the caller; they cannot be arguments. */
const RESERVED_HEADERS =
  /^(accept|accept-encoding|authorization|connection|content-length|content-type|cookie|expect|forwarded|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|x-forwarded-.*)$/i
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Parses parameters; those of the operation override those of the path. */
export function parseParameters(all: readonly PlainObject[]): Parameter[] {
  return [...new Map(all.flatMap(one => parseParameter(one)).map(one => [`${one.in} ${one.name}`, one])).values()]
}

function parseParameter(one: PlainObject): Parameter[] {
  const { name, in: location } = one
  if (typeof name !== 'string' || !isLocation(location) || !isArgument(name, location)) return []
  const style = readText(one, 'style') ?? STYLES[location]
  const [content] = Object.values(readMap(one, 'content'))
  return [
    {
      ...{ name, in: location, style },
      required: one.required === true || location === 'path',
      description: readText(one, 'description'),
      schema: isObject(content) ? content.schema : one.schema,
      explode: typeof one.explode === 'boolean' ? one.explode : style === 'form',
      isJson: isObject(content),
    },
  ]
}

function isArgument(name: string, location: ParameterLocation): boolean {
  return location === 'header' ? HEADER_NAME.test(name) && !RESERVED_HEADERS.test(name) : name !== ''
}

function isLocation(value: unknown): value is ParameterLocation {
  return LOCATIONS.has(value)
}

/** Returns true for `application/json` and types with the suffix `+json`. */
export function isJsonType(contentType: string): boolean {
  return /^application\/([\w.!#$&^-]+\+)?json\s*(;|$)/i.test(contentType.trim())
}

/** Request body types, preferred first. */
const PREFERRED = [
  isJsonType,
  (type: string) => /^application\/x-www-form-urlencoded/i.test(type),
  (type: string) => /^multipart\/form-data/i.test(type),
  (type: string) => /^text\//i.test(type),
]

/** Parses the request body with the preferred content type. */
export function parseBody(input: unknown, references: References): RequestBody | undefined {
  const body = references.follow(input)
  if (!isObject(body)) return undefined
  const types = Object.keys(readMap(body, 'content'))
  const preferred = PREFERRED.map(fits => types.find(fits)).find(type => type !== undefined)
  const contentType = preferred ?? types[0]
  if (contentType === undefined) return undefined
  const media = references.follow(readMap(body, 'content')[contentType])
  return {
    required: body.required === true,
    description: readText(body, 'description'),
    contentType: normalizeContentType(contentType),
    schema: isObject(media) ? media.schema : undefined,
    encoding: new Map(Object.entries(readMap(media, 'encoding')).map(([name, one]) => [name, parseEncoding(one)])),
  }
}

/** Replaces ranges and invalid types by a type that can be sent. */
function normalizeContentType(contentType: string): string {
  return /^[\w.!#$&^+-]+\/[\w.!#$&^+-]+(\s*;\s*[\w-]+=[\w-]+)*$/.test(contentType)
    ? contentType
    : contentType.startsWith('*/')
      ? 'application/json'
      : 'application/octet-stream'
}

function parseEncoding(one: unknown): Encoding {
  const explode = readMap(one).explode
  return {
    style: readText(one, 'style'),
    explode: typeof explode === 'boolean' ? explode : undefined,
    contentType: readText(one, 'contentType'),
  }
}

/** Finds the JSON schema of successful responses; undefined if there is none or several differ. */
export function findResultSchema(operation: PlainObject, references: References): unknown {
  const schemas: unknown[] = []
  for (const [status, response] of Object.entries(readMap(operation, 'responses'))) {
    if (!/^2(\d\d|XX)$/i.test(status)) continue
    const content = Object.entries(readMap(references.follow(response), 'content'))
    if (content.length === 0) continue
    const json = content.find(([type]) => isJsonType(type))
    schemas.push(json === undefined ? undefined : readMap(json[1]).schema)
  }
  const [first] = schemas
  const text = JSON.stringify(first)
  return schemas.every(one => JSON.stringify(one) === text) ? first : undefined
}

export type ParameterLocation = 'path' | 'query' | 'header' | 'cookie'

/** A parameter in OpenAPI 3 form. */
export interface Parameter {
  readonly name: string
  readonly in: ParameterLocation
  readonly required: boolean
  readonly description: string | undefined
  readonly schema: unknown
  readonly style: string
  readonly explode: boolean
  /** True if the value is sent as JSON (`content`). */
  readonly isJson: boolean
}

/** Form property encoding. */
interface Encoding {
  readonly style: string | undefined
  readonly explode: boolean | undefined
  readonly contentType: string | undefined
}

export interface RequestBody {
  readonly required: boolean
  readonly description: string | undefined
  readonly contentType: string
  readonly schema: unknown
  readonly encoding: ReadonlyMap<string, Encoding>
}

/** Alternatives, each a list of schemes that are all required. */
export type Requirements = readonly (readonly string[])[]

/** One operation. References to its parts are resolved; schemas may contain references. */
export interface Operation {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path template, beginning with a slash. */
  readonly path: string
  readonly id: string | undefined
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly tags: readonly string[]
  readonly isDeprecated: boolean
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
  /** JSON result schema, if there is exactly one. */
  readonly result: unknown
  /** Undefined if neither the operation nor the document declares it. */
  readonly security: Requirements | undefined
  /** Servers of the operation or path; undefined if those of the document apply. */
  readonly servers: unknown
}

/** Credential location and kind. */
export type SecurityScheme =
  | { readonly kind: 'apiKey'; readonly in: ParameterLocation; readonly name: string }
  | { readonly kind: 'bearer' | 'basic' }

/** A parsed document. */
export interface ApiDocument {
  readonly title: string
  readonly version: string
  readonly description: string | undefined
  readonly operations: readonly Operation[]
  /** Operations that cannot be tools, as `GET /path: reason`. */
  readonly skipped: readonly string[]
  readonly servers: unknown
  readonly schemes: ReadonlyMap<string, SecurityScheme>
  readonly references: References
}

export interface References {
  /** Resolves a `$ref`; returns other values unchanged. @throws Error if the target is missing */
  follow(value: unknown): unknown
}

export type PlainObject = JsonObject
