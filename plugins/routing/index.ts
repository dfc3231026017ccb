import type {
  Answer,
  Config,
  Exchange,
  ExplainStep,
  Plugin,
  PluginHooks,
  Report,
  Route,
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
} from '../../src/plugin.ts'
import type { Rule } from './rules.ts'
import { methodsOf, ownParams, prepare } from './rules.ts'

/** Errors of routes. */
const ERRORS = {
  GW_DENIED: {
    text: '{reason}',
    hint: 'A rule of routes refuses it.',
    http: 403,
    rpc: RPC.invalidParams,
  },
} as const

export const routingError = defineErrors(ERRORS)

type Match = Readonly<Record<string, readonly string[]>>

/** Each names what is asked for; a request has one of them at most. */
const SUBJECTS = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const
const SUBJECT_NAMES = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]

/** Routes that can never match, or lead nowhere, are mistakes. */
function check(config: unknown, report: Report): void {
  const routes = readList(config, 'routes')
  const matches = routes.map(matchOf)
  matches.forEach((match, i) => {
    const pointer = `/routes/${i}`
    const why = contradiction(match) ?? shadowed(match, matches.slice(0, i)) ?? filteredOut(match, config)
    if (why !== undefined)
      report({ pointer, message: `this route can never match: ${why.message}`, hint: why.hint })
    checkTarget(config, readText(routes[i], 'to'), `${pointer}/to`, report)
  })
}

function matchOf(route: unknown): Match {
  const match = readMap(route, 'match')
  const globs = Object.keys(match).map(
    key => [key, readList(match, key).filter(glob => typeof glob === 'string')] as const,
  )
  return Object.fromEntries(globs)
}

interface Why {
  readonly message: string
  readonly hint: string
}

function contradiction(match: Match): Why | undefined {
  const subjects = SUBJECT_NAMES.filter(key => match[key] !== undefined)
  const [first, second] = subjects
  if (first === undefined) return undefined
  if (second !== undefined)
    return { message: `no request has both a ${first} and a ${second}`, hint: 'make two routes of it' }
  const methods = match.method
  if (
    methods === undefined ||
    !methods.every(isLiteral) ||
    methods.some(method => method.startsWith(methodGroup(first)))
  )
    return undefined
  return {
    message: `${methods.join(', ')} names no ${first}`,
    hint: `leave "method" out; "${first}" implies it`,
  }
}

/** `completion/complete`, subscriptions and the like name prompts and resources too. */
function methodGroup(subject: keyof typeof SUBJECTS): string {
  return subject === 'tool' ? SUBJECTS.tool : ''
}

function shadowed(match: Match, earlier: readonly Match[]): Why | undefined {
  const by = earlier.findIndex(other => coversMatch(other, match))
  if (by < 0) return undefined
  return {
    message: `route ${by} (/routes/${by}) takes everything it would get`,
    hint: 'put the narrower route first, or remove it',
  }
}

function coversMatch(wide: Match, narrow: Match): boolean {
  return Object.entries(wide).every(
    ([key, globs]) => narrow[key]?.every(glob => globs.some(wider => covers(wider, glob))) ?? false,
  )
}

/** True if one glob matches all that another does, as far as it can be told without trying. */
function covers(wide: string, narrow: string): boolean {
  if (wide === narrow || wide === '**') return true
  const stem = wide.replace(/\*$/, '')
  if (!isLiteral(stem) || stem === wide) return false
  return (
    narrow.startsWith(stem) && !/[/{}()![\]]|\*\*/.test(narrow.slice(stem.length)) && !narrow.startsWith('.')
  )
}

function isLiteral(glob: string): boolean {
  return !/[*?{}()!+@[\]\\]/.test(glob)
}

/** A tool that the global filter takes away is not there for any route. */
function filteredOut(match: Match, config: unknown): Why | undefined {
  for (const [key, section] of [
    ['tool', 'tools'],
    ['prompt', 'prompts'],
    ['resource', 'resources'],
  ] as const) {
    const denied = readList(config, 'filters', section, 'deny').filter(glob => typeof glob === 'string')
    const gone = match[key]?.every(glob => denied.some(wide => covers(wide, glob)))
    if (gone === true)
      return {
        message: `filters.${section}.deny takes away everything it names`,
        hint: 'change the filter or the route',
      }
  }
  return undefined
}

function checkTarget(config: unknown, to: string | undefined, pointer: string, report: Report): void {
  const names = Object.keys(readMap(config, 'upstreams'))
  if (to === undefined || !checkKnownName(to, { what: 'upstream', names }, pointer, report)) return
  if (readValue(config, 'upstreams', to, 'enabled') !== false) return
  report({ pointer, message: `upstream "${to}" is disabled`, hint: `enable it, or remove the route` })
}

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
      hooks.request.tap({ stage: 'policy', methods, checksUris: judgesUris }, exchange =>
        refusal(first(exchange)),
      )
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
