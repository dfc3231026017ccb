import type {
  Answer,
  Call,
  CatalogEntry,
  Config,
  Exchange,
  ExplainStep,
  Metric,
  Payload,
  PluginApi,
  Session,
  UpstreamConfig,
} from '../../src/plugin.ts'
import {
  callerKey,
  formatDuration,
  gatewayError,
  parseDuration,
  parseSize,
  runInSlices,
} from '../../src/plugin.ts'
import type { AskedSlot } from './asked.ts'
import { listed, takeAsked } from './asked.ts'
import type { KeepBounds } from './kept-results.ts'
import { KeptResults } from './kept-results.ts'
import { readResource, readResult } from './read-result.ts'
import type { OwnTool } from './results-upstream.ts'
import { READ_RESULT, RESULT, ResultsUpstream } from './results-upstream.ts'
import type { Rule, ShapeConfig } from './rules.ts'
import { ruleOfClient, Rules } from './rules.ts'
import type { Shaped } from './shape-result.ts'
import { shapeResult } from './shape-result.ts'
import { SlowCalls } from './slow-calls.ts'

/** Name of the upstream that has what is kept, and of its type. */
const UPSTREAM = 'results'
/** Keys with which something may be left out of a result, and is kept. */
const CUTTING = ['maxTokens'] as const

const ONLY_CALLS = { methods: ['tools/call'] } as const

/** Part of the time for an end after which those who wait for a call are answered. */
const ANSWERED = 0.7

/** State that all generations share. */
interface Counted {
  kept: KeptResults | undefined
  readonly slow: SlowCalls
  readonly results: Map<string, number>
}

/** Puts the rules into the gateway. Without a rule of a kind nothing of that kind is tapped. */
export function setUp(api: PluginApi<ShapeConfig | undefined>): void {
  const { config, hooks, slot, clock, handles } = api
  const rules = new Rules(config)
  const state = slot.gateway((): Counted => ({ kept: undefined, slow: new SlowCalls(), results: new Map() }))
  const bounds = boundsOf(api.options)
  const kept = (state.kept ??= new KeptResults(clock, bounds))
  kept.bound(bounds)
  const asked: AskedSlot = slot.exchange(() => ({ pick: undefined }))

  const tools = new Map<string, OwnTool>()
  const find = (call: Call) => (handle: string) => kept.find(handles, ownerOf(call.exchange.session), handle)
  if (CUTTING.some(key => rules.has(key)))
    tools.set(READ_RESULT.name, {
      definition: READ_RESULT,
      run: (call, given) => readResult(given, find(call)),
    })
  if (rules.has('patience')) beSlow(api, { rules, slow: state.slow, tools })
  hooks.configure.tap(written => withResults(written, api.options?.prefix ?? '', [...tools.keys()]))
  hooks.createUpstream.for(UPSTREAM).tap(
    (spec, context) =>
      new ResultsUpstream(spec, context, {
        tools,
        readResource: call => readResource(String(call.params?.uri), find(call)),
      }),
  )
  // A list that shows few tools shows these: without them what was cut could not be read.
  hooks.catalog.tap((entries, { kind }) =>
    kind === 'tools'
      ? entries.map(entry => (entry.upstream === UPSTREAM ? pinned(entry) : entry))
      : undefined,
  )
  hooks.call.tap({ ...ONLY_CALLS, stage: 'trace' }, call => {
    if (call.upstream !== UPSTREAM) takeAsked(call, rules, asked)
  })
  const shaper = new Shaper(api, rules, kept, state)
  // Mirrored, and set up ahead of what redacts: whatever else changes a result has done so before.
  hooks.response.tap({ ...ONLY_CALLS, stage: 'trace' }, (answer, exchange) =>
    shaper.shaped(answer, exchange, asked),
  )
  hooks.listing.tap({ readers: () => '' }, (shown, { profile, kind }) =>
    kind === 'tools' ? listed(shown, entry => ruleOfEntry(entry, rules, profile)) : undefined,
  )
  explainShape(api, rules)
  hooks.metrics.tap(figures => [...figures, ...figuresOf(kept, state)])
}

interface Slowness {
  readonly rules: Rules
  readonly slow: SlowCalls
  readonly tools: Map<string, OwnTool>
}

/** Lets calls go on that take longer than their clients wait. */
function beSlow(api: PluginApi<ShapeConfig | undefined>, { rules, slow, tools }: Slowness): void {
  const { hooks, clock } = api
  tools.set(RESULT.name, {
    definition: RESULT,
    run: (call, given) => slow.result(call, given, ownerOf(call.exchange.session), api),
  })
  hooks.patience.tap(ONLY_CALLS, (_known, call) => {
    const { params, session } = call.exchange
    if (call.upstream === UPSTREAM) return undefined
    const rule = rules.for(String(params?.name), call.upstream, session.profile)
    const ms = rule && ruleOfClient(rule, () => api.getClientLimits(session.client.info.name)).patienceMs
    return ms === undefined ? undefined : slow.patienceOf(call, ownerOf(session), ms, api)
  })
  hooks.stopping.tap(graceMs => void clock.after(graceMs * ANSWERED, () => slow.stopWaiting()))
}

/** Marks an entry for plugins that leave out most of a list. */
function pinned(entry: CatalogEntry): CatalogEntry {
  return { ...entry, marks: { ...entry.marks, pinned: 'always' } }
}

function ruleOfEntry({ exposed, upstream }: CatalogEntry, rules: Rules, profile?: string): Rule | undefined {
  return upstream === UPSTREAM ? undefined : rules.for(exposed, upstream, profile)
}

function boundsOf(options: ShapeConfig | undefined): KeepBounds {
  const { bytes = '64MiB', share = '16MiB', for: time = '15m' } = options?.keep ?? {}
  return { bytes: parseSize(bytes), share: parseSize(share), forMs: Math.max(1, parseDuration(time)) }
}

/** The upstream that has what is kept. What it offers is a part of what makes it, so that a reload makes another one. */
function withResults(config: Config, prefix: string, offers: readonly string[]): Config {
  if (config.upstreams[UPSTREAM] !== undefined) {
    const why = `"${UPSTREAM}" as an upstream is a name of its own`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'shape', why })
  }
  const spec = { type: UPSTREAM, prefix, start: 'eager', offers } as unknown as UpstreamConfig
  return { ...config, upstreams: { ...config.upstreams, [UPSTREAM]: spec } }
}

/** Owner of a result: the caller, by issuer and subject; where nobody asked who that is, its session, if it has one. */
function ownerOf(session: Session): string {
  return JSON.stringify([callerKey(session), session.principal.delegate ?? ''])
}

/** The rules at work on answers. */
class Shaper {
  readonly #api: PluginApi<ShapeConfig | undefined>
  readonly #rules: Rules
  readonly #kept: KeptResults
  readonly #counts: Map<string, number>
  readonly #slow: SlowCalls

  constructor(
    api: PluginApi<ShapeConfig | undefined>,
    rules: Rules,
    kept: KeptResults,
    { results, slow }: Counted,
  ) {
    this.#api = api
    this.#rules = rules
    this.#kept = kept
    this.#counts = results
    this.#slow = slow
  }

  shaped(
    answer: Answer,
    exchange: Exchange,
    asked: AskedSlot,
  ): Answer | undefined | Promise<Answer | undefined> {
    const { route } = exchange
    if (!('result' in answer) || route?.to !== 'one' || this.#isOurs(answer.result, route.upstream))
      return undefined
    const { pick } = asked.get(exchange)
    const rule = this.#ruleOf(exchange, route.upstream) ?? (pick === undefined ? undefined : NO_RULE)
    if (rule === undefined) return undefined
    const before = answer.result.bytes()
    const owner = ownerOf(exchange.session)
    const work = shapeResult(answer.result, {
      rule,
      asked: pick,
      schema: exchange.entry?.value.outputSchema,
      keep: page => this.#kept.keep(this.#api.handles, owner, before, page),
    })
    const finish = (shaped: Shaped | undefined): Answer | undefined => {
      if (shaped === undefined) return undefined
      this.#note(shaped, exchange, before.length)
      return { result: shaped.result }
    }
    const shaped = runInSlices(work)
    return shaped instanceof Promise ? shaped.then(finish) : finish(shaped)
  }

  #isOurs(result: Payload, upstream: string): boolean {
    return upstream === UPSTREAM || this.#slow.hasSaid(result)
  }

  #ruleOf({ params, session }: Exchange, upstream: string): Rule | undefined {
    const rule = this.#rules.for(String(params?.name), upstream, session.profile)
    return rule && ruleOfClient(rule, () => this.#api.getClientLimits(session.client.info.name))
  }

  #note({ done, result }: Shaped, { params }: Exchange, bytes: number): void {
    for (const how of done) this.#counts.set(how, (this.#counts.get(how) ?? 0) + 1)
    this.#api.log.debug('a result was brought into form', {
      tool: params?.name,
      done: done.join(', '),
      bytes,
      left: result.bytes().length,
    })
  }
}

/** For a caller that wants a part of a result that no rule is about. */
const NO_RULE: Rule = {
  pick: undefined,
  drop: [],
  maxBytes: undefined,
  ask: false,
  patienceMs: undefined,
  asClient: [],
  from: [],
}

function figuresOf(kept: KeptResults, { results, slow }: Counted): readonly Metric[] {
  const samples = ['pick', 'drop', 'cut'].map(how => ({ labels: { how }, value: results.get(how) ?? 0 }))
  return [
    {
      name: 'tapgate_shaped_results',
      type: 'counter',
      help: 'Results that were brought into form, by how.',
      samples,
    },
    {
      name: 'tapgate_slow_calls',
      type: 'counter',
      help: 'Calls that took longer than a client without tasks waits, and went on.',
      samples: [{ value: slow.count }],
    },
    {
      name: 'tapgate_kept_results',
      type: 'gauge',
      help: 'Results that were cut and are kept whole.',
      samples: [{ value: kept.size }],
    },
    {
      name: 'tapgate_kept_results_bytes',
      type: 'gauge',
      help: 'Bytes of the results that are kept whole.',
      samples: [{ value: kept.bytes }],
    },
  ]
}

/** Says what would be done to the result of a call. */
function explainShape(
  { hooks, getClientLimits }: Pick<PluginApi, 'hooks' | 'getClientLimits'>,
  rules: Rules,
): void {
  hooks.explain.tap((steps, { exchange, entry, call }) => {
    if (entry === undefined || call === undefined) return undefined
    const rule = rules.for(entry.exposed, entry.upstream, exchange.session.profile)
    if (rule === undefined) return undefined
    const { client } = exchange.session
    return [...steps, ...stepsOf(ruleOfClient(rule, () => getClientLimits(client.info.name)))]
  })
}

function stepsOf({ pick, drop, maxBytes, ask, patienceMs, from }: Rule): ExplainStep[] {
  const texts = [
    patienceMs === undefined
      ? undefined
      : `a call that takes longer than ${formatDuration(patienceMs)} goes on by itself`,
    drop.length === 0 ? undefined : `${drop.length} paths are left out of the result`,
    pick === undefined ? undefined : `of the result is picked: ${pick.text}`,
    ask ? 'the caller may say what it wants of the result' : undefined,
    maxBytes === undefined
      ? undefined
      : `a result of more than ${maxBytes} bytes is cut, and kept whole for the caller`,
  ]
  const [place] = from
  const rule = place === undefined ? {} : { rule: place }
  return texts
    .filter(text => text !== undefined)
    .map(text => ({ by: 'shape', at: 'server', does: 'changes', text, ...rule }))
}
