import type { Answer, Config, Exchange, JsonObject } from '../../src/plugin.ts'
import {
  compileAllowedUris,
  canonicalizeUri,
  compileForbiddenUris,
  compileGlobs,
  isObject,
  METHODS,
  refuse,
  RPC,
} from '../../src/plugin.ts'

/** Member in which an older MCP Apps draft put the link. */
const FLAT = 'ui/resourceUri'

type Kind = 'tools' | 'prompts' | 'resources'

type Denied = (name: string) => boolean

/** The methods that reach something by its name. */
export const GUARDED: readonly string[] = [
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
]

/**
 * Refuses names that `filters` denies as if they did not exist. The catalog does so for what it lists; this is for a
 * name that `routes` sends past the catalog. Undefined when nothing is denied.
 */
export function refuseDenied(
  filters: Config['filters'],
): ((exchange: Exchange) => Answer | undefined) | undefined {
  const denied: Record<Kind, Denied> = {
    tools: test(filters?.tools, compileGlobs, name => name),
    prompts: test(filters?.prompts, compileGlobs, name => name),
    resources: test(filters?.resources, compileForbiddenUris, canonicalizeUri),
  }
  if (Object.values(denied).every(isDenied => isDenied === nobody)) return undefined
  return exchange => {
    const { kind, target } = METHODS.get(exchange.method) ?? {}
    const name = target === undefined ? undefined : exchange.params?.[target]
    return typeof name === 'string' && denied[kind as Kind](name)
      ? UNKNOWN[kind as Kind](name, exchange)
      : undefined
  }
}

const UNKNOWN: Readonly<Record<Kind, (name: string, exchange: Exchange) => Answer>> = {
  tools: name => refuse(RPC.invalidParams, `Unknown tool: ${name}`),
  prompts: name => refuse(RPC.invalidParams, `Unknown prompt: ${name}`),
  resources: (uri, { session }) => {
    const code = session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams
    return refuse(code, `Resource not found: ${uri}`, { uri })
  },
}

interface Section {
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
}

/** Filters speak of names before their own renames. */
function test(
  { deny = [], rename = {} }: Section = {},
  globsOf: typeof compileGlobs,
  spelled: (name: string) => string,
): Denied {
  if (deny.length === 0) return nobody
  const isDenied = globsOf(deny)
  const undo = new Map(Object.entries(rename).map(([from, to]) => [spelled(to), from]))
  return name => isDenied(undo.get(spelled(name)) ?? name)
}

function nobody(): boolean {
  return false
}

/** A tool's description with the links of its user interface (MCP Apps) changed; the same object where none does. */
export function withLinks(tool: JsonObject, rename: (uri: string) => string): JsonObject {
  const { _meta } = tool
  if (!isObject(_meta)) return tool
  const ui = isObject(_meta.ui) ? changed(_meta.ui, 'resourceUri', rename) : _meta.ui
  const meta = changed(ui === _meta.ui ? _meta : { ..._meta, ui }, FLAT, rename)
  return meta === _meta ? tool : { ...tool, _meta: meta }
}

function changed(object: JsonObject, key: string, rename: (uri: string) => string): JsonObject {
  const uri = object[key]
  if (typeof uri !== 'string') return object
  const renamed = rename(uri)
  return renamed === uri ? object : { ...object, [key]: renamed }
}

/** Options of a filter; resources have no names to change. */
interface FilterOptions {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
  readonly describe?: Readonly<Record<string, string>>
}

/** A filter, ready to use. */
export interface Filter {
  readonly isEmpty: boolean
  /** True if it hides anything. */
  readonly isRule: boolean
  readonly permits: (name: string) => boolean
  readonly hasRenames: boolean
  /** The other name of one; undefined where it keeps its own. */
  readonly renamed: (name: string) => string | undefined
  readonly describe: ReadonlyMap<string, string>
}

/** Compiles the globs once, of names or URIs. `deny` wins over `allow`; no `allow` means everything, an empty one nothing. */
export function prepareFilter(options: FilterOptions = {}, isOfUris = false): Filter {
  const denied = (isOfUris ? compileForbiddenUris : compileGlobs)(options.deny ?? [])
  const allowed =
    options.allow === undefined ? () => true : (isOfUris ? compileAllowedUris : compileGlobs)(options.allow)
  return {
    isEmpty: [options.allow, options.deny, options.rename, options.describe].every(
      part => part === undefined,
    ),
    isRule: options.allow !== undefined || options.deny !== undefined,
    permits: name => !denied(name) && allowed(name),
    hasRenames: options.rename !== undefined,
    renamed: renamesOf(options, isOfUris),
    describe: new Map(Object.entries(options.describe ?? {})),
  }
}

/** A URI is one and the same, however the configuration or a server spells it. */
function renamesOf({ rename = {} }: FilterOptions, isOfUris: boolean): Filter['renamed'] {
  const spelled = isOfUris ? canonicalizeUri : (name: string): string => name
  const renames = new Map(Object.entries(rename).map(([from, to]) => [spelled(from), to]))
  return name => (renames.size === 0 ? undefined : renames.get(spelled(name)))
}
