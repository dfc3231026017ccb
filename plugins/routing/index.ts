import {
  type Answer,
  type Config,
  type Exchange,
  type ExplainStep,
  METHODS,
  type Plugin,
  type PluginHooks,
  refuse,
  type Route,
  RPC,
} from '../../src/plugin.ts'
import { check } from './check.ts'
import { ERRORS, routingError } from './errors.ts'
import { methodsOf, ownParams, prepare, type Rule } from './rules.ts'

/** Sends requests where `routes` says, or refuses them. The first rule that matches wins. */
export const routing: Plugin<NonNullable<Config['routes']>> = {
  name: 'routing',
  claims: { section: 'routes' },
  check,
  errors: ERRORS,
  setup({ options, config, hooks }) {
    const rules = prepare(options, config.auth)
    const methods = methodsOf(options)
    const toOwn = ownParams(config)
    const first = (exchange: Exchange): Rule | undefined => rules.find(rule => rule.matches(exchange))

    if (rules.some(rule => rule.deny !== undefined)) {
      const judgesUris = options.some(({ match }) => match.resource !== undefined)
      hooks.request.tap({ stage: 'policy', methods, judgesUris }, exchange => refusal(first(exchange)))
    }
    hooks.route.tap({ methods }, exchange => {
      const rule = first(exchange)
      // A tap after ours may have changed the name into one that is refused.
      if (rule?.deny !== undefined) throw routingError('GW_DENIED', { reason: rule.deny })
      return rule?.to === undefined ? undefined : routeTo(rule.to, exchange, toOwn)
    })
    explainRoutes(hooks, rules)
  },
}

function refusal(rule: Rule | undefined): Answer | undefined {
  return rule?.deny === undefined ? undefined : refuse(RPC.invalidParams, rule.deny, { code: 'GW_DENIED' })
}

/** A list that is routed is that one upstream's list; anything else goes there under the upstream's own names. */
function routeTo(upstream: string, exchange: Exchange, toOwn: ReturnType<typeof ownParams>): Route {
  if (METHODS.get(exchange.method)?.to === 'list') return { to: 'many', upstreams: [upstream] }
  return { to: 'one', upstream, params: toOwn(upstream, exchange.method, exchange.params) }
}

/** Says which rule of `routes` a call meets first. */
function explainRoutes(hooks: PluginHooks, rules: readonly Rule[]): void {
  hooks.explain.tap((steps, { exchange }) => {
    const at = rules.findIndex(rule => rule.matches(exchange))
    return [...steps, stepOf(rules[at], `/routes/${at}`)]
  })
}

function stepOf(found: Rule | undefined, rule: string): ExplainStep {
  if (found === undefined)
    return { by: 'routing', at: 'route', does: 'passes', text: 'no rule matches; its owner has it' }
  if (found.deny !== undefined)
    return { by: 'routing', at: 'request', does: 'refuses', text: found.deny, rule }
  const text =
    found.to === undefined ? 'a rule matches and changes nothing' : `a rule sends it to "${found.to}"`
  return { by: 'routing', at: 'route', does: found.to === undefined ? 'passes' : 'changes', text, rule }
}
