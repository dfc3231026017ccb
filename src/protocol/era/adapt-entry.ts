import type { JsonObject } from '../json/json.ts'
import { isObject } from '../json/json.ts'
import type { Kind, ClientVersion } from '../methods.ts'
import { STRUCTURED_SINCE } from '../methods.ts'

/** Wire forms of lists; clients with the same form get the same bytes. */
export type ListForm = 'modern' | 'legacy' | 'plain'

/** Returns the list form for a client; `plain` is before structured output. */
export function getListForm({ era, version }: Pick<ClientVersion, 'era' | 'version'>): ListForm {
  if (era === 'modern') return 'modern'
  return version >= STRUCTURED_SINCE ? 'legacy' : 'plain'
}

/** Converts a list entry to a form; returns the same object if nothing changes. */
export function adaptEntry(kind: Kind, entry: JsonObject, form: ListForm): JsonObject {
  if (kind !== 'tools') return entry
  if (form === 'modern') return omitKey(entry, 'execution')
  if (entry.outputSchema === undefined) return entry
  const outputSchema = form === 'plain' ? undefined : toLegacyOutputSchema(entry.outputSchema)
  if (outputSchema === undefined) return omitKey(entry, 'outputSchema')
  return outputSchema === entry.outputSchema ? entry : { ...entry, outputSchema }
}

function omitKey(entry: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(entry, key)) return entry
  const { [key]: _dropped, ...remaining } = entry
  return remaining
}

/**
 * Converts an output schema for legacy clients, whose root must be an object. Other values are sent as `{ result: …
 * }`, and the schema describes that. Undefined if it does not say which, or has references that cannot be moved.
 */
function toLegacyOutputSchema(schema: unknown): JsonObject | undefined {
  if (!isObject(schema)) return undefined
  if (schema.type === 'object') return schema
  const { type, $schema } = schema
  if (type === undefined) return acceptsObjectsOnly(schema) ? { ...schema, type: 'object' } : undefined
  if ([type].flat().includes('object') || JSON.stringify(schema).includes('"$ref"')) return undefined
  const dialect = typeof $schema === 'string' ? { $schema } : {}
  return { ...dialect, type: 'object', properties: { result: schema }, required: ['result'] }
}

function acceptsObjectsOnly({ anyOf = [], oneOf = [] }: JsonObject): boolean {
  const parts = [anyOf, oneOf].flat()
  return parts.length > 0 && parts.every(part => isObject(part) && part.type === 'object')
}
