import { isObject, type JsonObject } from '../json/json.ts'

/** What values a JSON Schema lets through: objects alone, none, or both; `mixed` also where that is hard to tell. */
export type SchemaRoot = 'object' | 'other' | 'mixed'

/** Schemas within one that are looked at; a schema may refer to itself. */
const MAX_LOOKED_AT = 1000

interface Search {
  readonly root: JsonObject
  left: number
}

/** What the root of a schema is. What it says side by side must all hold, so one clear word is enough. */
export function rootOf(schema: JsonObject): SchemaRoot {
  return kindOf(schema, { root: schema, left: MAX_LOOKED_AT })
}

function kindOf(schema: unknown, search: Search): SchemaRoot {
  if (!isObject(schema) || search.left-- <= 0) return 'mixed'
  const own = [byType(schema.type), byValues(schema)].find(isClear)
  return own ?? byParts(schema, search)
}

function byParts(schema: JsonObject, search: Search): SchemaRoot {
  for (const part of listOf(schema.allOf)) {
    const word = kindOf(part, search)
    if (isClear(word)) return word
  }
  for (const parts of [schema.anyOf, schema.oneOf]) {
    const word = together(listOf(parts).map(part => kindOf(part, search)))
    if (isClear(word)) return word
  }
  return referred(schema.$ref, search)
}

function isClear(word: SchemaRoot): boolean {
  return word !== 'mixed'
}

function byType(type: unknown): SchemaRoot {
  if (typeof type !== 'string' && !Array.isArray(type)) return 'mixed'
  return together([type].flat().map(name => (name === 'object' ? 'object' : 'other')))
}

function byValues(schema: JsonObject): SchemaRoot {
  const values = 'const' in schema ? [schema.const] : listOf(schema.enum)
  return together(values.map(value => (isObject(value) ? 'object' : 'other')))
}

function referred(reference: unknown, search: Search): SchemaRoot {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) return 'mixed'
  return kindOf(target(reference, search.root), search)
}

function together(words: readonly SchemaRoot[]): SchemaRoot {
  const [first = 'mixed'] = words
  return words.every(word => word === first) ? first : 'mixed'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

function target(pointer: string, root: JsonObject): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map(step => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : memberOf(at, key)),
      root,
    )
}

function memberOf(at: unknown, key: string): unknown {
  return Array.isArray(at) && /^\d+$/.test(key) ? (at as unknown[])[Number(key)] : undefined
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
