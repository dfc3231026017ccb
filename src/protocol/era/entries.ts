import type { JsonObject } from '../json/json.ts'
import type { Kind } from '../methods.ts'
import { legacyOutputSchema } from './output-schema.ts'
import { STRUCTURED_SINCE, type Reader } from './reader.ts'

/** The forms in which lists go out; clients of one form get the same bytes. */
export type ListForm = 'modern' | 'legacy' | 'plain'

/** The form in which a client reads lists: `plain` is before structured output. */
export function listForm({ era, version }: Pick<Reader, 'era' | 'version'>): ListForm {
  if (era === 'modern') return 'modern'
  return version >= STRUCTURED_SINCE ? 'legacy' : 'plain'
}

/** An entry of a list as clients of this form read it; the same object where nothing changes. */
export function entryFor(kind: Kind, entry: JsonObject, form: ListForm): JsonObject {
  if (kind !== 'tools') return entry
  if (form === 'modern') return without(entry, 'execution')
  if (entry.outputSchema === undefined) return entry
  const outputSchema = form === 'plain' ? undefined : legacyOutputSchema(entry.outputSchema)
  if (outputSchema === undefined) return without(entry, 'outputSchema')
  return outputSchema === entry.outputSchema ? entry : { ...entry, outputSchema }
}

function without(entry: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(entry, key)) return entry
  const { [key]: _dropped, ...kept } = entry
  return kept
}
