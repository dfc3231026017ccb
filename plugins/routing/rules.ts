import type { Config, Exchange, JsonObject } from '../../src/plugin.ts'
import {
  compileCallers,
  canonicalizeUri,
  compileForbiddenUris,
  compileGlobs,
  isObject,
  METHODS,
} from '../../src/plugin.ts'

type RouteConfig = NonNullable<Config['routes']>[number]

type Condition = (exchange: Exchange) => boolean

type Key = keyof RouteConfig['match']

/** Conditions that are compared as text; a principal is more than its subject. */
type TextKey = Exclude<Key, 'principal'>

/** One rule of `routes`, ready to use. */
export interface Rule {
  readonly matches: Condition
  readonly to: string | undefined
  readonly deny: string | undefined
}

/** Subject of each condition of a rule, and the only methods that can fulfil it. */
const LOOKS_AT: Readonly<
  Record<TextKey, { readonly text: (exchange: Exchange) => unknown; readonly methods?: readonly string[] }>
> = {
  tool: { text: exchange => exchange.params?.name, methods: ['tools/call'] },
  prompt: {
    text: exchange => named(exchange, 'name'),
    methods: ['prompts/get', 'completion/complete'],
  },
  resource: {
    text: exchange => named(exchange, 'uri'),
    methods: ['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'completion/complete'],
  },
  method: { text: exchange => exchange.method },
  client: { text: exchange => exchange.session.client.info.name },
}

/** The rules in their order, with their globs compiled. */
export function prepare(routes: readonly RouteConfig[], auth: Config['auth']): readonly Rule[] {
  return routes.map(({ match, to, deny }) => {
    const conditions = keysOf(match).map(key => condition(key, match[key] ?? [], auth))
    return { matches: exchange => conditions.every(holds => holds(exchange)), to, deny }
  })
}

/** The methods that any rule can match; undefined when that may be any method. */
export function methodsOf(routes: readonly RouteConfig[]): readonly string[] | undefined {
  const methods = new Set<string>()
  for (const { match } of routes) {
    const bound = keysOf(match)
      .map(key => (key === 'method' ? literal(match.method) : methodsFor(key)))
      .find(list => list !== undefined)
    if (bound === undefined) return undefined
    for (const method of bound) methods.add(method)
  }
  return [...methods]
}

function keysOf(match: RouteConfig['match']): Key[] {
  return (Object.keys(match) as Key[]).filter(key => match[key] !== undefined)
}

function methodsFor(key: Key): readonly string[] | undefined {
  return key === 'principal' ? undefined : LOOKS_AT[key].methods
}

function condition(key: Key, patterns: string | readonly string[], auth: Config['auth']): Condition {
  if (key === 'principal') {
    const isMeant = compileCallers(patterns, auth)
    return exchange => isMeant(exchange.session.principal)
  }
  const matches = (key === 'resource' ? compileForbiddenUris : compileGlobs)(patterns)
  const { text, methods } = LOOKS_AT[key]
  return exchange => {
    if (methods?.includes(exchange.method) === false) return false
    const found = text(exchange)
    return typeof found === 'string' && matches(found)
  }
}

/** A completion is about what its reference names, whatever else stands beside it. */
function named({ method, params }: Exchange, member: 'name' | 'uri'): unknown {
  const from = method === 'completion/complete' ? params?.ref : params
  return isObject(from) ? from[member] : undefined
}

function literal(patterns: string | readonly string[] | undefined): readonly string[] | undefined {
  const list = typeof patterns === 'string' ? [patterns] : (patterns ?? [])
  return list.some(pattern => /[*?[{\\]/.test(pattern)) ? undefined : list
}

type OwnName = (name: string) => string

type Section = 'tools' | 'prompts' | 'resources'

type OwnNames = Readonly<Record<Section, OwnName>>

/**
 * Turns parameters as clients write them into the upstream's own: renames are undone and its prefix taken off.
 * A name without the prefix passes as it is, so that `db_query` can be sent to an upstream that calls it just that.
 */
export function ownParams(
  config: Config,
): (upstream: string, method: string, params: JsonObject | undefined) => JsonObject | undefined {
  const all = new Map(Object.keys(config.upstreams).map(name => [name, ownNames(config, name)]))
  return (upstream, method, params) => {
    const own = all.get(upstream)
    const { kind, target } = METHODS.get(method) ?? {}
    if (own === undefined || params === undefined || target === undefined) return params
    if (target === 'uri') return renamed(params, 'uri', own.resources)
    if (target === 'name') return renamed(params, 'name', kind === 'prompts' ? own.prompts : own.tools)
    return isObject(params.ref) ? { ...params, ref: ownReference(params.ref, own) } : params
  }
}

function ownNames(config: Config, upstream: string): OwnNames {
  const prefix = config.upstreams[upstream]?.prefix ?? `${upstream}__`
  return {
    tools: ownName(config, upstream, 'tools', prefix),
    prompts: ownName(config, upstream, 'prompts', prefix),
    resources: ownName(config, upstream, 'resources', ''),
  }
}

function ownName(config: Config, upstream: string, section: Section, prefix: string): OwnName {
  const spelled = section === 'resources' ? canonicalizeUri : (name: string): string => name
  const undoFilters = undo(config.filters?.[section]?.rename, spelled)
  const undoOwn = undo(config.upstreams[upstream]?.[section]?.rename, spelled)
  return name => {
    const exposed = undoFilters(name) ?? name
    const bare = exposed.startsWith(prefix) ? exposed.slice(prefix.length) : exposed
    return undoOwn(bare) ?? bare
  }
}

function undo(
  rename: Readonly<Record<string, string>> | undefined,
  spelled: OwnName,
): (name: string) => string | undefined {
  const names = new Map(Object.entries(rename ?? {}).map(([from, to]) => [spelled(to), from]))
  return name => (names.size === 0 ? undefined : names.get(spelled(name)))
}

/** A completion is about a prompt by name, or a resource by URI. */
function ownReference(reference: JsonObject, own: OwnNames): JsonObject {
  return renamed(renamed(reference, 'name', own.prompts), 'uri', own.resources)
}

function renamed(params: JsonObject, member: 'name' | 'uri', own: OwnName): JsonObject {
  const name = params[member]
  if (typeof name !== 'string') return params
  const changed = own(name)
  return changed === name ? params : { ...params, [member]: changed }
}
