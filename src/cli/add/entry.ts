import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { listAt, mapAt, textAt } from '../../util/plain-data.ts'
import { oneLine } from '../../util/plain-text.ts'

/** One server of a registry, in the words of its `server.json`. */
export interface RegistryEntry {
  readonly name: string
  readonly description: string
  readonly version: string
  readonly status: string
  readonly packages: readonly JsonObject[]
  readonly remotes: readonly JsonObject[]
}

/** Names of the reverse DNS form, in letters that look like no others. */
export const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,198}[A-Za-z0-9])?\/[A-Za-z0-9][A-Za-z0-9._-]{0,198}$/

const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const MAX_ALTERNATIVES = 50

/** Reads one row of a registry, of v0.1 or older, or a `server.json` alone; undefined where it is none. */
export function entryOf(row: unknown): RegistryEntry | undefined {
  const given = isObject(row) && isObject(row.server) ? row.server : row
  const server = camelized(given, 0)
  const name = textAt(server, 'name')
  if (name === undefined || !NAME.test(name)) return undefined
  const official = mapAt(row, '_meta', OFFICIAL)
  return {
    name,
    description: oneLine(textAt(server, 'description') ?? '').slice(0, 300),
    version: textAt(server, 'version') ?? textAt(server, 'versionDetail', 'version') ?? '',
    status: textAt(official, 'status') ?? textAt(server, 'status') ?? 'active',
    packages: listAt(server, 'packages').filter(isObject).slice(0, MAX_ALTERNATIVES),
    remotes: listAt(server, 'remotes').filter(isObject).slice(0, MAX_ALTERNATIVES),
  }
}

const MAX_DEPTH = 12

/** Keys of older registries (`registry_type`) as those of today (`registryType`); names of variables stay. */
function camelized(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return undefined
  if (Array.isArray(value)) return value.map(one => camelized(one, depth + 1))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, one]) => {
    const name =
      key === 'transport_type'
        ? 'type'
        : key.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
    const isNamed = key === 'variables' && isObject(one)
    const inner = isNamed
      ? Object.fromEntries(
          Object.entries(one).map(([variable, about]) => [variable, camelized(about, depth + 2)]),
        )
      : camelized(one, depth + 1)
    return [name, inner] as const
  })
  return Object.fromEntries(entries)
}
