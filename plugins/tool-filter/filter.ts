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

/** UI link in an older MCP Apps draft. */
const LEGACY_UI_LINK = 'ui/resourceUri'

type FilterSection = 'tools' | 'prompts' | 'resources'

type DenyTest = (name: string) => boolean

/** Methods that address an object by name. */
export const GUARDED_METHODS: readonly string[] = ['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe']

/**
 * Refuses denied names as unknown. The catalog hides listed ones; this covers names that `routes` sends past it.
 * Undefined if nothing is denied.
 */
export function createDenyGuard(filters: Config['filters']): ((exchange: Exchange) => Answer | undefined) | undefined {
  const denied: Record<FilterSection, DenyTest> = {
    tools: createDenyTest(filters?.tools, compileGlobs, name => name),
    prompts: createDenyTest(filters?.prompts, compileGlobs, name => name),
    resources: createDenyTest(filters?.resources, compileForbiddenUris, canonicalizeUri),
  }
  if (Object.values(denied).every(isDenied => isDenied === denyNone)) return undefined
  return exchange => {
    const { kind, target } = METHODS.get(exchange.method) ?? {}
    const name = target === undefined ? undefined : exchange.params?.[target]
    return typeof name === 'string' && denied[kind as FilterSection](name)
      ? UNKNOWN_ANSWERS[kind as FilterSection](name, exchange)
      : undefined
  }
}

const UNKNOWN_ANSWERS: Readonly<Record<FilterSection, (name: string, exchange: Exchange) => Answer>> = {
  tools: name => refuse(RPC.invalidParams, `Unknown tool: ${name}`),
  prompts: name => refuse(RPC.invalidParams, `Unknown prompt: ${name}`),
  resources: (uri, { session }) => {
    const code = session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams
    return refuse(code, `Resource not found: ${uri}`, { uri })
  },
}

interface DenyOptions {
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
}

/** Filters match names before their own renames. */
function createDenyTest(
  { deny = [], rename = {} }: DenyOptions = {},
  globsOf: typeof compileGlobs,
  spelled: (name: string) => string,
): DenyTest {
  if (deny.length === 0) return denyNone
  const isDenied = globsOf(deny)
  const undo = new Map(Object.entries(rename).map(([from, to]) => [spelled(to), from]))
  return name => isDenied(undo.get(spelled(name)) ?? name)
}

function denyNone(): boolean {
  return false
}

/** Changes a tool's UI links (MCP Apps); returns the same object if there are none. */
export function renameUiLinks(tool: JsonObject, rename: (uri: string) => string): JsonObject {
  const { _meta } = tool
  if (!isObject(_meta)) return tool
  const ui = isObject(_meta.ui) ? renameMember(_meta.ui, 'resourceUri', rename) : _meta.ui
  const meta = renameMember(ui === _meta.ui ? _meta : { ..._meta, ui }, LEGACY_UI_LINK, rename)
  return meta === _meta ? tool : { ...tool, _meta: meta }
}

function renameMember(object: JsonObject, key: string, rename: (uri: string) => string): JsonObject {
  const uri = object[key]
  if (typeof uri !== 'string') return object
  const renamed = rename(uri)
  return renamed === uri ? object : { ...object, [key]: renamed }
}

/** Filter options; resources cannot be renamed. */
interface FilterOptions {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
  readonly describe?: Readonly<Record<string, string>>
}

/** Compiled filter. */
export interface Filter {
  readonly isEmpty: boolean
  /** True if it hides anything. */
  readonly isRule: boolean
  readonly permits: (name: string) => boolean
  readonly hasRenames: boolean
  /** Returns the new name; undefined if unchanged. */
  readonly rename: (name: string) => string | undefined
  readonly describe: ReadonlyMap<string, string>
}

/**
 * Compiles globs for names or URIs. `deny` wins over `allow`; a missing `allow` permits everything, an empty one
 * nothing.
 */
export function prepareFilter(options: FilterOptions = {}, isOfUris = false): Filter {
  const denied = (isOfUris ? compileForbiddenUris : compileGlobs)(options.deny ?? [])
  const allowed =
    options.allow === undefined ? () => true : (isOfUris ? compileAllowedUris : compileGlobs)(options.allow)
  return {
    isEmpty: [options.allow, options.deny, options.rename, options.describe].every(part => part === undefined),
    isRule: options.allow !== undefined || options.deny !== undefined,
    permits: name => !denied(name) && allowed(name),
    hasRenames: options.rename !== undefined,
    rename: createRename(options, isOfUris),
    describe: new Map(Object.entries(options.describe ?? {})),
  }
}

/** URIs are compared in canonical form. */
function createRename({ rename = {} }: FilterOptions, isOfUris: boolean): Filter['rename'] {
  const spelled = isOfUris ? canonicalizeUri : (name: string): string => name
  const renames = new Map(Object.entries(rename).map(([from, to]) => [spelled(from), to]))
  return name => (renames.size === 0 ? undefined : renames.get(spelled(name)))
}
