import { text } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'

/** Arguments as they were given, before the tool's schema is known. */
export interface GivenArguments {
  readonly whole: JsonObject
  readonly pairs: readonly (readonly [key: string, value: string])[]
}

interface ArgumentSource {
  /** `-` reads stdin. */
  readonly json: string | undefined
  readonly pairs: readonly string[]
  readonly stdin: Readable
}

/** Reads `--args` and KEY=VALUE. */
export async function readArguments({ json, pairs, stdin }: ArgumentSource): Promise<GivenArguments> {
  const source = json === '-' ? await text(stdin) : json
  return { whole: source === undefined ? {} : parsed(source), pairs: pairs.map(pair) }
}

/** The arguments for the tool: a value is text where its schema says so, else JSON if it is JSON. */
export function argumentsFor({ whole, pairs }: GivenArguments, schema: JsonObject | undefined): JsonObject {
  const properties = isObject(schema?.['properties']) ? schema['properties'] : {}
  const values = pairs.map(
    ([key, value]) => [key, wantsText(properties[key]) ? value : jsonOrText(value)] as const,
  )
  return { ...whole, ...Object.fromEntries(values) }
}

function parsed(source: string): JsonObject {
  const value = parse(source)
  if (!isObject(value)) throw gatewayError('GW_USAGE', { what: '--args must be a JSON object' })
  return value
}

function parse(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch (thrown) {
    throw gatewayError('GW_USAGE', { what: `--args is not JSON: ${reasonOf(thrown)}` })
  }
}

function pair(given: string): readonly [string, string] {
  const at = given.indexOf('=')
  if (at < 1) throw gatewayError('GW_USAGE', { what: `"${given}" is not KEY=VALUE` })
  return [given.slice(0, at), given.slice(at + 1)]
}

function wantsText(property: unknown): boolean {
  if (!isObject(property)) return false
  const { type, enum: options } = property
  return type === 'string' || (Array.isArray(options) && options.every(option => typeof option === 'string'))
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
