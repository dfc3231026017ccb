import type { CatalogEntry } from '../api/catalog-entry.ts'
import { hasName } from '../api/catalog-entry.ts'
import type { ExplainStep } from '../api/explain-step.ts'
import { EXPLAIN_STAGES } from '../api/explain-step.ts'
import type { Call, Exchange, Principal, Session } from '../api/index.ts'
import { ANONYMOUS } from '../api/principal.ts'
import { PipelineCall } from '../core/exchange.ts'
import type { RouteResult } from '../core/graph-types.ts'
import type { RuntimeGraph } from '../core/generation-graph.ts'
import { createOnlooker } from '../core/session.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { redactValue } from '../util/secrets.ts'
import { findSimilar } from '../util/suggest.ts'

const METHOD = 'tools/call'
const VERB = 'explain'

/** The call to explain: tool, arguments and caller. */
interface ExplainQuery {
  readonly tool: string
  readonly args: JsonObject | undefined
  readonly principal: Principal
  readonly client: string
  readonly profile: string | undefined
}

/** Call steps, and the outcome. */
export interface Explanation {
  readonly tool: string
  readonly caller: { readonly issuer: string; readonly subject: string; readonly scopes: readonly string[] }
  readonly client: string
  readonly profile?: string
  readonly upstream?: string
  /** Tool name on its server. */
  readonly original?: string
  readonly outcome: CallOutcome
  readonly steps: readonly ExplainStep[]
}

/** Expected responder: the server, a gateway component, or nothing. */
interface CallOutcome {
  readonly what: 'server' | 'answered' | 'refused' | 'asked'
  readonly by: string
  readonly text: string
}

/** Handles the verb `explain`: returns a call's steps, without calling a tool or changing counters. */
export async function explainCall(graph: RuntimeGraph, params: JsonObject): Promise<Explanation> {
  const question = parseExplainQuery(params, graph)
  const { tool, principal, client, profile } = question
  const session = createOnlooker({ name: client, version: '' }, { principal, profile })
  const exchange = createProbeExchange(question, session, graph)
  const listing = await traceListing(graph, tool, session)
  const routed = await findProbeRoute(exchange, graph)
  const call = 'route' in routed ? createProbeCall(exchange, routed.route, graph) : undefined
  const about = { exchange, hasArguments: question.args !== undefined, entry: listing.entry, call }
  const own = [...listing.steps, ...('step' in routed ? [routed.step] : []), ...collectCoreSteps(call, graph)]
  const steps = orderSteps(graph.hooks.getRunner('explain')?.(own, about) ?? own)
  const { issuer, subject, scopes } = principal
  const explanation: Explanation = {
    tool,
    caller: { issuer, subject, scopes },
    client,
    ...(profile === undefined ? {} : { profile }),
    ...(call === undefined ? {} : { upstream: call.upstream, original: String(call.params?.name) }),
    outcome: computeOutcome(steps, call),
    steps,
  }
  return redactValue(explanation, graph.hide)
}

function parseExplainQuery(params: JsonObject, graph: RuntimeGraph): ExplainQuery {
  const { tool, arguments: args, as, scopes, client, profile } = params
  const wrong = (reason: string): Error => gatewayError('GW_VERB_PARAMS', { verb: VERB, why: reason })
  if (typeof tool !== 'string' || tool === '') throw wrong('"tool" must be the name of a tool')
  if (args !== undefined && !isObject(args)) throw wrong('"arguments" must be an object')
  const caller = findPrincipal(as, graph)
  return {
    tool,
    args,
    principal: Array.isArray(scopes) ? { ...caller, scopes: scopes.map(String) } : caller,
    client: typeof client === 'string' ? client : 'explain',
    profile: typeof profile === 'string' ? profile : undefined,
  }
}

/**
 * Finds the caller that the owner names; anonymous by default.
 * @throws GatewayError GW_CALLER_UNKNOWN
 */
export function findPrincipal(as: unknown, { config, hooks }: RuntimeGraph): Principal {
  const name = String(as ?? ANONYMOUS.subject)
  if (name === ANONYMOUS.subject) return ANONYMOUS
  const principal = hooks.services.findCaller?.(name)
  if (principal !== undefined) return principal
  const hint = config.auth === undefined ? ' – without "auth" every caller is anonymous' : ''
  throw gatewayError('GW_CALLER_UNKNOWN', { caller: name, known: hint })
}

function createProbeExchange({ tool, args }: ExplainQuery, session: Session, graph: RuntimeGraph): ProbeExchange {
  const params = { name: tool, ...(args === undefined ? {} : { arguments: args }) }
  return graph.exchange(session, { method: METHOD, params, emit: () => undefined })
}

type ProbeExchange = ReturnType<RuntimeGraph['exchange']>
type SingleRoute = Extract<RouteResult, { to: 'one' }>

/** Returns the call's route, or the step that rejects it. */
async function findProbeRoute(
  exchange: ProbeExchange,
  graph: RuntimeGraph,
): Promise<{ readonly route: SingleRoute } | { readonly step: ExplainStep }> {
  const refused = (text: string): { step: ExplainStep } => ({
    step: { by: 'core', at: 'route', does: 'refuses', text },
  })
  try {
    const decided = graph.hooks.getRunner('route', METHOD)?.(exchange)
    const result = await (decided === undefined || decided === null
      ? graph.router.findRoute(exchange)
      : graph.router.checkRoute(exchange, decided))
    if ('error' in result) return refused(`${result.error.message}${await suggestTool(exchange, graph)}`)
    if (result.to === 'many')
      return refused('a routing rule selects several servers, which is only supported for lists')
    exchange.route = result
    return { route: result }
  } catch (thrown) {
    return refused(getErrorMessage(thrown))
  }
}

async function suggestTool({ params, session }: Exchange, { catalog }: RuntimeGraph): Promise<string> {
  const { entries } = await catalog.load('tools', session)
  const names = entries.map(({ exposed }) => exposed)
  const suggestion = findSimilar(String(params?.name), names)
  return suggestion === undefined ? ' – run "gateway tools" to list all tools' : ` – did you mean "${suggestion}"?`
}

function createProbeCall(exchange: ProbeExchange, route: SingleRoute, { router }: RuntimeGraph): Call {
  const call = new PipelineCall(route.upstream, METHOD, route.params, exchange)
  router.mirrorParams(call, route.entry)
  return call
}

/** The core's own steps: header parameters, and the server. */
function collectCoreSteps(call: Call | undefined, { upstreams }: RuntimeGraph): ExplainStep[] {
  const upstream = call === undefined ? undefined : upstreams.get(call.upstream)?.upstream
  if (call === undefined || upstream === undefined) return []
  const { name, state, problem, server, spec } = upstream
  const headers = Object.keys(call.headers)
  const mirrored: ExplainStep = {
    ...{ by: 'core', at: 'call', does: 'changes' },
    text: `arguments are copied to headers: ${headers.join(', ')}`,
    facts: { headers },
  }
  const serverText = server === undefined ? '' : `, ${server.era} ${server.version}`
  const trouble = problem === undefined ? '' : `: ${problem}`
  return [
    ...(headers.length === 0 ? [] : [mirrored]),
    {
      ...{ by: 'core', at: 'server', does: 'passes' },
      text: `"${name}" (${spec.type}${serverText}) is ${state}${trouble}; the original tool name is ${String(call.params?.name)}`,
      facts: { upstream: name, type: spec.type, state, original: call.params?.name },
    },
  ]
}

function orderSteps(steps: readonly ExplainStep[]): ExplainStep[] {
  return [...steps].sort((a, b) => EXPLAIN_STAGES.indexOf(a.at) - EXPLAIN_STAGES.indexOf(b.at))
}

const OUTCOME_KINDS: Partial<Record<ExplainStep['does'], CallOutcome['what']>> = {
  refuses: 'refused',
  answers: 'answered',
  asks: 'asked',
}

function computeOutcome(steps: readonly ExplainStep[], call: Call | undefined): CallOutcome {
  const end = steps.find(({ does }) => OUTCOME_KINDS[does] !== undefined)
  const kind = end === undefined ? undefined : OUTCOME_KINDS[end.does]
  if (end !== undefined && kind !== undefined) {
    // Prefer the reason that a plugin gives later for an entry that it hid.
    const { text } = steps.findLast(({ by, does }) => by === end.by && does === end.does) ?? end
    return { what: kind, by: end.by, text }
  }
  if (call === undefined) return { what: 'refused', by: 'core', text: 'tool not found' }
  return { what: 'server', by: call.upstream, text: `"${call.upstream}" answers` }
}

/** A tool as its caller sees it, with the steps that led there. */
interface ListingSteps {
  readonly entry: CatalogEntry | undefined
  readonly steps: readonly ExplainStep[]
}

/** An entry on its path through the `catalog` taps. */
interface CatalogTrace {
  /** As the caller sees it; undefined if a tap hides it. */
  readonly visibleEntry: CatalogEntry | undefined
  /** True if the entry had the requested name at any step. */
  readonly isRequested: boolean
  readonly steps: readonly ExplainStep[]
}

/** Reports a tool's server, and the plugins that hide, rename or describe it for this caller. */
async function traceListing(graph: RuntimeGraph, tool: string, session: Session): Promise<ListingSteps> {
  const view = await graph.catalog.load('tools', session)
  const parts = await Promise.all(
    [...graph.upstreams.keys()].map(name => graph.catalog.getList(name, 'tools', session)),
  )
  const passages = parts
    .flatMap(part => part?.entries ?? [])
    .map(entry => traceCatalog(entry, tool, session, graph))
    .filter(
      ({ isRequested, visibleEntry }) => isRequested && (visibleEntry === undefined || hasName(visibleEntry, tool)),
    )
  const entry = view.findByName(tool)
  const owner = passages.find(
    ({ visibleEntry }) => visibleEntry !== undefined && visibleEntry.upstream === entry?.upstream,
  )
  if (owner === undefined) return { entry, steps: passages.flatMap(({ steps }) => steps) }
  const withheld = passages.filter(one => one !== owner && one.visibleEntry !== undefined)
  return {
    entry,
    steps: [...owner.steps, ...withheld.map(({ visibleEntry }) => createWithheldStep(visibleEntry, owner))],
  }
}

function createWithheldStep(entry: CatalogEntry | undefined, { visibleEntry: owner }: CatalogTrace): ExplainStep {
  const text = `"${String(entry?.upstream)}" has a tool with the same name, but is declared after "${String(owner?.upstream)}"`
  return { by: 'core', at: 'listing', does: 'passes', text }
}

function traceCatalog(raw: CatalogEntry, tool: string, session: Session, { hooks }: RuntimeGraph): CatalogTrace {
  const view = { kind: raw.kind, principal: session.principal, profile: session.profile }
  const steps: ExplainStep[] = [createListedStep(raw)]
  let entry = raw
  let isRequested = hasName(raw, tool)
  for (const { plugin, run } of hooks.listTaps('catalog')) {
    const decided = run([entry], view)
    const [next] = decided ?? [entry]
    if (next === undefined)
      return {
        visibleEntry: undefined,
        isRequested,
        steps: [...steps, createHiddenStep(plugin)],
      }
    if (next !== entry) steps.push(...createChangedSteps(plugin, entry, next))
    entry = next
    isRequested ||= hasName(entry, tool)
  }
  return { visibleEntry: entry, isRequested, steps }
}

function createListedStep({ upstream, original, exposed }: CatalogEntry): ExplainStep {
  const alias = original === exposed ? '' : `, shown as ${exposed}`
  const text = `"${upstream}" offers ${original}${alias}`
  return { by: 'core', at: 'listing', does: 'passes', text, facts: { upstream, original, exposed } }
}

function createHiddenStep(by: string): ExplainStep {
  return { by, at: 'listing', does: 'refuses', text: 'a rule hides it from this caller' }
}

function createChangedSteps(by: string, before: CatalogEntry, now: CatalogEntry): ExplainStep[] {
  const facts = before.exposed === now.exposed ? [] : [`renames it to ${now.exposed}`]
  if (before.value.description !== now.value.description) facts.push('changes its description')
  else if (before.value !== now.value) facts.push('changes its definition')
  if (facts.length === 0) return []
  return [{ by, at: 'listing', does: 'changes', text: facts.join(', ') }]
}
