import {
  ANONYMOUS,
  type Answer,
  BoundedMap,
  callers,
  canonicalOr,
  type CatalogEntry,
  type CatalogView,
  type Config,
  type Exchange,
  forbidsUris,
  globs,
  type Kind,
  LISTS,
  METHODS,
  type PluginHooks,
  type Principal,
  refuse,
  RPC,
} from '../../src/plugin.ts'

/** The methods that reach something by its name. */
const NAMED = ['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe']

/** Names under rules that are remembered. */
const MAX_RULED = 100_000

type Forbid = (exchange: Exchange, what: string, scopes: readonly string[]) => Answer

/**
 * Keeps the rules over all there is. What a caller may not use is not in his lists, and so cannot be called; that a
 * scope would open it is said when he calls it by name. A local pipe, and what auth does not cover, has no rules.
 */
export function keepRules(rules: readonly AccessRule[], hooks: PluginHooks, forbid: Forbid): void {
  if (rules.length === 0) return
  // Rules that are about a name are known once its list was seen, whoever asked for it.
  const ruled = new BoundedMap<string, readonly AccessRule[]>({ max: MAX_RULED })

  const isVisible = (entry: CatalogEntry, { principal }: CatalogView): boolean => {
    const about = rules.filter(rule => rule.isAbout(entry))
    if (about.length === 0) return true
    ruled.set(keyOf(entry.kind, entry.exposed), about)
    return judge(about, principal) === 'allowed'
  }
  const refusal = (exchange: Exchange): Answer | undefined => {
    const { kind, target } = METHODS.get(exchange.method) ?? {}
    const name = target === undefined ? undefined : exchange.params?.[target]
    if (exchange.principal === ANONYMOUS || kind === undefined || typeof name !== 'string') return undefined
    const verdict = judge(ruled.get(keyOf(kind, name)) ?? [], exchange.principal)
    return typeof verdict === 'string' ? undefined : forbid(exchange, `"${name}"`, verdict.needs)
  }

  hooks.catalog.tap({ stage: 'transform', judgesUris: rules.some(rule => rule.isOfUris) }, (entries, view) =>
    view.principal === ANONYMOUS ? undefined : entries.filter(entry => isVisible(entry, view)),
  )
  hooks.request.tap({ stage: 'policy', methods: NAMED }, refusal)
  // A method that nobody knows names nothing, and what it reaches is the whole server.
  hooks.dispatch.tap((next, { name }) => {
    const about = rules.filter(rule => rule.covers(name))
    if (about.length === 0) return undefined
    return call =>
      METHODS.has(call.method) || isAllowed(about, call.exchange.principal)
        ? next(call)
        : Promise.resolve(refuse(RPC.methodNotFound, `Method not found: ${call.method}`))
  })
  // The first call may come before the first list: then the router has said that there is nothing of that name.
  hooks.response.tap({ stage: 'policy', methods: NAMED }, (answer, exchange) =>
    'error' in answer && exchange.route === undefined ? refusal(exchange) : undefined,
  )
}

function isAllowed(rules: readonly AccessRule[], principal: Principal): boolean {
  return principal === ANONYMOUS || judge(rules, principal) === 'allowed'
}

function keyOf(kind: Kind, exposed: string): string {
  return `${kind} ${kind === 'resources' ? canonicalOr(exposed) : exposed}`
}

type AccessRuleConfig = NonNullable<Config['auth']>['rules'][number]

type Section = 'tools' | 'prompts' | 'resources'

type Test = (text: string) => boolean

/** A rule, ready to use. */
export interface AccessRule {
  /** True if it is about everything there is. */
  readonly isGeneral: boolean
  /** True if it is about resources by their URI. */
  readonly isOfUris: boolean
  readonly isAbout: (entry: CatalogEntry) => boolean
  /** True if it is about all that an upstream has. */
  readonly covers: (upstream: string) => boolean
  readonly scopes: readonly string[]
  readonly permits: (principal: Principal) => boolean
}

export function prepareRule(spec: AccessRuleConfig, auth: Config['auth']): AccessRule {
  const { upstreams, scopes = [], principals } = spec
  const ofUpstream = upstreams === undefined ? everything : globs(upstreams)
  const named: Partial<Record<Section, Test>> = {}
  for (const section of ['tools', 'prompts', 'resources'] as const) {
    const patterns = spec[section]
    if (patterns !== undefined) named[section] = (section === 'resources' ? forbidsUris : globs)(patterns)
  }
  const isNamed = Object.keys(named).length > 0
  return {
    isGeneral: !isNamed && upstreams === undefined,
    isOfUris: named.resources !== undefined,
    isAbout: ({ kind, upstream, exposed }) =>
      ofUpstream(upstream) && (!isNamed || named[LISTS[kind].capability]?.(exposed) === true),
    covers: upstream => !isNamed && ofUpstream(upstream),
    scopes,
    permits: principals === undefined ? everything : callers(principals, auth),
  }
}

/** Verdict of rules on a caller: allowed, hidden, or the scopes it takes. */
type Verdict = 'allowed' | 'hidden' | { readonly needs: readonly string[] }

/** Every rule must be met. A caller whom no scope would help is told nothing. */
export function judge(rules: readonly AccessRule[], principal: Principal): Verdict {
  if (rules.some(rule => !rule.permits(principal))) return 'hidden'
  const needs = [...new Set(rules.flatMap(rule => rule.scopes))]
  return needs.every(scope => principal.scopes.includes(scope)) ? 'allowed' : { needs }
}

function everything(): boolean {
  return true
}
