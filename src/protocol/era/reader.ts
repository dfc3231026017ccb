import type { JsonObject } from '../json/json.ts'
import { LATEST_LEGACY_VERSION, MODERN_VERSION, type Era } from '../versions.ts'

/** Who reads what goes out, as far as its form depends on it: a client. */
export interface Reader {
  readonly era: Era
  readonly version: string
  readonly capabilities: JsonObject
}

const NEWEST: Readonly<Record<Era, Reader>> = {
  legacy: { era: 'legacy', version: LATEST_LEGACY_VERSION, capabilities: {} },
  modern: { era: 'modern', version: MODERN_VERSION, capabilities: {} },
}

/** A client of which only the era is known: it reads the newest form of it. */
export function newestReader(era: Era): Reader {
  return NEWEST[era]
}

/** The first version with structured output and resource links. */
export const STRUCTURED_SINCE = '2025-06-18'
