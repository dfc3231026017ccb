import { createInterface, type Interface } from 'node:readline/promises'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { plainText } from '../../util/plain-text.ts'
import type { Host } from '../host.ts'

/** Stands for input that does not fit, and is asked for again. */
const WRONG = Symbol('wrong')

/** A form, filled in at the terminal; undefined when it is declined. Ctrl-C declines, and is heard by the process too. */
export async function filledIn(
  schema: unknown,
  host: Host,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  const lines = createInterface({ input: host.stdin, output: host.stderr })
  const given = new AbortController()
  signal?.addEventListener('abort', () => given.abort(), { once: true })
  // Of a terminal in raw mode only readline hears of it.
  lines.once('SIGINT', () => {
    given.abort()
    host.emit('SIGINT')
  })
  lines.once('close', () => given.abort())
  try {
    return await filled(schema, lines, given.signal)
  } catch (error) {
    if (given.signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}

async function filled(
  schema: unknown,
  lines: Interface,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const { properties, required } = isObject(schema) ? schema : ({} as JsonObject)
  const needed = new Set(Array.isArray(required) ? (required as unknown[]) : [])
  // Where nothing must be filled in, an empty line is no answer yet.
  if (needed.size === 0 && !/^y(es)?$/i.test((await lines.question('accept? [y, N]: ', { signal })).trim()))
    return undefined
  const content: JsonObject = {}
  for (const [key, property] of Object.entries(isObject(properties) ? properties : {})) {
    const value = await valueFor(key, property, needed.has(key), lines, signal)
    if (value !== undefined) content[key] = value
    else if (needed.has(key)) return undefined
  }
  return content
}

async function valueFor(
  key: string,
  property: unknown,
  isNeeded: boolean,
  lines: Interface,
  signal: AbortSignal,
): Promise<unknown> {
  const choices = choicesOf(property)
  const shown = choices === undefined ? '' : ` [${plainText(choices.map(String).join(', '))}]`
  for (;;) {
    const prompt = `${plainText(key)}${shown} (empty ${isNeeded ? 'declines' : 'leaves it out'}): `
    const text = (await lines.question(prompt, { signal })).trim()
    if (text === '') return undefined
    const value = valueOf(text, property, choices)
    if (value !== WRONG) return value
  }
}

/** Of an unknown shape is what an agent asks: only plain values can be shown and typed. */
function choicesOf(property: unknown): readonly unknown[] | undefined {
  if (!isObject(property)) return undefined
  const { enum: values, oneOf } = property
  const named = Array.isArray(oneOf) ? oneOf.filter(isObject).map(one => one.const) : undefined
  const choices = Array.isArray(values) ? (values as unknown[]) : named
  return choices?.filter(choice => typeof choice !== 'object')
}

function valueOf(text: string, property: unknown, choices: readonly unknown[] | undefined): unknown {
  if (choices !== undefined) return choices.find(choice => String(choice) === text) ?? WRONG
  const type = isObject(property) ? property.type : undefined
  if (type === 'boolean') return yesOrNo(text)
  if (type !== 'number' && type !== 'integer') return text
  const number = Number(text)
  const isFit = type === 'number' ? Number.isFinite(number) : Number.isInteger(number)
  return isFit ? number : WRONG
}

function yesOrNo(text: string): unknown {
  if (/^(y|yes|true)$/i.test(text)) return true
  return /^(n|no|false)$/i.test(text) ? false : WRONG
}
