import { isUtf8 } from 'node:buffer'
import type { EncodedMessage } from '../util/messages.ts'
import { ByteText, getByteLength, BOM_LENGTH, hasBom, stripBom } from '../util/messages.ts'
import type { JsonObject } from './json/json.ts'
import {
  isDeeperThan,
  isObject,
  findMistakableName,
  getNumberText,
  parseJson,
  rawJSON,
  stringifyJson,
} from './json/json.ts'
import { isValidValue, MAX_DEPTH, OPEN_ARRAY, OPEN_OBJECT } from './json/scan-json.ts'
import { Payload, readReply, readResult } from './payload.ts'
import type { RpcError } from './rpc-error.ts'
import { RPC, rpcError } from './rpc-error.ts'
import type { Era } from './methods.ts'

const LONG_ID = /^-?\d+$/
/** Maximum numeric id digits; parsing longer numbers is slow. */
const MAX_ID_DIGITS = 100

/** JSON-RPC request id; a `bigint` if a `number` cannot represent it exactly. */
export type RpcId = string | number | bigint

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject | undefined
  /** Message size. */
  readonly bytes: number
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: JsonObject | undefined
}

export interface RpcResponse {
  readonly kind: 'response'
  /** null if the peer could not read our id. */
  readonly id: RpcId | null
  readonly result: Payload | undefined
  /** Modern `resultType`; complete if absent. */
  readonly resultType: string | undefined
  readonly error: RpcError | undefined
}

/** Rejected message: the error to return, and the id if known. */
export interface MalformedMessage {
  readonly kind: 'malformed'
  readonly id: RpcId | null
  readonly error: RpcError
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse | MalformedMessage

/** A message that is no longer cannot nest too deep. */
const MIN_DEEP = 2 * MAX_DEPTH

/**
 * Parses a client's JSON-RPC message: UTF-8, one JSON object that nests at most 64 levels, `"jsonrpc": "2.0"`, a
 * string or number as id. For duplicate names the last value is used, and only that one is forwarded.
 */
export function parseMessage(bytes: Buffer): RpcMessage {
  const text = stripBom(bytes)
  if (!isUtf8(text)) return createMalformed(RPC.parse, 'Parse error: the text is not UTF-8')
  let message: unknown
  try {
    message = parseJson(text.toString('utf8'))
  } catch (error) {
    return createMalformed(RPC.parse, `Parse error: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (!isObject(message)) return createMalformed(RPC.invalidRequest, 'Invalid request: not a JSON object')
  if (text.length > MIN_DEEP && isDeeperThan(message, MAX_DEPTH))
    return createMalformed(RPC.invalidRequest, `Invalid request: nested deeper than ${MAX_DEPTH}`)
  return interpret(message, bytes.length)
}

/** Longer messages are checked before they are parsed, as refusing them costs less then. */
const MAX_UNCHECKED = 64 * 1024

/**
 * Parses a server's JSON-RPC message with the same rules. Results stay bytes. A long message has at most 10^6 names and
 * values.
 */
export function parseServerMessage(received: Buffer, era?: Era): RpcMessage {
  const bytes = stripBom(received)
  if (!isUtf8(bytes)) return createMalformed(RPC.parse, 'Parse error: the text is not UTF-8')
  const reply = readReply(bytes, era)
  if (reply !== undefined) return { kind: 'response', error: undefined, ...reply }
  if (bytes.length > MAX_UNCHECKED && !isValidValue(bytes))
    return createMalformed(RPC.parse, 'Parse error: invalid JSON, nested too deep, or too many names and values')
  const message = parseMessage(bytes)
  if (message.kind !== 'response' || message.result === undefined) return message
  const result = message.result.value()
  return { ...message, ...readResult(Buffer.from(stringifyJson(result, result)), era, true) }
}

/** Returns true if the first character opens a JSON-RPC batch (2025-03-26 only). */
export function isBatch(bytes: Buffer): boolean {
  return startsWithBracket(bytes, OPEN_ARRAY)
}

/** Returns true if the first character opens a JSON object. */
export function isObjectText(bytes: Buffer): boolean {
  return startsWithBracket(bytes, OPEN_OBJECT)
}

function startsWithBracket(bytes: Buffer, bracket: number): boolean {
  const at = skipLeadingSpace(bytes)
  return at < bytes.length && bytes[at] === bracket
}

/** Returns the index of the first non-whitespace byte. An index loop, as an iterator would be much slower. */
function skipLeadingSpace(bytes: Buffer): number {
  let at = hasBom(bytes) ? BOM_LENGTH : 0
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++
  return at
}

/** Encodes a response and splices in the result's bytes. */
export function encodeResult(id: RpcId, result: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${encodeId(id)},"result":`), result, CLOSE])
}

const CLOSE = Buffer.from('}')

/** Larger results are faster as bytes than as text. */
const MAX_TEXT = 4 * 1024

/** Larger results stay a separate piece. */
const MAX_COPIED = 32 * 1024

/** Encodes a response without copying a large result, which may be in pieces. */
export function writeResult(id: RpcId, from: Buffer | readonly Buffer[]): Exclude<EncodedMessage, string> {
  if (getByteLength(from) > MAX_COPIED) return encodeResultPieces(id, from)
  const result = Buffer.isBuffer(from) ? from : Buffer.concat(from)
  if (result.length > MAX_TEXT) return encodeResult(id, result)
  const text = `{"jsonrpc":"2.0","id":${encodeId(id)},"result":`
  // Non-ASCII ids have more bytes than characters.
  if (typeof id === 'string' && Buffer.byteLength(text) > text.length) return encodeResult(id, result)
  return new ByteText(`${text}${result.toString('latin1')}}`)
}

function encodeResultPieces(id: RpcId, result: Buffer | readonly Buffer[]): readonly Buffer[] {
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${encodeId(id)},"result":`)
  return Buffer.isBuffer(result) ? [head, result, CLOSE] : [head, ...result, CLOSE]
}

export function encodeError(id: RpcId | null, error: RpcError): string {
  return `{"jsonrpc":"2.0","id":${id === null ? 'null' : encodeId(id)},"error":${JSON.stringify(error)}}`
}

/** Encodes a request; numbers unchanged from `received`, the original parameters, keep their text. */
export function encodeRequest(
  id: RpcId,
  method: string,
  params: JsonObject | undefined,
  received?: JsonObject,
): string {
  const tail = params === undefined ? '' : `,"params":${stringifyJson(params, received)}`
  return `${encodeRequestHead(id, method)}${tail}}`
}

function encodeRequestHead(id: RpcId, method: string): string {
  return `{"jsonrpc":"2.0","id":${encodeId(id)},"method":${encodeMethod(method)}`
}

/** Cache of the last method, as consecutive requests often have the same one. */
let lastMethod = ''
let lastQuoted = '""'

function encodeMethod(method: string): string {
  if (method !== lastMethod) {
    lastQuoted = JSON.stringify(method)
    lastMethod = method
  }
  return lastQuoted
}

export function encodeNotification(method: string, params: JsonObject | undefined): string {
  const tail = params === undefined ? '' : `,"params":${stringifyJson(params, params)}`
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${tail}}`
}

/** Encodes an id as JSON text. */
export function encodeId(id: RpcId): string {
  return typeof id === 'string' ? JSON.stringify(id) : String(id)
}

/** Converts an id to a value for `JSON.stringify`. */
export function toJsonId(id: RpcId): string | number | object {
  return typeof id === 'bigint' ? rawJSON(String(id)) : id
}

function interpret(message: JsonObject, bytes: number): RpcMessage {
  const id = readId(message)
  const replyId = id ?? null
  if (message.jsonrpc !== '2.0')
    return createMalformed(RPC.invalidRequest, 'Invalid request: "jsonrpc" must be "2.0"', replyId)
  if ('method' in message) return interpretCall(message, id, bytes)
  if ('result' in message === 'error' in message)
    return createMalformed(RPC.invalidRequest, 'Invalid request: neither a request nor a response', replyId)
  if ('error' in message) return createRpcResponse(replyId, { error: parseError(message.error) })
  if (!isObject(message.result))
    return createMalformed(RPC.invalidRequest, 'Invalid request: "result" must be an object', replyId)
  return createRpcResponse(replyId, { result: Payload.of(message.result) })
}

function interpretCall(message: JsonObject, id: RpcId | null | undefined, bytes: number): RpcMessage {
  const problem = findCallProblem(message)
  if (problem !== undefined) return createMalformed(RPC.invalidRequest, `Invalid request: ${problem}`, id ?? null)
  const method = message.method as string
  const params = (message.params ?? undefined) as JsonObject | undefined
  if (!('id' in message)) return { kind: 'notification', method, params }
  if (id === null || id === undefined)
    return createMalformed(RPC.invalidRequest, 'Invalid request: "id" must be a string or a number')
  return { kind: 'request', id, method, params, bytes }
}

function findCallProblem(message: JsonObject): string | undefined {
  const { method, params } = message
  if ('result' in message || 'error' in message) return 'both a request and a response'
  if (typeof method !== 'string') return '"method" must be a string'
  if (params === undefined || params === null) return undefined
  if (!isObject(params)) return '"params" must be an object'
  const odd = findMistakableMember(params)
  return odd === undefined
    ? undefined
    : `ambiguous member "${odd}" in "params": may be mistaken for "${String(findMistakableName(odd))}"`
}

/** Finds a member that case-insensitive servers would mistake for one that policies checked. */
function findMistakableMember(params: JsonObject): string | undefined {
  for (const name in params) if (findMistakableName(name) !== undefined) return name
  return undefined
}

function createRpcResponse(id: RpcId | null, outcome: Partial<Pick<RpcResponse, 'result' | 'error'>>): RpcResponse {
  return { kind: 'response', id, result: undefined, resultType: undefined, error: undefined, ...outcome }
}

/** Converts a number to an id, as a `bigint` if JavaScript would round it. */
function toExactId(id: number, text: string): RpcId | undefined {
  if (Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id))) return id
  return text.length <= MAX_ID_DIGITS && LONG_ID.test(text) ? BigInt(text) : undefined
}

/** Returns the message id or null; undefined for an invalid type. */
function readId(message: JsonObject): RpcId | null | undefined {
  const { id } = message
  if (typeof id === 'string' || id === null) return id
  if (typeof id !== 'number') return undefined
  return toExactId(id, getNumberText(message, 'id') ?? String(id))
}

function parseError(value: unknown): RpcError {
  if (isObject(value) && typeof value.code === 'number' && typeof value.message === 'string')
    return value as unknown as RpcError
  return rpcError(RPC.internal, 'the server returned an invalid error object', value)
}

function createMalformed(code: number, message: string, id: RpcId | null = null): MalformedMessage {
  return { kind: 'malformed', id, error: rpcError(code, message) }
}

/**
 * Parses parameters without an enclosing message, with the same rules.
 * @throws Error if they are invalid JSON, nest too deeply, or have an ambiguous member name
 */
export function parseParams(bytes: Buffer): JsonObject | undefined {
  if (!isUtf8(bytes)) throw new Error('the text is not UTF-8')
  const params = parseJson(bytes.toString('utf8')) ?? undefined
  if (isObject(params) && isDeeperThan(params, MAX_DEPTH - 1)) throw new Error(`nested deeper than ${MAX_DEPTH}`)
  const problem = findCallProblem({ method: '', params })
  if (problem !== undefined) throw new Error(problem)
  return params as JsonObject | undefined
}

const VERSION_MEMBER = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*`
const ID_MEMBER = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*`
const OUTCOME_MEMBER = String.raw`"(?:result|error)"\s*:`
/** The start of a reply with its id, the start of any reply, and the end of a reply with its id. */
const HEAD_WITH_ID = new RegExp(
  String.raw`^\s*\{\s*(?:${VERSION_MEMBER},\s*)?${ID_MEMBER},\s*(?:${VERSION_MEMBER},\s*)?${OUTCOME_MEMBER}`,
)
const HEAD = new RegExp(String.raw`^\s*\{\s*(?:${VERSION_MEMBER},\s*)?${OUTCOME_MEMBER}`)
const TAIL = new RegExp(String.raw`${ID_MEMBER}(?:,\s*${VERSION_MEMBER})?\}\s*$`)
const MAX_HEAD = 512

/**
 * Finds the request id in a reply that is invalid, or of which only the two ends are available: undefined if it is not
 * a reply, null if its id is unknown.
 */
export function findReplyId(head: Buffer, tail = head): RpcId | null | undefined {
  const start = head.toString('latin1', 0, MAX_HEAD)
  const own = HEAD_WITH_ID.exec(start)
  if (own === null && !HEAD.test(start)) return undefined
  const id = own?.[1] ?? TAIL.exec(tail.toString('latin1', Math.max(0, tail.length - MAX_HEAD)))?.[1]
  return id === undefined ? null : (JSON.parse(id) as RpcId)
}
