import type {
  Answer,
  Config,
  Exchange,
  ExplainStep,
  Plugin,
  PluginHooks,
  Report,
  JsonObject,
} from '../../src/plugin.ts'
import {
  defineErrors,
  checkKnownName,
  readList,
  readMap,
  METHODS,
  refuse,
  RPC,
  readText,
  readValue,
  compileCallers,
  canonicalizeUri,
  compileForbiddenUris,
  compileGlobs,
  isObject,
  parseAppUri,
  parseSkillUri,
} from '../../src/plugin.ts'

type RouteConfig = NonNullable<Config['routes']>[number]

type Condition = (exchange: Exchange) => boolean

type MatchKey = keyof RouteConfig['match']

/** Conditions compared as text; a principal has more than a subject. */
type TextMatchKey = Exclude<MatchKey, 'principal'>

/** Compiled routing rule. */
interface RoutingRule {
  readonly matches: Condition
  readonly to: string | undefined
  readonly deny: string | undefined
}

/** Text that each condition matches, and the methods that it applies to. */
const TEXT_CONDITIONS: Readonly<
  Record<TextMatchKey, { readonly text: (exchange: Exchange) => unknown; readonly methods?: readonly string[] }>
> = {
  tool: { text: exchange => exchange.params?.name, methods: ['tools/call'] },
  prompt: {
    text: exchange => getReferenceMember(exchange, 'name'),
    methods: ['prompts/get', 'completion/complete'],
  },
  resource: {
    text: exchange => getReferenceMember(exchange, 'uri'),
    methods: ['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'completion/complete'],
  },
  method: { text: exchange => exchange.method },
  client: { text: exchange => exchange.session.client.info.name },
}

/** Compiles the rules in order. */
function compileRoutes(routes: readonly RouteConfig[], config: Config): readonly RoutingRule[] {
  return routes.map(({ match, to, deny }) => {
    const conditions = listKeys(match).map(key => compileCondition(key, match[key] ?? [], config))
    return { matches: exchange => conditions.every(predicate => predicate(exchange)), to, deny }
  })
}

/** Lists the methods that any rule can match; undefined for any method. */
function listMethods(routes: readonly RouteConfig[]): readonly string[] | undefined {
  const methods = new Set<string>()
  for (const { match } of routes) {
    const bound = listKeys(match)
      .map(key => (key === 'method' ? listLiterals(match.method) : getConditionMethods(key)))
      .find(list => list !== undefined)
    if (bound === undefined) return undefined
    for (const method of bound) methods.add(method)
  }
  return [...methods]
}

function listKeys(match: RouteConfig['match']): MatchKey[] {
  return (Object.keys(match) as MatchKey[]).filter(key => match[key] !== undefined)
}

function getConditionMethods(key: MatchKey): readonly string[] | undefined {
  return key === 'principal' ? undefined : TEXT_CONDITIONS[key].methods
}

function compileCondition(key: MatchKey, patterns: string | readonly string[], config: Config): Condition {
  if (key === 'principal') {
    const isMeant = compileCallers(patterns, config.auth)
    return exchange => isMeant(exchange.session.principal)
  }
  const matches = (key === 'resource' ? compileForbiddenUris : compileGlobs)(patterns)
  const { text, methods } = TEXT_CONDITIONS[key]
  return exchange => {
    if (methods?.includes(exchange.method) === false) return false
    const value = text(exchange)
    if (typeof value !== 'string') return false
    return matches(value) || (key === 'resource' && matches(parseOwnUri(value, config)?.uri ?? value))
  }
}

/** Returns the upstream and its own URI, for an app or a skill file. */
function parseOwnUri(uri: string, { upstreams }: Config): ReturnType<typeof parseAppUri> {
  const own = parseAppUri(uri) ?? parseSkillUri(uri)
  return own !== undefined && Object.hasOwn(upstreams, own.upstream) ? own : undefined
}

/** In a completion, the reference names the subject. */
function getReferenceMember({ method, params }: Exchange, member: 'name' | 'uri'): unknown {
  const from = method === 'completion/complete' ? params?.ref : params
  return isObject(from) ? from[member] : undefined
}

function listLiterals(patterns: string | readonly string[] | undefined): readonly string[] | undefined {
  const list = typeof patterns === 'string' ? [patterns] : (patterns ?? [])
  return list.some(pattern => /[*?[{\\]/.test(pattern)) ? undefined : list
}

type ToOwnName = (name: string) => string

type FilterSection = 'tools' | 'prompts' | 'resources'

type OwnNameMappers = Readonly<Record<FilterSection, ToOwnName>>

/**
 * Maps client parameters to the upstream's own: reverts renames and removes the prefix. A name without the prefix
 * passes unchanged, so that `db_query` can be the upstream's own name.
 */
function createParamMapper(
  config: Config,
): (upstream: string, method: string, params: JsonObject | undefined) => JsonObject | undefined {
  const all = new Map(Object.keys(config.upstreams).map(name => [name, createNameMappers(config, name)]))
  return (upstream, method, params) => {
    const own = all.get(upstream)
    const { kind, target } = METHODS.get(method) ?? {}
    if (own === undefined || params === undefined || target === undefined) return params
    if (target === 'uri') return mapMember(params, 'uri', own.resources)
    if (target === 'name') return mapMember(params, 'name', kind === 'prompts' ? own.prompts : own.tools)
    return isObject(params.ref) ? { ...params, ref: mapReference(params.ref, own) } : params
  }
}

function createNameMappers(config: Config, upstream: string): OwnNameMappers {
  const prefix = config.upstreams[upstream]?.prefix ?? `${upstream}__`
  const toOwnUri = createNameMapper(config, upstream, 'resources', '')
  return {
    tools: createNameMapper(config, upstream, 'tools', prefix),
    prompts: createNameMapper(config, upstream, 'prompts', prefix),
    resources(uri) {
      const own = parseOwnUri(uri, config)
      return toOwnUri(own?.upstream === upstream ? own.uri : uri)
    },
  }
}

function createNameMapper(config: Config, upstream: string, section: FilterSection, prefix: string): ToOwnName {
  const spelled = section === 'resources' ? canonicalizeUri : (name: string): string => name
  const undoFilters = invertRename(config.filters?.[section]?.rename, spelled)
  const undoOwn = invertRename(config.upstreams[upstream]?.[section]?.rename, spelled)
  return name => {
    const exposed = undoFilters(name) ?? name
    const bare = exposed.startsWith(prefix) ? exposed.slice(prefix.length) : exposed
    return undoOwn(bare) ?? bare
  }
}

function invertRename(
  rename: Readonly<Record<string, string>> | undefined,
  spelled: ToOwnName,
): (name: string) => string | undefined {
  const names = new Map(Object.entries(rename ?? {}).map(([from, to]) => [spelled(to), from]))
  return name => (names.size === 0 ? undefined : names.get(spelled(name)))
}

/** A completion refers to a prompt by name or a resource by URI. */
function mapReference(reference: JsonObject, own: OwnNameMappers): JsonObject {
  return mapMember(mapMember(reference, 'name', own.prompts), 'uri', own.resources)
}

function mapMember(params: JsonObject, member: 'name' | 'uri', own: ToOwnName): JsonObject {
  const name = params[member]
  if (typeof name !== 'string') return params
  const changed = own(name)
  return changed === name ? params : { ...params, [member]: changed }
}

const ERRORS = {
  GW_DENIED: {
    text: '{reason}',
    hint: 'A rule in routes refuses it.',
    http: 403,
    rpc: RPC.invalidParams,
  },
} as const

export const routingError = defineErrors(ERRORS)

/** Reports routes with an invalid target. */
function checkRoutes(config: unknown, report: Report): void {
  readList(config, 'routes').forEach((route, i) =>
    checkTarget(config, readText(route, 'to'), `/routes/${i}/to`, report),
  )
}

function checkTarget(config: unknown, to: string | undefined, pointer: string, report: Report): void {
  const names = Object.keys(readMap(config, 'upstreams'))
  if (to === undefined || !checkKnownName(to, { what: 'upstream', names }, pointer, report)) return
  if (readValue(config, 'upstreams', to, 'enabled') !== false) return
  report({ pointer, message: `upstream "${to}" is disabled`, hint: `enable it, or remove the route` })
}

/** Routes or refuses requests by `routes`. The first matching rule wins. */
export const routing: Plugin<NonNullable<Config['routes']>> = {
  name: 'routing',
  claims: { section: 'routes' },
  check: checkRoutes,
  errors: ERRORS,
  setup({ options, config, hooks }) {
    const rules = compileRoutes(options, config)
    const methods = listMethods(options)
    const toOwn = createParamMapper(config)
    const first = (exchange: Exchange): RoutingRule | undefined => rules.find(rule => rule.matches(exchange))

    if (rules.some(rule => rule.deny !== undefined)) {
      const judgesUris = options.some(({ match }) => match.resource !== undefined)
      hooks.request.tap({ stage: 'policy', methods, checksUris: judgesUris }, exchange => refuseByRule(first(exchange)))
    }
    hooks.route.tap({ methods }, exchange => {
      const rule = first(exchange)
      // A later tap may have changed the name into a denied one.
      if (rule?.deny !== undefined) throw routingError('GW_DENIED', { reason: rule.deny })
      return rule?.to === undefined ? undefined : createRoute(rule.to, exchange, toOwn)
    })
    explainRoutes(hooks, rules)
  },
}

function refuseByRule(rule: RoutingRule | undefined): Answer | undefined {
  return rule?.deny === undefined ? undefined : refuse(RPC.invalidParams, rule.deny, { code: 'GW_DENIED' })
}

/** Routes a list to one upstream's list, and other requests under the upstream's own names. */
function createRoute(
  upstream: string,
  exchange: Exchange,
  toOwn: ReturnType<typeof createParamMapper>,
): Exchange['route'] {
  if (METHODS.get(exchange.method)?.to === 'list') return { to: 'many', upstreams: [upstream] }
  return { to: 'one', upstream, params: toOwn(upstream, exchange.method, exchange.params) }
}

/** Explains which rule matches a call. */
function explainRoutes(hooks: PluginHooks, rules: readonly RoutingRule[]): void {
  hooks.explain.tap((steps, { exchange }) => {
    const at = rules.findIndex(rule => rule.matches(exchange))
    const rule = rules[at]
    return rule === undefined ? undefined : [...steps, explainStep(rule, `/routes/${at}`)]
  })
}

function explainStep(matchedRule: RoutingRule, rule: string): ExplainStep {
  if (matchedRule.deny !== undefined)
    return { by: 'routing', at: 'request', does: 'refuses', text: matchedRule.deny, rule }
  const text = matchedRule.to === undefined ? 'the matching route has no target' : `routed to "${matchedRule.to}"`
  return { by: 'routing', at: 'route', does: matchedRule.to === undefined ? 'passes' : 'changes', text, rule }
}
