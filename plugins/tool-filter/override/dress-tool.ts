import { isObject, type JsonObject, pointerKeys } from '../../../src/plugin.ts'
import type { Override } from './overrides.ts'

/** Dressed tools by what servers said, so that the same words make the same object: lists are compared by it. */
const DRESSED = new WeakMap<Override, WeakMap<JsonObject, JsonObject>>()

/** A tool as its owner describes it. */
export function dressTool(value: JsonObject, override: Override): JsonObject {
  let known = DRESSED.get(override)
  if (known === undefined) DRESSED.set(override, (known = new WeakMap<JsonObject, JsonObject>()))
  let made = known.get(value)
  if (made === undefined) known.set(value, (made = dressed(value, override)))
  return made
}

function dressed(value: JsonObject, override: Override): JsonObject {
  const { title, annotations, icons, texts = {} } = override
  const made: JsonObject = { ...value }
  if (title !== undefined) made.title = title
  if (annotations !== undefined && Object.keys(annotations).length > 0)
    made.annotations = { ...(isObject(value.annotations) ? value.annotations : {}), ...annotations }
  if (icons !== undefined) made.icons = icons
  const { inputSchema } = value
  if (!isObject(inputSchema)) return made
  const described = Object.entries(texts).reduce(withText, inputSchema)
  made.inputSchema = override.arguments?.shown(described) ?? described
  return made
}

/** A schema with another text at one place; the very same where the place is not there. */
function withText(schema: JsonObject, [pointer, text]: [string, string]): JsonObject {
  return describedAt(schema, pointerKeys(pointer), text) ?? schema
}

function describedAt(schema: unknown, steps: readonly string[], text: string): JsonObject | undefined {
  if (!isObject(schema)) return undefined
  const [step, ...rest] = steps
  if (step === undefined) return { ...schema, description: text }
  const part = Object.hasOwn(schema, step) ? schema[step] : undefined
  if (Array.isArray(part)) return describedInList(schema, step, part, rest, text)
  const made = describedAt(part, rest, text)
  return made && { ...schema, [step]: made }
}

function describedInList(
  schema: JsonObject,
  step: string,
  list: readonly unknown[],
  [index = '', ...rest]: readonly string[],
  text: string,
): JsonObject | undefined {
  const made = describedAt(list[Number(index)], rest, text)
  return made && { ...schema, [step]: list.with(Number(index), made) }
}

/** True if a schema has something at this place that a text can be about. */
export function hasPlace(schema: JsonObject, pointer: string): boolean {
  return describedAt(schema, pointerKeys(pointer), '') !== undefined
}
