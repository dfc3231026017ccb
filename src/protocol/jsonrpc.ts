import { isUtf8 } from 'node:buffer'
import { Envelope } from './envelope.ts'
import { OPEN_ARRAY, OPEN_OBJECT, ScanError } from './json/scan.ts'
import { isObject, type JsonObject } from './json/json.ts'
import { paramsText, rememberSource, unreadPieces } from './params-as-written.ts'
import { Payload } from './payload.ts'
import { RPC, rpcError, type RpcError } from './rpc-error.ts'
import type { Era } from './versions.ts'
import { BOM_LENGTH, hasBom, withoutBom } from './json/bom.ts'
import { ByteText, lengthOf, type Written } from '../util/written.ts'
import { checkJson } from './json/check.ts'
import { putUnread, UnreadArguments } from './unread-arguments.ts'

const HEAD = Buffer.from('{"jsonrpc":"2.0","method":"","params":')

const TAIL = Buffer.from('}')

const NO_ARGUMENTS = Buffer.from('{}')

const LONG_ID = /^-?\d+$/
/** Most characters of an id that is a number: to read and to write a longer one takes time. */
const MAX_ID_DIGITS = 100

/** Id of a JSON-RPC request; a whole number that a `number` cannot hold exactly is a `bigint`. */
export type RpcId = string | number | bigint

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  /** Length of the message. */
  readonly bytes: number
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject | undefined
}

export interface RpcResponse {
  readonly kind: 'response'
  /** null where the peer could not read our id. */
  readonly id: RpcId | null
  readonly result: Payload | undefined
  /** The modern `resultType` when the result has one; absent means complete. */
  readonly resultType: string | undefined
  readonly error: RpcError | undefined
}

/** Message that is refused: the error to answer with, and the id where it could be read. */
export interface Malformed {
  readonly kind: 'malformed'
  readonly id: RpcId | null
  readonly error: RpcError
}

export type Message = RpcRequest | RpcNotification | RpcResponse | Malformed

/**
 * Reads one JSON-RPC message under the strict envelope: UTF-8, one JSON object, depth ≤ 64, no more than 10^6 names and
 * values, no name twice in the envelope or in `params`, `"jsonrpc": "2.0"`, an id that is a string or a number. What is
 * refused is never parsed. A result stays bytes, which are proven to be JSON.
 */
export function parseMessage(bytes: Buffer, era?: Era): Message {
  return read(bytes, era, always) ?? malformed(RPC.internal, 'Internal error')
}

/**
 * The same for who must have room for what is parsed: `mayHold` is told how many names and values there are before any is. Where
 * it says no, there is no message.
 */
export function parseHeld(bytes: Buffer, mayHold: (values: number) => boolean): Message | undefined {
  return read(bytes, undefined, mayHold)
}

function always(): boolean {
  return true
}

function read(
  received: Buffer,
  era: Era | undefined,
  mayHold: (values: number) => boolean,
): Message | undefined {
  const bytes = withoutBom(received)
  if (!isUtf8(bytes)) return malformed(RPC.parse, 'Parse error: the text is not UTF-8')
  try {
    const values = envelope.scan(bytes)
    return mayHold(values) ? interpret(bytes, era) : undefined
  } catch (error) {
    if (error instanceof ScanError) return refusedAs(error)
    throw error
  } finally {
    envelope.clear()
  }
}

function refusedAs({ isSyntax, message }: ScanError): Malformed {
  return isSyntax
    ? malformed(RPC.parse, `Parse error: ${message}`)
    : malformed(RPC.invalidRequest, `Invalid request: ${message}`)
}

/** Tells whether the first character of a message opens a JSON-RPC batch (2025-03-26 only). */
export function isBatch(bytes: Buffer): boolean {
  return opensWith(bytes, OPEN_ARRAY)
}

/** Tells whether the first character of a text opens a JSON object. */
export function isObjectText(bytes: Buffer): boolean {
  return opensWith(bytes, OPEN_OBJECT)
}

function opensWith(bytes: Buffer, bracket: number): boolean {
  const at = skipBlank(bytes)
  return at < bytes.length && bytes[at] === bracket
}

/** Index of the first byte that may mean something. By an index, as an iterator would cost as much as the rest. */
function skipBlank(bytes: Buffer): number {
  let at = hasBom(bytes) ? BOM_LENGTH : 0
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++
  return at
}

/** The message that answers a request with a result, the result's bytes spliced in as they are. */
export function encodeResult(id: RpcId, result: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${encodeId(id)},"result":`), result, CLOSE])
}

const CLOSE = Buffer.from('}')

/** Results above this cost more as text than as bytes. */
const MAX_TEXT = 4 * 1024

/** Results above this stay a piece of their own. */
const MAX_COPIED = 32 * 1024

/** The same message, written without a copy of a large result, which may be in pieces. */
export function writeResult(id: RpcId, from: Buffer | readonly Buffer[]): Exclude<Written, string> {
  if (lengthOf(from) > MAX_COPIED) return pieces(id, from)
  const result = Buffer.isBuffer(from) ? from : Buffer.concat(from)
  if (result.length > MAX_TEXT) return encodeResult(id, result)
  const text = `{"jsonrpc":"2.0","id":${encodeId(id)},"result":`
  // An id of other characters than ASCII has more bytes than characters.
  if (typeof id === 'string' && Buffer.byteLength(text) > text.length) return encodeResult(id, result)
  return new ByteText(`${text}${result.toString('latin1')}}`)
}

function pieces(id: RpcId, result: Buffer | readonly Buffer[]): readonly Buffer[] {
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${encodeId(id)},"result":`)
  return Buffer.isBuffer(result) ? [head, result, CLOSE] : [head, ...result, CLOSE]
}

export function encodeError(id: RpcId | null, error: RpcError): string {
  return `{"jsonrpc":"2.0","id":${id === null ? 'null' : encodeId(id)},"error":${JSON.stringify(error)}}`
}

/** A request as it goes out; `received` are the parameters that its own were made from. */
export function encodeRequest(
  id: RpcId,
  method: string,
  params: JsonObject | undefined,
  received?: JsonObject,
): string {
  const tail = params === undefined ? '' : `,"params":${paramsText(params, received)}`
  return `${requestHead(id, method)}${tail}}`
}

/** The same, written without a copy of large arguments that nobody has read. */
export function writeRequest(
  id: RpcId,
  method: string,
  params: JsonObject | undefined,
  received?: JsonObject,
): Written {
  const pieces = params === undefined ? undefined : unreadPieces(params, received)
  if (pieces === undefined) return encodeRequest(id, method, params, received)
  const [before, unread, after] = pieces
  return [Buffer.from(`${requestHead(id, method)},"params":${before}`), unread, Buffer.from(`${after}}`)]
}

function requestHead(id: RpcId, method: string): string {
  return `{"jsonrpc":"2.0","id":${encodeId(id)},"method":${quoted(method)}`
}

/** The last method that was written, which most of the time is the next one too. */
let lastMethod = ''
let lastQuoted = '""'

function quoted(method: string): string {
  if (method !== lastMethod) {
    lastQuoted = JSON.stringify(method)
    lastMethod = method
  }
  return lastQuoted
}

export function encodeNotification(method: string, params: JsonObject | undefined): string {
  const tail = params === undefined ? '' : `,"params":${paramsText(params, params)}`
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${tail}}`
}

/** An id as JSON text. */
export function encodeId(id: RpcId): string {
  return typeof id === 'string' ? JSON.stringify(id) : String(id)
}

/** Parts of the language that its types do not name yet. */
const Exact = JSON as unknown as { rawJSON(text: string): object }

/** An id as a member of what `JSON.stringify` writes. */
export function idAsJson(id: RpcId): string | number | object {
  return typeof id === 'bigint' ? Exact.rawJSON(String(id)) : id
}

/** Of the message that is being read. */
const envelope = new Envelope()

function interpret(bytes: Buffer, era: Era | undefined): Message {
  const id = readId()
  const known = id ?? null
  if (!envelope.isVersion2())
    return malformed(RPC.invalidRequest, 'Invalid request: "jsonrpc" must be "2.0"', known)
  return envelope.has('method') ? interpretCall(bytes, id) : interpretResponse(bytes, known, era)
}

function interpretCall(bytes: Buffer, id: RpcId | null | undefined): Message {
  const method = envelope.method()
  const params = readParams(bytes)
  const known = id ?? null
  if (envelope.has('result') || envelope.has('error'))
    return malformed(RPC.invalidRequest, 'Invalid request: both a call and a response', known)
  if (typeof method !== 'string')
    return malformed(RPC.invalidRequest, 'Invalid request: "method" must be a string', known)
  if (params !== undefined && !isObject(params))
    return malformed(RPC.invalidRequest, 'Invalid request: "params" must be an object', known)
  if (!envelope.has('id')) return { kind: 'notification', method, params }
  if (id === null || id === undefined)
    return malformed(RPC.invalidRequest, 'Invalid request: "id" must be a string or a number')
  return { kind: 'request', id, method, params, bytes: bytes.length }
}

/** The parameters, null as if absent, with how they were written where JavaScript would write them otherwise. */
function readParams(bytes: Buffer): unknown {
  if (envelope.hasLargeArguments) return largeParams(bytes)
  const params = envelope.value('params')
  if (isObject(params) && envelope.isRewritten)
    rememberSource(params, envelope.bytes('params'), envelope.isExact)
  return params ?? undefined
}

/** Parameters whose arguments are parsed when somebody reads them; until then they are remembered without. */
function largeParams(bytes: Buffer): JsonObject {
  const { argumentsStart: start, argumentsEnd: end, isRewritten, isExact } = envelope
  const before = bytes.subarray(envelope.start('params'), start)
  const rest = Buffer.concat([before, NO_ARGUMENTS, bytes.subarray(end, envelope.end('params'))])
  const params = JSON.parse(rest.toString('utf8')) as JsonObject
  const whole = envelope.bytes('params')
  const remember = (source: Buffer): void => {
    if (isRewritten) rememberSource(params, source, isExact, whole)
  }
  remember(rest)
  putUnread(params, new UnreadArguments(bytes.subarray(start, end), () => remember(whole)))
  return params
}

function interpretResponse(bytes: Buffer, id: RpcId | null, era: Era | undefined): Message {
  const start = envelope.start('result')
  const hasError = envelope.has('error')
  if (start >= 0 === hasError)
    return malformed(RPC.invalidRequest, 'Invalid request: neither a call nor a response', id)
  if (hasError) {
    const error = asError(envelope.value('error'))
    return { kind: 'response', id, result: undefined, resultType: undefined, error }
  }
  if (bytes[start] !== OPEN_OBJECT)
    return malformed(RPC.invalidRequest, 'Invalid request: "result" must be an object', id)
  const slice = bytes.subarray(start, envelope.end('result'))
  const resultType = era === 'legacy' ? undefined : textOf(envelope.resultType())
  const result = Payload.raw(slice, era, envelope.isToolError)
  if (envelope.hasWrongType || !envelope.hasList || (envelope.hasWrongStructure && era !== 'modern'))
    result.isUnusual = true
  return { kind: 'response', id, result, resultType, error: undefined }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function readId(): RpcId | null | undefined {
  const id = envelope.id()
  if (typeof id === 'string' || (typeof id === 'number' && isExact(id))) return id
  return id === null ? null : readLongId()
}

/** A whole number that JavaScript would change; undefined for any other value. */
function readLongId(): bigint | undefined {
  if (!envelope.has('id')) return undefined
  const text = envelope.bytes('id')
  if (text.length > MAX_ID_DIGITS) return undefined
  const digits = text.toString('latin1')
  return LONG_ID.test(digits) ? BigInt(digits) : undefined
}

/** A whole number that JavaScript would change cannot be given back as it came. */
function isExact(id: number): boolean {
  return Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id))
}

function asError(value: unknown): RpcError {
  if (isObject(value) && typeof value.code === 'number' && typeof value.message === 'string')
    return value as unknown as RpcError
  return rpcError(RPC.internal, 'the server answered with an error of no known shape', value)
}

function malformed(code: number, message: string, id: RpcId | null = null): Malformed {
  return { kind: 'malformed', id, error: rpcError(code, message) }
}

/**
 * Reads parameters that come without a message around them, under the same rules as those in one.
 * @throws Error when they are no JSON, nest too deep, are too many, or have a name twice.
 */
export function parseParams(bytes: Buffer): JsonObject | undefined {
  checkJson(bytes)
  const message = parseMessage(Buffer.concat([HEAD, bytes, TAIL]))
  if (message.kind !== 'notification')
    throw new Error(message.kind === 'malformed' ? message.error.message : 'no parameters')
  return message.params
}
