import type {
  Answer,
  CatalogEntry,
  CatalogView,
  Config,
  Exchange,
  PluginHooks,
  Principal,
} from '../../src/plugin.ts'
import {
  ANONYMOUS,
  compileCallers,
  compileForbiddenUris,
  compileGlobs,
  isObject,
  LISTS,
  readList,
  METHODS,
  refuse,
  RPC,
} from '../../src/plugin.ts'
import type { ErrorAnswer } from './challenge.ts'
import { FORBIDDEN, createScopeError } from './challenge.ts'

/** Methods on a task, which is used as its tool is. */
const OF_TASKS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/result'])

/** Parameter that says what a method reaches. */
const NAMES: Readonly<Record<string, 'name' | 'uri' | 'ref'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'resources/subscribe': 'uri',
  'completion/complete': 'ref',
}

/** The answer to a caller who lacks scopes. */
type Forbid = (exchange: Exchange, what: string, scopes: readonly string[]) => Answer

/**
 * Keeps the rules over all there is. What a caller may not use is not in his lists, and so cannot be called; that a
 * scope would open it is said when he calls it by name, unless something else hides it from him. A local pipe, and what
 * auth does not cover, has no rules.
 */
export function enforceRules(rules: readonly AccessRule[], hooks: PluginHooks, forbid: Forbid): void {
  if (rules.length === 0) return
  const filterEntry = (entry: CatalogEntry, { principal }: CatalogView): readonly CatalogEntry[] => {
    const about = rules.filter(rule => rule.isAbout(entry))
    const verdict = about.length === 0 ? 'allowed' : evaluateRules(about, principal)
    if (verdict === 'hidden') return []
    return [
      verdict === 'allowed'
        ? entry
        : { ...entry, refusal: createScopeError(`"${entry.exposed}"`, verdict.needs) },
    ]
  }
  // Withheld, and not left out: a profile after it may hide the entry, or give it another name.
  hooks.catalog.tap({ stage: 'transform', judgesUris: rules.some(rule => rule.isOfUris) }, (entries, view) =>
    view.principal === ANONYMOUS ? undefined : entries.flatMap(entry => filterEntry(entry, view)),
  )
  // The catalog knows neither the listener, which says where tokens come from, nor the name that the caller uses.
  hooks.response.tap(
    { stage: 'policy', methods: [...Object.keys(NAMES), ...OF_TASKS] },
    (answer, exchange) => {
      const scopes =
        'error' in answer && exchange.route === undefined ? readNeededScopes(answer.error) : undefined
      return scopes && forbid(exchange, describeTarget(exchange), scopes)
    },
  )
  // A method that nobody knows names nothing, and what it reaches is the whole server.
  hooks.dispatch.tap((next, { name }) => {
    const about = rules.filter(rule => rule.covers(name))
    if (about.length === 0) return undefined
    return call =>
      METHODS.has(call.method) || isAllowed(about, call.exchange.principal)
        ? next(call)
        : Promise.resolve(refuse(RPC.methodNotFound, `Method not found: ${call.method}`))
  })
}

/** The scopes that an error of this plugin asks for; undefined for any other. */
function readNeededScopes({ data }: ErrorAnswer['error']): readonly string[] | undefined {
  if (!isObject(data) || data.code !== FORBIDDEN) return undefined
  return readList(data, 'scopes').filter(scope => typeof scope === 'string')
}

function describeTarget({ method, params }: Exchange): string {
  if (OF_TASKS.has(method)) return 'the tool of the task'
  const named = params?.[NAMES[method] ?? 'name']
  return `"${isObject(named) ? String(named.name ?? named.uri) : String(named)}"`
}

function isAllowed(rules: readonly AccessRule[], principal: Principal): boolean {
  return principal === ANONYMOUS || evaluateRules(rules, principal) === 'allowed'
}

type AccessRuleConfig = NonNullable<Config['auth']>['rules'][number]

type RuleSection = 'tools' | 'prompts' | 'resources'

type TextPredicate = (text: string) => boolean

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
  const ofUpstream = upstreams === undefined ? matchAll : compileGlobs(upstreams)
  const named: Partial<Record<RuleSection, TextPredicate>> = {}
  for (const section of ['tools', 'prompts', 'resources'] as const) {
    const patterns = spec[section]
    if (patterns !== undefined)
      named[section] = (section === 'resources' ? compileForbiddenUris : compileGlobs)(patterns)
  }
  const isNamed = Object.keys(named).length > 0
  return {
    isGeneral: !isNamed && upstreams === undefined,
    isOfUris: named.resources !== undefined,
    isAbout: ({ kind, upstream, exposed }) =>
      ofUpstream(upstream) && (!isNamed || named[LISTS[kind].capability]?.(exposed) === true),
    covers: upstream => !isNamed && ofUpstream(upstream),
    scopes,
    permits: principals === undefined ? matchAll : compileCallers(principals, auth),
  }
}

/** Verdict of rules on a caller: allowed, hidden, or the scopes it takes. */
type AccessVerdict = 'allowed' | 'hidden' | { readonly needs: readonly string[] }

/** Every rule must be met. A caller whom no scope would help is told nothing. */
export function evaluateRules(rules: readonly AccessRule[], principal: Principal): AccessVerdict {
  if (rules.some(rule => !rule.permits(principal))) return 'hidden'
  const needs = [...new Set(rules.flatMap(rule => rule.scopes))]
  return needs.every(scope => principal.scopes.includes(scope)) ? 'allowed' : { needs }
}

function matchAll(): boolean {
  return true
}
