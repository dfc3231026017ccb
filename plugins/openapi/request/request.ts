import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, suggestName } from '../../../src/plugin.ts'
import type {
  Operation,
  Parameter,
  ParameterLocation,
  RequestBody,
  Requirements,
  SecurityScheme,
} from '../document/operation-parts.ts'
import { isJsonType } from '../document/operation-parts.ts'
import type { OpenApiTool } from '../tools/tool.ts'

type Value = unknown

type StyledParameter = Pick<Parameter, 'name' | 'style' | 'explode'>

type Encode = (text: string) => string

const SEPARATORS: Readonly<Record<string, string>> = {
  form: ',',
  simple: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
}
/** Maximum `deepObject` nesting. */
const MAX_DEPTH = 16

/** Formats a value as encoded query or form pairs. */
function formatPairs(value: Value, { name, style, explode }: StyledParameter): string[] {
  const key = encodeStrict(name)
  if (typeof value !== 'object' || value === null) return [`${key}=${encodeStrict(stringifyValue(value))}`]
  if (style === 'deepObject') return formatDeepPairs(value, key, 0)
  if (!Array.isArray(value)) {
    const texts = formatMap(value, explode, encodeStrict)
    return explode ? texts : joinPair(key, texts, style)
  }
  const texts = value.map(one => encodeStrict(stringifyValue(one)))
  return explode && style === 'form' ? texts.map(text => `${key}=${text}`) : joinPair(key, texts, style)
}

function joinPair(key: string, texts: readonly string[], style: string): string[] {
  return texts.length === 0 ? [] : [`${key}=${texts.join(SEPARATORS[style] ?? ',')}`]
}

/** Formats `filter[created][gte]=1`, and `filter[0]=a` for lists. */
function formatDeepPairs(value: object, key: string, depth: number): string[] {
  if (depth > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`)
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const nested = `${key}[${encodeStrict(name)}]`
    return typeof inner === 'object' && inner !== null
      ? formatDeepPairs(inner, nested, depth + 1)
      : [`${nested}=${encodeStrict(stringifyValue(inner))}`]
  })
}

/** Formats a value for a path segment or header. */
function formatPiece(value: Value, { name, style, explode }: StyledParameter, encode: Encode): string {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  const texts = isMap ? formatMap(value, explode, encode) : [value].flat().map(one => encode(stringifyValue(one)))
  if (style === 'label') return `.${texts.join(explode ? '.' : ',')}`
  if (style !== 'matrix') return texts.join(',')
  const key = encode(name)
  if (!explode) return `;${key}=${texts.join(',')}`
  return texts.map(text => (isMap ? `;${text}` : `;${key}=${text}`)).join('')
}

function formatMap(value: object, explode: boolean, encode: Encode): string[] {
  const entries = Object.entries(value).map(([name, inner]) => [encode(name), encode(stringifyValue(inner))] as const)
  return explode ? entries.map(([name, text]) => `${name}=${text}`) : entries.flat()
}

/** Converts a value to text; objects become JSON. */
function stringifyValue(value: Value): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Encodes all but letters, digits and `-_.~`. */
function encodeStrict(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

export interface ToolRequest {
  readonly method: Operation['method']
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Configured additions to each request. */
interface RequestAdditions extends Credentials {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
}

const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.8'
const MAX_URL = 16 * 1024

/** Invalid arguments; the model sees the message. */
export class InvalidArguments extends Error {}

/** Builds a call's HTTP request. @throws InvalidArguments */
export function buildRequest(tool: OpenApiTool, args: JsonObject, additions: RequestAdditions): ToolRequest {
  checkArgumentNames(tool, args)
  const { operation } = tool
  const pairs: string[] = []
  const cookies: string[] = []
  const pieces = new Map<string, string>()
  const headers: Record<string, string> = { accept: ACCEPT }
  for (const { target, name } of tool.arguments.values()) {
    const value = getArgument(args, name)
    if (target.to !== 'parameter' || value === undefined) continue
    const { parameter } = target
    if (parameter.in === 'query') pairs.push(...formatPairs(encodeContent(parameter, value), parameter))
    else if (parameter.in === 'path') pieces.set(parameter.name, formatPathParameter(parameter, value, name))
    else if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = formatHeader(parameter, value, name)
    else cookies.push(...formatPairs(encodeContent(parameter, value), parameter))
  }
  const body = buildBody(tool, args)
  if (body !== undefined) headers['content-type'] = body.contentType
  addCredentials(additions, { headers, pairs, cookies })
  const path = appendQuery(tool.basePath.replace(/\/$/, '') + expandPath(operation.path, pieces), pairs)
  return { method: operation.method, path, headers, body: body?.text }
}

function checkArgumentNames(tool: OpenApiTool, args: JsonObject): void {
  for (const name of Object.keys(args)) {
    if (tool.arguments.has(name)) continue
    const suggestion = suggestName(name, [...tool.arguments.keys()])
    throw new InvalidArguments(`unknown argument "${name}"${suggestion === undefined ? '' : ` – ${suggestion}`}`)
  }
  for (const { name, isRequired } of tool.arguments.values())
    if (isRequired && getArgument(args, name) === undefined) throw new InvalidArguments(`missing argument "${name}"`)
}

function getArgument(args: JsonObject, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined
}

function encodeContent({ isJson }: Parameter, value: unknown): unknown {
  return isJson ? JSON.stringify(value) : value
}

/** Formats one path segment. It must stay one segment, even for servers that decode slashes. */
function formatPathParameter(parameter: Parameter, value: unknown, argument: string): string {
  const piece = formatPiece(encodeContent(parameter, value), parameter, encodeStrict)
  if (piece === '') throw new InvalidArguments(`the argument "${argument}" must not be empty`)
  const texts = [value].flat().map(stringifyValue)
  if (texts.some(text => hasDotSegment(text)))
    throw new InvalidArguments(`the argument "${argument}" must not contain "." or ".." as a path segment`)
  return piece
}

/** Returns true for `.` or `..` segments, even if encoded once or twice. */
function hasDotSegment(text: string): boolean {
  let plain = text
  for (let times = 0; times < 3; times++) {
    if (plain.split(/[/\\]/).some(step => step === '.' || step === '..')) return true
    try {
      plain = decodeURIComponent(plain)
    } catch {
      return false
    }
  }
  return false
}

function expandPath(template: string, pieces: ReadonlyMap<string, string>): string {
  const path = template.replace(/\{([^{}]*)\}/g, (_all, name: string) => pieces.get(name) ?? '')
  // Two valid segments may form `..` together.
  if (hasDotSegment(path)) throw new InvalidArguments('the arguments must not change the path')
  // Do not encode percent signs again.
  return encodeURI(path.toWellFormed()).replaceAll('%25', '%')
}

function formatHeader(parameter: Parameter, value: unknown, argument: string): string {
  const text = formatPiece(encodeContent(parameter, value), parameter, plain => plain)
  if (!/^[\t\x20-\x7e]*$/.test(text))
    throw new InvalidArguments(`the argument "${argument}" is a header: use one line of ASCII`)
  return text
}

function buildBody({ operation: { body }, arguments: all }: OpenApiTool, args: JsonObject): EncodedBody | undefined {
  if (body === undefined) return undefined
  const properties: [string, unknown][] = []
  let isFlat = false
  for (const { name, target } of all.values()) {
    const value = getArgument(args, name)
    if (target.to === 'body' && value !== undefined) return encodeBody(body, value)
    if (target.to !== 'property') continue
    isFlat = true
    if (value !== undefined) properties.push([target.name, value])
  }
  if (properties.length === 0 && !(isFlat && body.required)) return undefined
  return encodeBody(body, Object.fromEntries(properties))
}

interface RequestParts {
  readonly headers: Record<string, string>
  readonly pairs: string[]
  readonly cookies: string[]
}

/** Configured values override arguments with the same name. */
function addCredentials(
  { header, query, cookie, headers: standing, parameters }: RequestAdditions,
  to: RequestParts,
): void {
  const { headers, pairs, cookies } = to
  for (const [name, value] of Object.entries({ ...query, ...parameters })) {
    const key = encodeStrict(name)
    for (let i = pairs.length - 1; i >= 0; i--) if (pairs[i]?.split('=')[0] === key) pairs.splice(i, 1)
    pairs.push(`${key}=${encodeStrict(value)}`)
  }
  for (const [name, value] of Object.entries(cookie)) {
    for (let i = cookies.length - 1; i >= 0; i--) if (cookies[i]?.startsWith(`${name}=`)) cookies.splice(i, 1)
    cookies.push(`${name}=${encodeStrict(value)}`)
  }
  if (cookies.length > 0) headers.cookie = cookies.join('; ')
  Object.assign(headers, header, standing)
}

function appendQuery(path: string, pairs: readonly string[]): string {
  const url = pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
  if (url.length > MAX_URL) throw new InvalidArguments('the arguments make the URL too long')
  return url
}

/** Reads a call's arguments; an empty object if there are none. @throws InvalidArguments */
export function parseArguments(params: JsonObject | undefined): JsonObject {
  const args = params?.arguments ?? {}
  if (!isObject(args)) throw new InvalidArguments('"arguments" must be an object')
  return args
}

interface EncodedBody {
  readonly contentType: string
  readonly text: string
}

/** Encodes a value in the operation's content type. */
function encodeBody(body: RequestBody, value: unknown): EncodedBody {
  const { contentType } = body
  if (isJsonType(contentType)) return { contentType, text: JSON.stringify(value) }
  if (/^application\/x-www-form-urlencoded/i.test(contentType)) return { contentType, text: encodeForm(body, value) }
  if (/^multipart\//i.test(contentType)) return encodeMultipart(body, value)
  return { contentType, text: stringifyValue(value) }
}

function encodeForm({ encoding }: RequestBody, value: unknown): string {
  if (typeof value !== 'object' || value === null) return stringifyValue(value)
  return Object.entries(value)
    .flatMap(([name, inner]: [string, unknown]) => {
      const { style = 'form', explode = style === 'form', contentType } = encoding.get(name) ?? {}
      const isNested = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      const isJson = (contentType !== undefined && isJsonType(contentType)) || (isNested && !encoding.has(name))
      return formatPairs(isJson ? JSON.stringify(inner) : inner, { name, style, explode })
    })
    .join('&')
}

function encodeMultipart({ encoding }: RequestBody, value: unknown): EncodedBody {
  const boundary = `----tapgate${randomBytes(16).toString('hex')}`
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const parts = fields.flatMap(([name, inner]: [string, unknown]) =>
    (Array.isArray(inner) ? (inner as unknown[]) : [inner]).map(one =>
      encodePart(name, one, encoding.get(name)?.contentType),
    ),
  )
  const text = parts.map(one => `--${boundary}\r\n${one}\r\n`).join('')
  return { contentType: `multipart/form-data; boundary=${boundary}`, text: `${text}--${boundary}--\r\n` }
}

function encodePart(name: string, value: unknown, mediaType: string | undefined): string {
  const isNested = typeof value === 'object' && value !== null
  const type = mediaType !== undefined && /^[\w.!#$&^+-]+\/[\w.!#$&^+-]+$/.test(mediaType) ? mediaType : undefined
  const contentType = type ?? (isNested ? 'application/json' : undefined)
  const head = `Content-Disposition: form-data; name="${escapeFieldName(name)}"`
  const typed = contentType === undefined ? head : `${head}\r\nContent-Type: ${contentType}`
  return `${typed}\r\n\r\n${stringifyValue(value)}`
}

/** Escapes names as browsers do. */
function escapeFieldName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}

/** Request credentials by location. */
type Credentials = Readonly<Record<'header' | 'query' | 'cookie', Readonly<Record<string, string>>>>

/**
 * Selects the credentials of the first alternative that is completely configured. Without declared security all are
 * sent; an explicitly public operation gets none.
 */
export function selectCredentials(
  security: Requirements | undefined,
  schemes: ReadonlyMap<string, SecurityScheme>,
  values: Readonly<Record<string, string>>,
): Credentials {
  const credentialNames = Object.keys(values)
  const selected =
    security === undefined
      ? credentialNames
      : security.find(names => names.length > 0 && names.every(name => credentialNames.includes(name)))
  const parameters = { header: {}, query: {}, cookie: {} } as Record<keyof Credentials, Record<string, string>>
  for (const name of selected ?? []) {
    const scheme = schemes.get(name)
    const value = values[name]
    if (scheme === undefined || value === undefined) continue
    const [location, key, text] = placeCredential(scheme, value)
    if (location !== 'path') parameters[location][key] = text
  }
  return parameters
}

function placeCredential(scheme: SecurityScheme, value: string): readonly [ParameterLocation, string, string] {
  switch (scheme.kind) {
    case 'apiKey':
      return [scheme.in, scheme.in === 'header' ? scheme.name.toLowerCase() : scheme.name, value]
    case 'basic':
      return ['header', 'authorization', `Basic ${Buffer.from(value).toString('base64')}`]
    case 'bearer':
      return ['header', 'authorization', `Bearer ${value}`]
  }
}
