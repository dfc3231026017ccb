import { tokensIn, type CatalogEntry, type JsonObject } from '../../src/plugin.ts'

const KNOWN = new WeakMap<JsonObject, number>()

/** Tokens that a tool takes in a list, as estimated. */
export function toolTokens({ value, exposed }: Pick<CatalogEntry, 'value' | 'exposed'>): number {
  let tokens = KNOWN.get(value)
  if (tokens === undefined) KNOWN.set(value, (tokens = tokensIn(JSON.stringify(value))))
  return value.name === exposed ? tokens : tokens + tokensIn(exposed)
}

/** Tokens of a list. */
export function listTokens(entries: readonly CatalogEntry[]): number {
  return entries.reduce((all, entry) => all + toolTokens(entry), 0)
}
