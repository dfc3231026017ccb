import type { JsonObject } from '../../../src/plugin.ts'

/** Takes secrets and control characters out of texts of others. */
export interface Cleaner {
  readonly environment: { hide(text: string): string }
  readonly parts: { readonly containment: { clean(text: string): string } }
}

/** Data of others without secrets; empty where nothing would be left that can be read. */
export function withoutSecrets({ environment }: Cleaner, value: JsonObject): JsonObject {
  try {
    return JSON.parse(environment.hide(JSON.stringify(value))) as JsonObject
  } catch {
    // A secret was more than the inside of a text, or it is too deep to be written.
    return {}
  }
}

/** Text of others as one line: without secrets and control characters, and not too long. */
export function lineOf(cleaner: Cleaner, text: string, max = 500): string {
  const clean = cleaner.environment.hide(cleaner.parts.containment.clean(text)).replace(/\s+/g, ' ').trim()
  return clean.length <= max ? clean : `${clean.slice(0, max - 1)}…`
}
