import type { Answer, Config, Exchange, ExplainStep, Plugin, PluginHooks, Report } from '../../src/plugin.ts'
import {
  defineErrors,
  checkKnownName,
  readList,
  readMap,
  METHODS,
  refuse,
  RPC,
  readText,
  readTexts,
  readValue,
} from '../../src/plugin.ts'
import type { RoutingRule } from './rules.ts'
import { listMethods, createParamMapper, compileRoutes } from './rules.ts'

const ERRORS = {
  GW_DENIED: {
    text: '{reason}',
    hint: 'A rule in routes refuses it.',
    http: 403,
    rpc: RPC.invalidParams,
  },
} as const

export const routingError = defineErrors(ERRORS)

type RouteMatch = Readonly<Record<string, readonly string[]>>

/** Reports routes that can never match or have an invalid target. */
function checkRoutes(config: unknown, report: Report): void {
  const routes = readList(config, 'routes')
  const matches = routes.map(readMatch)
  matches.forEach((match, i) => {
    const pointer = `/routes/${i}`
    const by = matches.slice(0, i).findIndex(earlier => isMatchCovered(earlier, match))
    if (by >= 0)
      report({
        pointer,
        message: `this route can never match: route ${by} (/routes/${by}) matches everything that it would match`,
        hint: 'move the narrower route first, or remove it',
      })
    checkTarget(config, readText(routes[i], 'to'), `${pointer}/to`, report)
  })
}

function readMatch(route: unknown): RouteMatch {
  const match = readMap(route, 'match')
  const globs = Object.keys(match).map(key => [key, readTexts(match, key)] as const)
  return Object.fromEntries(globs)
}

function isMatchCovered(wide: RouteMatch, narrow: RouteMatch): boolean {
  return Object.entries(wide).every(
    ([key, globs]) => narrow[key]?.every(glob => globs.some(wider => isGlobCovered(wider, glob))) ?? false,
  )
}

/** True if one glob matches everything that another does; false if unsure. */
function isGlobCovered(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === '**') return true
  const stem = wide.replace(/\*$/, '')
  if (!isLiteral(stem) || stem === wide) return false
  return narrow.startsWith(stem) && !/[/{}()![\]]|\*\*/.test(narrow.slice(stem.length)) && !narrow.startsWith('.')
}

function isLiteral(glob: string): boolean {
  return !/[*?{}()!+@[\]\\]/.test(glob)
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
    const rules = compileRoutes(options, config.auth)
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
    return [...steps, explainStep(rules[at], `/routes/${at}`)]
  })
}

function explainStep(matchedRule: RoutingRule | undefined, rule: string): ExplainStep {
  if (matchedRule === undefined)
    return {
      by: 'routing',
      at: 'route',
      does: 'passes',
      text: 'no route matches; sent to the upstream that provides the name',
    }
  if (matchedRule.deny !== undefined)
    return { by: 'routing', at: 'request', does: 'refuses', text: matchedRule.deny, rule }
  const text = matchedRule.to === undefined ? 'the matching route has no target' : `routed to "${matchedRule.to}"`
  return { by: 'routing', at: 'route', does: matchedRule.to === undefined ? 'passes' : 'changes', text, rule }
}
