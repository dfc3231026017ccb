import type { JsonObject } from './json/json.ts'
import { isObject } from './json/json.ts'
import { METHODS, HEADER, META } from './methods.ts'
import type { RpcError } from './rpc-error.ts'
import { RPC, rpcError } from './rpc-error.ts'

const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,9})?$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Encodes a value for `Mcp-Name` and `Mcp-Param-*`: plain if possible, else base64 with its sentinel. */
export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value) && !ENCODED.test(value)) return value
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`
}

/** Decodes such a value; undefined for invalid base64. */
export function decodeHeaderValue(value: string): string | undefined {
  const match = ENCODED.exec(value)
  if (match === null) return value
  const bytes = Buffer.from(match[1] ?? '', 'base64')
  return bytes.toString('base64') === match[1] ? bytes.toString('utf8') : undefined
}

/** Returns the required `Mcp-Name` value; undefined for methods without this header. */
function getNameHeader(method: string, params: JsonObject | undefined): string | undefined {
  const target = METHODS.get(method)?.target
  if (target === undefined || target === 'ref') return undefined
  const name = params?.[target]
  return typeof name === 'string' ? name : undefined
}

/** Creates the standard headers of a modern request (2026-07-28, Streamable HTTP). */
export function createStandardHeaders(
  method: string,
  params: JsonObject | undefined,
  version: string,
): Record<string, string> {
  const headers: Record<string, string> = { [HEADER.version]: version, [HEADER.method]: method }
  const name = getNameHeader(method, params)
  if (name !== undefined) headers[HEADER.name] = encodeHeaderValue(name)
  return headers
}

/** Finds the first header that contradicts the body of a modern request; undefined if they match. */
export function findHeaderMismatch(
  headers: Readonly<Record<string, string | undefined>>,
  method: string,
  params: JsonObject | undefined,
): RpcError | undefined {
  const meta = params?._meta
  const version = isObject(meta) ? meta[META.protocolVersion] : undefined
  return (
    compareHeader(HEADER.version, headers[HEADER.version], version) ??
    compareHeader(HEADER.method, headers[HEADER.method], method) ??
    compareName(headers[HEADER.name], method, params)
  )
}

function compareName(header: string | undefined, method: string, params: JsonObject | undefined): RpcError | undefined {
  const name = getNameHeader(method, params)
  if (name === undefined) return undefined
  return compareHeader(HEADER.name, header === undefined ? undefined : (decodeHeaderValue(header.trim()) ?? ''), name)
}

function compareHeader(header: string, value: string | undefined, expected: unknown): RpcError | undefined {
  const name = TITLES[header] ?? header
  if (value === undefined) return rpcError(RPC.headerMismatch, `Header mismatch: ${name} is missing`)
  if (value.trim() === expected) return undefined
  return rpcError(
    RPC.headerMismatch,
    `Header mismatch: ${name} header value '${value.trim()}' does not match body value '${String(expected)}'`,
  )
}

const TITLES: Readonly<Record<string, string>> = {
  [HEADER.version]: 'MCP-Protocol-Version',
  [HEADER.method]: 'Mcp-Method',
  [HEADER.name]: 'Mcp-Name',
}

/** Tool parameter mirrored in a header: path in the arguments and header suffix. */
export interface ParamHeader {
  readonly path: readonly string[]
  readonly header: string
  /** For integers, different spellings of one number are equal. */
  readonly isNumber: boolean
}

/**
 * Parses the `x-mcp-header` annotations of an input schema; undefined if one is invalid – HTTP clients must then drop
 * the tool (2026-07-28, Streamable HTTP, custom headers).
 */
export function parseParamHeaders(schema: unknown): readonly ParamHeader[] | undefined {
  const headers: ParamHeader[] = []
  const usedNames = new Set<string>()
  return collectParams(schema, [], headers, usedNames) ? headers : undefined
}

function collectParams(
  schema: unknown,
  path: readonly string[],
  headers: ParamHeader[],
  usedNames: Set<string>,
): boolean {
  if (!isObject(schema) || path.length > 16) return true
  const properties = isObject(schema.properties) ? schema.properties : {}
  for (const key of Object.keys(properties)) {
    const property = properties[key]
    if (!isObject(property)) continue
    const propertyPath = [...path, key]
    if (
      !collectAnnotated(property, propertyPath, headers, usedNames) ||
      !collectParams(property, propertyPath, headers, usedNames)
    )
      return false
  }
  return true
}

function collectAnnotated(
  property: JsonObject,
  path: readonly string[],
  headers: ParamHeader[],
  usedNames: Set<string>,
): boolean {
  if (!('x-mcp-header' in property)) return true
  const header = property['x-mcp-header']
  if (!isHeaderName(header) || usedNames.has(header.toLowerCase()) || !isHeaderType(property.type)) return false
  usedNames.add(header.toLowerCase())
  headers.push({ path, header, isNumber: property.type === 'integer' })
  return true
}

function isHeaderName(value: unknown): value is string {
  return typeof value === 'string' && TOKEN.test(value)
}

function isHeaderType(type: unknown): boolean {
  return type === 'string' || type === 'integer' || type === 'boolean'
}

/** Returns a call's `Mcp-Param-*` headers with lower-case names. Null and missing values have none. */
export function getParamHeaders(annotations: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { path, header } of annotations) {
    const value = path.reduce<unknown>(
      (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      args,
    )
    if (value !== undefined && value !== null)
      headers[HEADER.param + header.toLowerCase()] = encodeHeaderValue(String(value))
  }
  return headers
}

/** Finds the first `Mcp-Param-*` header that contradicts the arguments. Headers without an annotation are ignored. */
export function findParamMismatch(
  annotations: readonly ParamHeader[],
  headers: Readonly<Record<string, string | undefined>>,
  args: unknown,
): RpcError | undefined {
  const expected = getParamHeaders(annotations, args)
  for (const { header, isNumber } of annotations) {
    const name = HEADER.param + header.toLowerCase()
    const received = headers[name]
    const expectedValue = expected[name]
    if (received === undefined && expectedValue === undefined) continue
    const title = `Mcp-Param-${header}`
    if (received === undefined) return rpcError(RPC.headerMismatch, `Header mismatch: ${title} is missing`)
    if (
      expectedValue === undefined ||
      !isSameValue(decodeHeaderValue(received.trim()), decodeHeaderValue(expectedValue), isNumber)
    ) {
      return rpcError(RPC.headerMismatch, `Header mismatch: ${title} does not match the argument`)
    }
  }
  return undefined
}

function isSameValue(received: string | undefined, expected: string | undefined, isNumber: boolean): boolean {
  if (received === undefined || expected === undefined) return false
  return received === expected || (isNumber && isSameNumber(received, expected))
}

function isSameNumber(received: string, expected: string): boolean {
  return NUMBER.test(received) && Number(received) === Number(expected) && Number.isSafeInteger(Number(received))
}
