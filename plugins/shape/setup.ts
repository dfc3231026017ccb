import type {
  Answer,
  Call,
  CatalogEntry,
  Config,
  Exchange,
  ExplainStep,
  Metric,
  PluginApi,
  Session,
  UpstreamConfig,
  JsonObject,
  Payload,
  Slot,
} from '../../src/plugin.ts'
import { callerKey, formatDuration, gatewayError, parseDuration, parseSize, isObject } from '../../src/plugin.ts'
import type { ResultStoreLimits } from './read-result.ts'
import { ResultStore, readResult } from './read-result.ts'
import type { BuiltInTool } from './results-upstream.ts'
import { READ_RESULT, RESULT, ResultsUpstream } from './results-upstream.ts'
import type { ShapingRule, ShapeConfig, CompiledPick } from './shaping-rules.ts'
import { applyClientFacts, ShapingRules, compilePick, MAX_PICK_LENGTH, shapeError } from './shaping-rules.ts'
import { shapeResult } from './shape-result.ts'
import { SlowCalls } from './slow-calls.ts'

/** Results upstream name and type. */
const RESULTS_UPSTREAM = 'results'

const TOOL_CALLS = { methods: ['tools/call'] } as const

/** Share of the shutdown grace period after which waiting clients are answered. */
const STOP_WAIT_SHARE = 0.7

/** State shared by all generations. */
interface ShapingState {
  store: ResultStore | undefined
  readonly slow: SlowCalls
  readonly results: Map<string, number>
}

/** Taps the hooks that the configured rules need. */
export function setUpShape(api: PluginApi<ShapeConfig | undefined>): void {
  const { config, hooks, slot, clock } = api
  const rules = new ShapingRules(config)
  const state = slot.gateway((): ShapingState => ({
    store: undefined,
    slow: new SlowCalls(),
    results: new Map(),
  }))
  const bounds = parseLimits(api.options)
  const store = (state.store ??= new ResultStore(clock, bounds))
  store.setLimits(bounds)
  const requestedPick: PickSlot = slot.exchange(() => ({ pick: undefined }))

  const tools = new Map<string, BuiltInTool>()
  if (rules.hasKey('maxTokens'))
    tools.set(READ_RESULT.name, {
      definition: READ_RESULT,
      call: (call, args) =>
        readResult(args, handle => store.findResult(api, getOwnerKey(call.exchange.session), handle)),
    })
  if (rules.hasKey('patience')) setUpSlowCalls(api, { rules, slow: state.slow, tools })
  hooks.configure.tap(written => addResultsUpstream(written, api.options?.prefix ?? '', [...tools.keys()]))
  hooks.createUpstream.for(RESULTS_UPSTREAM).tap((spec, context) => new ResultsUpstream(spec, context, tools))
  // Pin these tools: without them a cut result cannot be read.
  hooks.catalog.tap((entries, { kind }) => (kind === 'tools' ? entries.map(pinOwnEntry) : undefined))
  hooks.call.tap({ ...TOOL_CALLS, stage: 'trace' }, call => {
    if (call.upstream !== RESULTS_UPSTREAM) storeRequestedPick(call, rules, requestedPick)
  })
  const shape = createShaper(api, rules, store, state)
  // Tap before redaction, so that all other changes are done first.
  hooks.response.tap({ ...TOOL_CALLS, stage: 'trace' }, (answer, exchange) =>
    shape(answer, exchange, requestedPick.get(exchange).pick),
  )
  hooks.listing.tap({ readers: () => '' }, (entries, { profile, kind }) =>
    kind === 'tools' ? adaptListing(entries, entry => findEntryRule(entry, rules, profile)) : undefined,
  )
  explainShape(api, rules)
  hooks.metrics.tap(figures => [...figures, ...listFigures(store, state)])
}

interface SlowCallDeps {
  readonly rules: ShapingRules
  readonly slow: SlowCalls
  readonly tools: Map<string, BuiltInTool>
}

/** Lets calls continue after their client's timeout. */
function setUpSlowCalls(api: PluginApi<ShapeConfig | undefined>, { rules, slow, tools }: SlowCallDeps): void {
  const { hooks, clock } = api
  tools.set(RESULT.name, {
    definition: RESULT,
    call: (call, args) => slow.answerResult(call, args, getOwnerKey(call.exchange.session), api),
  })
  hooks.call.tap({ ...TOOL_CALLS, setsPatience: true }, call => {
    const { params, session } = call.exchange
    if (call.upstream === RESULTS_UPSTREAM) return
    const rule = rules.findRule(String(params?.name), call.upstream, session.profile)
    const ms = rule && applyClientFacts(rule, () => api.getClientLimits(session.client.info.name)).patienceMs
    if (ms !== undefined) call.patience = slow.createPatience(call, getOwnerKey(session), ms, api)
  })
  hooks.stopping.tap(graceMs => void clock.after(graceMs * STOP_WAIT_SHARE, () => slow.stopWaiting()))
}

/** Pins the gateway's own tools in shortened lists. */
function pinOwnEntry(entry: CatalogEntry): CatalogEntry {
  return entry.upstream === RESULTS_UPSTREAM ? { ...entry, marks: { ...entry.marks, pinned: 'always' } } : entry
}

function findEntryRule(
  { exposed, upstream }: CatalogEntry,
  rules: ShapingRules,
  profile?: string,
): ShapingRule | undefined {
  return upstream === RESULTS_UPSTREAM ? undefined : rules.findRule(exposed, upstream, profile)
}

function parseLimits(options: ShapeConfig | undefined): ResultStoreLimits {
  const { bytes = '64MiB', share = '16MiB', for: time = '15m' } = options?.keep ?? {}
  return { bytes: parseSize(bytes), share: parseSize(share), forMs: Math.max(1, parseDuration(time)) }
}

/** Adds the results upstream. Its tools are part of its spec, so that a reload with other tools recreates it. */
function addResultsUpstream(config: Config, prefix: string, offers: readonly string[]): Config {
  if (config.upstreams[RESULTS_UPSTREAM] !== undefined) {
    const why = `the upstream name "${RESULTS_UPSTREAM}" is reserved`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'shape', why })
  }
  const spec = { type: RESULTS_UPSTREAM, prefix, start: 'eager', offers } as unknown as UpstreamConfig
  return { ...config, upstreams: { ...config.upstreams, [RESULTS_UPSTREAM]: spec } }
}

/** Result owner: issuer and subject, or the session of an anonymous caller. */
function getOwnerKey(session: Session): string {
  return JSON.stringify([callerKey(session), session.principal.delegate ?? ''])
}

/** Returns a function that shapes answers by the rules. */
function createShaper(
  api: PluginApi<ShapeConfig | undefined>,
  rules: ShapingRules,
  store: ResultStore,
  { results: counts, slow }: ShapingState,
): (answer: Answer, exchange: Exchange, pick: CompiledPick | undefined) => Answer | undefined {
  const { log, getClientLimits } = api
  const findRule = ({ params, session }: Exchange, upstream: string): ShapingRule | undefined => {
    const rule = rules.findRule(String(params?.name), upstream, session.profile)
    return rule && applyClientFacts(rule, () => getClientLimits(session.client.info.name))
  }
  const shape = (
    result: Payload,
    exchange: Exchange,
    rule: ShapingRule,
    pick: CompiledPick | undefined,
  ): Answer | undefined => {
    const owner = getOwnerKey(exchange.session)
    const shaped = shapeResult(result, {
      rule,
      requestedPick: pick,
      schema: exchange.entry?.value.outputSchema,
      store: page => store.store(api, owner, result.bytes(), page),
    })
    if (shaped === undefined) return undefined
    for (const change of shaped.done) counts.set(change, (counts.get(change) ?? 0) + 1)
    log.debug('result shaped', { tool: exchange.params?.name, done: shaped.done.join(', ') })
    return { result: shaped.result }
  }
  return (answer, exchange, pick) => {
    const { route } = exchange
    if (!('result' in answer) || route?.to !== 'one') return undefined
    if (route.upstream === RESULTS_UPSTREAM || slow.isOwnAnswer(answer.result)) return undefined
    const rule = findRule(exchange, route.upstream) ?? (pick === undefined ? undefined : NO_RULE)
    return rule && shape(answer.result, exchange, rule, pick)
  }
}

/** Rule for a caller's pick if no rule applies. */
const NO_RULE: ShapingRule = {
  pick: undefined,
  drop: [],
  maxBytes: undefined,
  ask: false,
  patienceMs: undefined,
  asClient: [],
  from: [],
}

function listFigures(store: ResultStore, { results, slow }: ShapingState): readonly Metric[] {
  const samples = ['pick', 'drop', 'cut'].map(change => ({ labels: { how: change }, value: results.get(change) ?? 0 }))
  const single = (value: number): Metric['samples'] => [{ value }]
  return [
    { name: 'tapgate_shaped_results', type: 'counter', help: 'Shaped results, by operation.', samples },
    {
      name: 'tapgate_slow_calls',
      type: 'counter',
      help: 'Calls that continued after their client timed out.',
      samples: single(slow.count),
    },
    {
      name: 'tapgate_kept_results',
      type: 'gauge',
      help: 'Complete results in the store.',
      samples: single(store.size),
    },
    {
      name: 'tapgate_kept_results_bytes',
      type: 'gauge',
      help: 'Bytes of complete results in the store.',
      samples: single(store.bytes),
    },
  ]
}

/** Explains how a call's result is shaped. */
function explainShape(
  { hooks, getClientLimits }: Pick<PluginApi, 'hooks' | 'getClientLimits'>,
  rules: ShapingRules,
): void {
  hooks.explain.tap((steps, { exchange, entry, call }) => {
    if (entry === undefined || call === undefined) return undefined
    const rule = rules.findRule(entry.exposed, entry.upstream, exchange.session.profile)
    if (rule === undefined) return undefined
    const { client } = exchange.session
    return [...steps, ...explainRule(applyClientFacts(rule, () => getClientLimits(client.info.name)))]
  })
}

function explainRule({ pick, drop, maxBytes, ask, patienceMs, from }: ShapingRule): ExplainStep[] {
  const texts = [
    patienceMs === undefined ? undefined : `continues in the background after ${formatDuration(patienceMs)}`,
    drop.length === 0 ? undefined : `${drop.length} paths are removed from the result`,
    pick === undefined ? undefined : `pick: ${pick.text}`,
    ask ? 'the caller may select a part of the result' : undefined,
    maxBytes === undefined ? undefined : `results over ${maxBytes} bytes are truncated; the complete result is stored`,
  ]
  const [ruleName] = from
  const rule = ruleName === undefined ? {} : { rule: ruleName }
  return texts
    .filter(text => text !== undefined)
    .map(text => ({ by: 'shape', at: 'server', does: 'changes', text, ...rule }))
}

const PICK_ARGUMENT = {
  type: 'string',
  description: 'JMESPath expression for the part of the result to return. Omit it for the complete result.',
}

/**
 * Adapts tools in a list: removes an output schema that a pick invalidates, and adds the pick argument if allowed.
 */
function adaptListing(
  entries: readonly CatalogEntry[],
  ruleOf: (entry: CatalogEntry) => ShapingRule | undefined,
): readonly CatalogEntry[] | undefined {
  const changed = entries.map(entry => {
    const rule = ruleOf(entry)
    return rule === undefined ? entry : addPickArgument(dropOutputSchema(entry, rule), rule)
  })
  return changed.every((entry, index) => entry === entries[index]) ? undefined : changed
}

function dropOutputSchema(entry: CatalogEntry, { pick, drop, ask, patienceMs, asClient }: ShapingRule): CatalogEntry {
  const mayGoOn = patienceMs !== undefined || asClient.includes('patience')
  const changes = pick !== undefined || drop.length > 0 || ask || mayGoOn
  if (!changes || entry.value.outputSchema === undefined) return entry
  const { outputSchema: _schema, ...value } = entry.value
  return { ...entry, value }
}

function addPickArgument(entry: CatalogEntry, { ask }: ShapingRule): CatalogEntry {
  const schema = entry.value.inputSchema
  if (!ask || !isObject(schema) || hasPickArgument(entry)) return entry
  const properties = {
    ...(isObject(schema.properties) ? schema.properties : {}),
    [PICK_ARGUMENT_NAME]: PICK_ARGUMENT,
  }
  return { ...entry, value: { ...entry.value, inputSchema: { ...schema, properties } } }
}

/** Expression in a request's `_meta`. */
const PICK_META_KEY = 'io.tapgate/pick'
/** Expression argument, if a rule has `ask`. */
const PICK_ARGUMENT_NAME = '_pick'

/** An exchange's pick, until its answer arrives. */
type PickSlot = Slot<Exchange, { readonly pick: CompiledPick | undefined }>

/** Removes the pick from the request before other plugins see it, and stores it. */
function storeRequestedPick(call: Call, rules: ShapingRules, slot: PickSlot): void {
  const { params, exchange } = call
  const inMeta = isObject(params?._meta) ? params._meta[PICK_META_KEY] : undefined
  const inArguments = isObject(params?.arguments) ? params.arguments[PICK_ARGUMENT_NAME] : undefined
  const isInArguments = inArguments !== undefined && mayPick(call, rules)
  if (inMeta === undefined && !isInArguments) return
  call.params = stripPick(params, isInArguments)
  exchange.params = stripPick(exchange.params, isInArguments)
  slot.set(exchange, { pick: parsePick(isInArguments ? inArguments : inMeta) })
}

/** @throws GatewayError for an invalid expression, before the call */
function parsePick(text: unknown): CompiledPick | undefined {
  if (text === '' || text === null || text === undefined) return undefined
  if (typeof text !== 'string') throw shapeError('GW_SHAPE_PICK', { why: 'not a string' })
  const compiled = compilePick(text, MAX_PICK_LENGTH)
  if ('mistake' in compiled) throw shapeError('GW_SHAPE_PICK', { why: compiled.mistake })
  return compiled.pick
}

/** False if the tool defines that argument itself. */
function mayPick({ exchange, upstream }: Call, rules: ShapingRules): boolean {
  const rule = rules.findRule(String(exchange.params?.name), upstream, exchange.session.profile)
  return rule?.ask === true && !hasPickArgument(exchange.entry)
}

/** True if the tool defines an argument `_pick` itself. */
function hasPickArgument(entry: CatalogEntry | undefined): boolean {
  const schema = entry?.value.inputSchema
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  return Object.hasOwn(properties, PICK_ARGUMENT_NAME)
}

function stripPick(params: JsonObject = {}, isInArguments: boolean): JsonObject {
  const { _meta, arguments: args, ...rest } = params
  const { [PICK_META_KEY]: _asked, ...meta } = isObject(_meta) ? _meta : {}
  const { [PICK_ARGUMENT_NAME]: _pick, ...otherArgs } = isObject(args) ? args : {}
  return {
    ...rest,
    ...(args === undefined ? {} : { arguments: isInArguments ? otherArgs : args }),
    ...(_meta === undefined ? {} : { _meta: isObject(_meta) ? meta : _meta }),
  }
}
