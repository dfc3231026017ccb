import type { CatalogEntry } from '../api/catalog-entry.ts'
import { hasName } from '../api/catalog-entry.ts'
import type { ExplainStep } from '../api/explain.ts'
import { EXPLAIN_STAGES } from '../api/explain.ts'
import type { Call, Exchange, Principal, Session } from '../api/index.ts'
import { ANONYMOUS } from '../api/principal.ts'
import { PipelineCall } from '../core/exchange.ts'
import type { RouteResult } from '../core/graph-types.ts'
import type { RuntimeGraph } from '../core/graph.ts'
import { onlooker } from '../core/session.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { redactValue } from '../util/secrets.ts'
import { findSimilar } from '../util/suggest.ts'

const METHOD = 'tools/call'
const VERB = 'explain'

/** Question about a call: which tool, with which arguments, by whom. */
interface Question {
  readonly tool: string
  readonly args: JsonObject | undefined
  readonly principal: Principal
  readonly client: string
  readonly profile: string | undefined
}

/** Way that a call would take, and its end. */
export interface Explanation {
  readonly tool: string
  readonly caller: { readonly issuer: string; readonly subject: string; readonly scopes: readonly string[] }
  readonly client: string
  readonly profile?: string
  readonly upstream?: string
  /** Name of the tool at its server. */
  readonly original?: string
  readonly outcome: Outcome
  readonly steps: readonly ExplainStep[]
}

/** Answerer of a call: the server, a part of the gateway in its place, or nobody. */
interface Outcome {
  readonly what: 'server' | 'answered' | 'refused' | 'asked'
  readonly by: string
  readonly text: string
}

/** Answers the verb `explain`: what a call would meet, step by step. No tool is called, and nothing is counted. */
export async function explain(graph: RuntimeGraph, params: JsonObject): Promise<Explanation> {
  const question = parseQuestion(params, graph)
  const { tool, principal, client, profile } = question
  const session = onlooker({ name: client, version: '' }, { principal, profile })
  const exchange = createExchange(question, session, graph)
  const listing = await stepsOfListing(graph, tool, session)
  const routed = await findRoute(exchange, graph)
  const call = 'route' in routed ? createCall(exchange, routed.route, graph) : undefined
  const about = { exchange, hasArguments: question.args !== undefined, entry: listing.entry, call }
  const own = [...listing.steps, ...('step' in routed ? [routed.step] : []), ...ownSteps(call, graph)]
  const steps = inOrder(graph.hooks.getRunner('explain')?.(own, about) ?? own)
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

function parseQuestion(params: JsonObject, graph: RuntimeGraph): Question {
  const { tool, arguments: args, as, scopes, client, profile } = params
  const wrong = (why: string): Error => gatewayError('GW_VERB_PARAMS', { verb: VERB, why })
  if (typeof tool !== 'string' || tool === '') throw wrong('"tool" must be the name of one')
  if (args !== undefined && !isObject(args)) throw wrong('"arguments" must be an object')
  const caller = as === undefined ? ANONYMOUS : named(String(as), graph)
  return {
    tool,
    args,
    principal: Array.isArray(scopes) ? { ...caller, scopes: scopes.map(String) } : caller,
    client: typeof client === 'string' ? client : 'explain',
    profile: typeof profile === 'string' ? profile : undefined,
  }
}

function named(name: string, { config, hooks }: RuntimeGraph): Principal {
  if (name === ANONYMOUS.subject) return ANONYMOUS
  const found = hooks.getRunner('resolveCaller')?.(name)
  if (found !== undefined && found !== null) return found
  const known = config.auth === undefined ? ' – without "auth" every caller is anonymous' : ''
  throw gatewayError('GW_CALLER_UNKNOWN', { caller: name, known })
}

function createExchange({ tool, args }: Question, session: Session, graph: RuntimeGraph): Pending {
  const params = { name: tool, ...(args === undefined ? {} : { arguments: args }) }
  return graph.exchange(session, { method: METHOD, params, emit: () => undefined })
}

type Pending = ReturnType<RuntimeGraph['exchange']>
type Route = Extract<RouteResult, { to: 'one' }>

/** The route that the call would take, or the step that says why there is none. */
async function findRoute(
  exchange: Pending,
  graph: RuntimeGraph,
): Promise<{ readonly route: Route } | { readonly step: ExplainStep }> {
  const refused = (text: string): { step: ExplainStep } => ({
    step: { by: 'core', at: 'route', does: 'refuses', text },
  })
  try {
    const decided = graph.hooks.getRunner('route', METHOD)?.(exchange)
    const found = await (decided === undefined || decided === null
      ? graph.router.find(exchange)
      : graph.router.permit(exchange, decided))
    if ('error' in found) return refused(`${found.error.message}${await meant(exchange, graph)}`)
    if (found.to === 'many') return refused('a rule sends it to several servers, which is for lists only')
    exchange.route = found
    return { route: found }
  } catch (thrown) {
    return refused(getErrorMessage(thrown))
  }
}

async function meant({ params, session }: Exchange, { catalog }: RuntimeGraph): Promise<string> {
  const { entries } = await catalog.load('tools', session)
  const names = entries.map(({ exposed }) => exposed)
  const suggestion = findSimilar(String(params?.name), names)
  return suggestion === undefined
    ? ' – gateway tools lists what there is'
    : ` – did you mean "${suggestion}"?`
}

function createCall(exchange: Pending, route: Route, { router }: RuntimeGraph): Call {
  const call = new PipelineCall(route.upstream, METHOD, route.params, exchange)
  router.mirrorParams(call, route.entry)
  return call
}

/** The core's own part: what goes into headers, and the server at the end. */
function ownSteps(call: Call | undefined, { upstreams }: RuntimeGraph): ExplainStep[] {
  const upstream = call === undefined ? undefined : upstreams.get(call.upstream)?.upstream
  if (call === undefined || upstream === undefined) return []
  const { name, state, problem, server, spec } = upstream
  const headers = Object.keys(call.headers)
  const mirrored: ExplainStep = {
    ...{ by: 'core', at: 'call', does: 'changes' },
    text: `arguments stand in headers too: ${headers.join(', ')}`,
    facts: { headers },
  }
  const said = server === undefined ? '' : `, ${server.era} ${server.version}`
  const trouble = problem === undefined ? '' : `: ${problem}`
  return [
    ...(headers.length === 0 ? [] : [mirrored]),
    {
      ...{ by: 'core', at: 'server', does: 'passes' },
      text: `"${name}" (${spec.type}${said}) is ${state}${trouble}, and knows the tool as ${String(call.params?.name)}`,
      facts: { upstream: name, type: spec.type, state, original: call.params?.name },
    },
  ]
}

function inOrder(steps: readonly ExplainStep[]): ExplainStep[] {
  return [...steps].sort((a, b) => EXPLAIN_STAGES.indexOf(a.at) - EXPLAIN_STAGES.indexOf(b.at))
}

const ENDS: Partial<Record<ExplainStep['does'], Outcome['what']>> = {
  refuses: 'refused',
  answers: 'answered',
  asks: 'asked',
}

function computeOutcome(steps: readonly ExplainStep[], call: Call | undefined): Outcome {
  const end = steps.find(({ does }) => ENDS[does] !== undefined)
  const what = end === undefined ? undefined : ENDS[end.does]
  if (end !== undefined && what !== undefined) {
    // Where a plugin hides something and says later why, the reason is worth more.
    const { text } = steps.findLast(({ by, does }) => by === end.by && does === end.does) ?? end
    return { what, by: end.by, text }
  }
  if (call === undefined) return { what: 'refused', by: 'core', text: 'no server has it' }
  return { what: 'server', by: call.upstream, text: `"${call.upstream}" answers` }
}

/** The tool as its caller sees it, and how that came about. */
interface Listing {
  readonly entry: CatalogEntry | undefined
  readonly steps: readonly ExplainStep[]
}

/** An entry on its way through the `catalog` taps. */
interface CatalogTrace {
  /** As the caller sees it; undefined where a tap hides it. */
  readonly seen: CatalogEntry | undefined
  /** True if the caller's name for it was one of its names on the way. */
  readonly isMeant: boolean
  readonly steps: readonly ExplainStep[]
}

/** Says of a tool whose it is, and which plugins hide, rename or describe it for this caller. */
async function stepsOfListing(graph: RuntimeGraph, tool: string, session: Session): Promise<Listing> {
  const view = await graph.catalog.load('tools', session)
  const parts = await Promise.all(
    [...graph.upstreams.keys()].map(name => graph.catalog.part(name, 'tools', session)),
  )
  const passages = parts
    .flatMap(part => part?.entries ?? [])
    .map(entry => traceCatalog(entry, tool, session, graph))
    .filter(({ isMeant, seen }) => isMeant && (seen === undefined || hasName(seen, tool)))
  const entry = view.find(tool)
  const owner = passages.find(({ seen }) => seen !== undefined && seen.upstream === entry?.upstream)
  if (owner === undefined) return { entry, steps: passages.flatMap(({ steps }) => steps) }
  const others = passages.filter(one => one !== owner && one.seen !== undefined)
  return { entry, steps: [...owner.steps, ...others.map(({ seen }) => withheld(seen, owner))] }
}

function withheld(seen: CatalogEntry | undefined, { seen: owner }: CatalogTrace): ExplainStep {
  const text = `"${String(seen?.upstream)}" offers one of that name too, and is declared after "${String(owner?.upstream)}"`
  return { by: 'core', at: 'listing', does: 'passes', text }
}

function traceCatalog(
  raw: CatalogEntry,
  tool: string,
  session: Session,
  { hooks }: RuntimeGraph,
): CatalogTrace {
  const view = { kind: raw.kind, principal: session.principal, profile: session.profile }
  const steps: ExplainStep[] = [listed(raw)]
  let entry = raw
  let isMeant = hasName(raw, tool)
  for (const { plugin, run } of hooks.listTaps('catalog')) {
    const decided = run([entry], view)
    const [next] = decided ?? [entry]
    if (next === undefined) return { seen: undefined, isMeant, steps: [...steps, hidden(plugin, entry)] }
    if (next !== entry) steps.push(...changed(plugin, entry, next))
    entry = next
    isMeant ||= hasName(entry, tool)
  }
  return { seen: entry, isMeant, steps }
}

function listed({ upstream, original, exposed }: CatalogEntry): ExplainStep {
  const shown = original === exposed ? '' : `, shown as ${exposed}`
  const text = `"${upstream}" offers ${original}${shown}`
  return { by: 'core', at: 'listing', does: 'passes', text, facts: { upstream, original, exposed } }
}

function hidden(by: string, { exposed }: CatalogEntry): ExplainStep {
  return { by, at: 'listing', does: 'refuses', text: `${exposed} is hidden from this caller` }
}

function changed(by: string, before: CatalogEntry, now: CatalogEntry): ExplainStep[] {
  const facts = before.exposed === now.exposed ? [] : [`renames it to ${now.exposed}`]
  if (before.value.description !== now.value.description) facts.push('describes it in other words')
  else if (before.value !== now.value) facts.push('shows it in another form')
  if (facts.length === 0) return []
  return [{ by, at: 'listing', does: 'changes', text: facts.join(', ') }]
}
