import type { Answer, CatalogEntry, Config, Exchange, PluginHooks, Principal, Session } from '../../src/plugin.ts'
import {
  ANONYMOUS,
  compileCallers,
  compileForbiddenUris,
  compileGlobs,
  EXTENSION_METHODS,
  isObject,
  LISTS,
  readTexts,
  METHODS,
  refuse,
  RPC,
} from '../../src/plugin.ts'
import type { ErrorAnswer } from './challenge.ts'
import { FORBIDDEN, createScopeError } from './challenge.ts'

/** Task methods, which need the same access as the task's tool. */
const OF_TASKS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/result'])

/** Parameter that names a method's target. */
const NAMES: Readonly<Record<string, 'name' | 'uri' | 'ref'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'resources/subscribe': 'uri',
  'completion/complete': 'ref',
  'skills/get': 'uri',
  'resources/directory/read': 'uri',
}

/** Builds the answer for missing scopes. */
type Forbid = (exchange: Exchange, subject: string, scopes: readonly string[]) => Answer

/**
 * Enforces the access rules. Inaccessible entries are removed from lists and cannot be called. A call by name reports
 * the missing scopes, unless another rule or plugin hides the entry. Local pipes and uncovered listeners have no
 * rules.
 */
export function enforceRules(rules: readonly AccessRule[], hooks: PluginHooks, forbid: Forbid): void {
  if (rules.length === 0) return
  const filterEntry = (entry: CatalogEntry, { principal }: Pick<Session, 'principal'>): readonly CatalogEntry[] => {
    const about = rules.filter(rule => rule.isAbout(entry))
    const verdict = about.length === 0 ? 'allowed' : evaluateRules(about, principal)
    if (verdict === 'hidden') return []
    return [
      verdict === 'allowed' ? entry : { ...entry, refusal: createScopeError(`"${entry.exposed}"`, verdict.needs) },
    ]
  }
  // Withhold instead of removing: a later profile may hide or rename the entry.
  hooks.catalog.tap({ stage: 'transform', checksUris: rules.some(rule => rule.isOfUris) }, (entries, view) =>
    view.principal === ANONYMOUS ? undefined : entries.flatMap(entry => filterEntry(entry, view)),
  )
  // The catalog has neither the listener, which determines the authorization server, nor the exposed name.
  hooks.response.tap({ stage: 'policy', methods: [...Object.keys(NAMES), ...OF_TASKS] }, (answer, exchange) => {
    const scopes = 'error' in answer && exchange.route === undefined ? readNeededScopes(answer.error) : undefined
    return scopes && forbid(exchange, describeTarget(exchange), scopes)
  })
  // An unknown method has no target, so it needs access to the whole server.
  hooks.dispatch.tap((next, { name }) => {
    const about = rules.filter(rule => rule.covers(name))
    if (about.length === 0) return undefined
    return call => {
      const { method, exchange } = call
      if (METHODS.has(method) || exchange.principal === ANONYMOUS) return next(call)
      const verdict = evaluateRules(about, exchange.principal)
      if (verdict === 'allowed') return next(call)
      const needs = verdict === 'hidden' || !EXTENSION_METHODS.has(method) ? undefined : verdict.needs
      const unknown = refuse(RPC.methodNotFound, `Method not found: ${method}`)
      return Promise.resolve(needs === undefined ? unknown : forbid(exchange, `"${method}"`, needs))
    }
  })
}

/** Returns the scopes that an error from this plugin asks for; undefined for other errors. */
function readNeededScopes({ data }: ErrorAnswer['error']): readonly string[] | undefined {
  if (!isObject(data) || data.code !== FORBIDDEN) return undefined
  return readTexts(data, 'scopes')
}

function describeTarget({ method, params }: Exchange): string {
  if (OF_TASKS.has(method)) return "the task's tool"
  const named = params?.[NAMES[method] ?? 'name']
  return `"${isObject(named) ? String(named.name ?? named.uri) : String(named)}"`
}

type AccessRuleConfig = NonNullable<Config['auth']>['rules'][number]

type RuleSection = 'tools' | 'prompts' | 'resources'

type TextPredicate = (text: string) => boolean

/** A compiled rule. */
export interface AccessRule {
  /** True if the rule covers everything. */
  readonly isGeneral: boolean
  /** True if the rule covers resources by URI. */
  readonly isOfUris: boolean
  readonly isAbout: (entry: CatalogEntry) => boolean
  /** True if the rule covers a whole upstream. */
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

/** Rule result: allowed, hidden, or the missing scopes. */
type AccessVerdict = 'allowed' | 'hidden' | { readonly needs: readonly string[] }

/** All rules must permit. If no scope would help, the result reveals nothing. */
export function evaluateRules(rules: readonly AccessRule[], principal: Principal): AccessVerdict {
  if (rules.some(rule => !rule.permits(principal))) return 'hidden'
  const needs = [...new Set(rules.flatMap(rule => rule.scopes))]
  return needs.every(scope => principal.scopes.includes(scope)) ? 'allowed' : { needs }
}

function matchAll(): boolean {
  return true
}
