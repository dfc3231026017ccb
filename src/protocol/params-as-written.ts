import { randomUUID } from 'node:crypto'
import { isObject, type JsonObject } from './json/json.ts'
import { editObject, findValue } from './json/members.ts'
import { keepsNumbers } from './json/scalars.ts'
import { spliced } from './json/splice.ts'
import { unreadBytes, withMembers } from './unread-arguments.ts'
import type { Payload } from './payload.ts'

/** Parameters as they were written, where JavaScript would write them otherwise. */
interface Source {
  readonly bytes: Buffer
  /** The same with what is not read yet. */
  readonly whole: Buffer
  /** Undefined until somebody asks: a long number need not be an inexact one. */
  hasExactNumbers: boolean | undefined
}

const LINE_ENDS = /[\r\n]/g
/** Stands for arguments that are put in afterwards; nobody outside can write it. */
const PLACE = randomUUID()

const SOURCES = new WeakMap<JsonObject, Source>()

/** Remembers how parameters were written, for as long as somebody holds them; `areShort` where all of their numbers are short. */
export function rememberSource(params: JsonObject, bytes: Buffer, areShort: boolean, whole = bytes): void {
  SOURCES.set(params, { bytes, whole, hasExactNumbers: areShort ? true : undefined })
}

/** The value of a result that goes on as it was written, such as a client's reply to a server. */
export function valueAsWritten(payload: Payload): JsonObject {
  const value = payload.value()
  rememberSource(value, payload.bytes(), false)
  return value
}

/** Tells whether the numbers of parameters are the same to every reader; 2^53+1 and 1e400 are not to JavaScript. */
export function hasExactNumbers(params: JsonObject | undefined): boolean {
  const source = params === undefined ? undefined : SOURCES.get(params)
  return source === undefined || (source.hasExactNumbers ??= keepsNumbers(source.whole))
}

/** Parameters as JSON on one line. What is still as it was received is written as it was then, byte for byte. */
export function paramsText(params: JsonObject, received: JsonObject | undefined): string {
  return unreadPieces(params, received)?.join('') ?? textOf(params, received)
}

/** The same in three pieces, with large arguments that nobody has read as their bytes; undefined where there are none. */
export function unreadPieces(
  params: JsonObject,
  received: JsonObject | undefined,
): readonly [string, Buffer, string] | undefined {
  const bytes = unreadBytes(params)
  if (bytes === undefined) return undefined
  const text = textOf(withMembers(params, { arguments: PLACE }), received)
  const [before = '', after = ''] = text.split(JSON.stringify(PLACE))
  return [before, oneLine(bytes), after]
}

function textOf(params: JsonObject, received: JsonObject | undefined): string {
  const source = received === undefined ? undefined : SOURCES.get(received)
  return source === undefined ? JSON.stringify(params) : spliced(params, source.bytes)
}

/** Parameters with each number as the text it goes out as, for who repeats them elsewhere; as they are where JavaScript writes the same. */
export function withNumbersAsWritten(
  params: JsonObject | undefined,
  received: JsonObject | undefined,
): JsonObject | undefined {
  if (params === undefined || received === undefined || !SOURCES.has(received)) return params
  return JSON.parse(paramsText(params, received), numberAsWritten) as JsonObject
}

function numberAsWritten(_name: string, value: unknown, place?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? place?.source : value
}

/** Parameters of the call that stood in the arguments of another one; what is an object of those goes on as it was written. */
export function carriedParams(
  params: JsonObject,
  received: JsonObject | undefined,
  call: { readonly name: string; readonly arguments: JsonObject },
): JsonObject {
  const carried = { ...params, name: call.name, arguments: call.arguments }
  const source = received === undefined ? undefined : SOURCES.get(received)
  const inner =
    source === undefined ? undefined : writtenWithin(received?.arguments, source.bytes, call.arguments)
  if (source === undefined || inner === undefined) return carried
  const own = `"name":${JSON.stringify(call.name)},"arguments":${inner.toString('utf8')}`
  const bytes = editObject(source.bytes, new Set(['name', 'arguments']), own)
  rememberSource(carried, bytes, source.hasExactNumbers === true)
  return carried
}

/** The text of a value that is a member of the arguments. */
function writtenWithin(args: unknown, params: Buffer, value: JsonObject): Buffer | undefined {
  if (!isObject(args)) return undefined
  const key = Object.keys(args).find(name => args[name] === value)
  const text = key === undefined ? undefined : findValue(params, 'arguments')
  return key === undefined || text === undefined ? undefined : findValue(text, key)
}

/** JSON on one line: what ends a line stands between values only. */
export function oneLine(bytes: Buffer): Buffer {
  if (!bytes.includes('\n') && !bytes.includes('\r')) return bytes
  return Buffer.from(bytes.toString('latin1').replace(LINE_ENDS, ' '), 'latin1')
}
