import type { Json } from '../../types.ts'
import { exactJson, exactNumber, isNumberText, Wrong } from './exact-json.ts'
import { type Field, fieldOf, isObject, textOf } from './fields.ts'

/** Texts of fields by their paths. */
export type Values = Readonly<Record<string, string>>

/** Path of all arguments as JSON, for who would rather write them. */
export const RAW = '#json'

/** The values of a form as its schema wants them, or what is wrong. */
export function filledIn(schema: unknown, values: Values): Json | string {
  try {
    const raw = values[RAW]
    if (raw !== undefined) return objectIn(raw)
    const found = valueOf(fieldOf(schema), values)
    return isObject(found) ? found : {}
  } catch (error) {
    if (error instanceof Wrong) return error.message
    throw error
  }
}

/** The text that a field shows: what was typed, or the default. */
export function shownIn({ path, kind, usual }: Field, values: Values): string {
  const typed = values[path]
  if (typed !== undefined) return typed
  if (kind.is === 'lines' && Array.isArray(usual)) return usual.map(textOf).join('\n')
  return textOf(usual)
}

/** The variant that is chosen. */
export function chosenIn({ path, kind }: Field, values: Values): Field | undefined {
  return kind.is === 'variants' ? kind.variants[Number(values[path] ?? 0)] : undefined
}

/** Undefined where nothing is filled in. */
function valueOf(field: Field, values: Values): unknown {
  const { kind, isRequired } = field
  if (kind.is === 'group') return groupOf(kind.fields, field, values)
  const variant = chosenIn(field, values)
  if (variant !== undefined) return valueOf({ ...variant, isRequired }, values)
  const text = shownIn(field, values)
  // Only a text may be empty and there.
  if (text === '') return isRequired ? emptyOf(field) : undefined
  if (kind.is === 'choice') return choiceOf(field, kind, text)
  if (kind.is === 'lines') return linesIn(text).map(line => (kind.isNumber ? numberIn(line, field) : line))
  if (kind.is === 'number') return numberIn(text, field)
  return kind.is === 'json' ? jsonIn(text, field) : text
}

function groupOf(fields: readonly Field[], { path, isRequired }: Field, values: Values): unknown {
  const found: [string, unknown][] = []
  const isTouched =
    path === '' ||
    isRequired ||
    Object.keys(values).some(key => key.startsWith(`${path}/`) && values[key] !== '')
  // A group that nobody fills in, and nothing asks for, is left out with all that it would ask for.
  if (!isTouched) return undefined
  for (const field of fields) {
    const value = valueOf(field, values)
    if (value !== undefined) found.push([field.name, value])
  }
  return Object.fromEntries(found)
}

function emptyOf({ kind, title }: Field): unknown {
  if (kind.is === 'text' && !('minLength' in kind.limits)) return ''
  if (kind.is === 'lines' || (kind.is === 'choice' && kind.isMany)) return []
  throw new Wrong(`“${title}” is needed`)
}

function choiceOf(
  field: Field,
  { options, isMany }: Extract<Field['kind'], { is: 'choice' }>,
  text: string,
): unknown {
  if (isMany) return jsonIn(text, field)
  const option = options.find(({ value }) => textOf(value) === text)
  if (option === undefined) throw new Wrong(`“${field.title}” is none of those`)
  return option.value
}

function numberIn(text: string, { kind, title }: Field): unknown {
  const number = Number(text)
  const isRight = text.trim() !== '' && Number.isFinite(number)
  if (!isRight || (kind.is === 'number' && kind.isWhole && !Number.isInteger(number)))
    throw new Wrong(
      `“${title}” is no ${kind.is === 'number' && kind.isWhole ? 'whole number' : 'number'}: ${text}`,
    )
  return exactNumber(text.trim())
}

function jsonIn(text: string, { title, says }: Field): unknown {
  try {
    return exactJson(text)
  } catch (error) {
    if (error instanceof Wrong) throw error
    // A schema that names no type takes a text, too.
    if (says === 'JSON') return text
    throw new Wrong(`“${title}” is no JSON`)
  }
}

function objectIn(text: string): Json {
  try {
    const value = exactJson(text.trim() === '' ? '{}' : text)
    if (isObject(value) && !isNumberText(value)) return value
  } catch (error) {
    if (error instanceof Wrong) throw error
    // Said below.
  }
  throw new Wrong('the arguments are no JSON object')
}

function linesIn(text: string): string[] {
  return text.split('\n').filter(line => line.trim() !== '')
}
