import {
  ANONYMOUS,
  canonicalOr,
  METHODS,
  refuse,
  RPC,
  type Answer,
  type CatalogEntry,
  type CatalogView,
  type Exchange,
  type Kind,
  type PluginHooks,
  type Principal,
} from '../../src/plugin.ts'
import { judge, type AccessRule } from './rules.ts'

/** The methods that reach something by its name. */
const NAMED = ['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe']
/** Names under rules that are remembered. */
const MOST = 100_000

type Forbid = (exchange: Exchange, what: string, scopes: readonly string[]) => Answer

/**
 * Keeps the rules over all there is. What a caller may not use is not in his lists, and so cannot be called; that a
 * scope would open it is said when he calls it by name. A local pipe, and what auth does not cover, has no rules.
 */
export function keepRules(rules: readonly AccessRule[], hooks: PluginHooks, forbid: Forbid): void {
  if (rules.length === 0) return
  // Which rules are about a name is known once its list was seen, whoever asked for it.
  const ruled = new Map<string, readonly AccessRule[]>()

  const isVisible = (entry: CatalogEntry, { principal }: CatalogView): boolean => {
    const about = rules.filter(rule => rule.isAbout(entry))
    if (about.length === 0) return true
    if (ruled.size >= MOST) ruled.clear()
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
