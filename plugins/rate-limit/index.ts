import { resolve } from 'node:path'
import type {
  Answer,
  AskWatcher,
  Call,
  Config,
  Dispatch,
  Exchange,
  ExplainStep,
  Plugin,
  PluginApi,
  PluginHooks,
  Slot,
} from '../../src/plugin.ts'
import { DayCounts } from './day-counts.ts'
import type { RuleKey, UncountedPolicy, LimitSubject } from './limits.ts'
import { acquireSlots, ERRORS, Limits, releaseSlots, RateLimitRule, RuleCounts } from './limits.ts'

/**
 * Holds slots in rules with `inFlight`, except while the client is asked; its reply continues even if the limit is
 * reached. Returns a function that releases them.
 */
function holdSlots(exchange: Exchange, slots: readonly RuleKey[]): () => void {
  let isHeld = true
  const setHeld = (held: boolean): void => {
    if (held === isHeld) return
    isHeld = held
    if (held) acquireSlots(slots)
    else releaseSlots(slots)
  }
  const watcher: AskWatcher = { onAskStart: () => setHeld(false), onAskEnd: () => setHeld(true) }
  exchange.watchAsks(watcher)
  return () => {
    exchange.unwatchAsks(watcher)
    setHeld(false)
  }
}

type RateLimitConfig = NonNullable<Config['rateLimit']>

/** Methods that cost nothing, or that a client needs to learn that it must wait. */
const FREE: ReadonlySet<string> = new Set(['initialize', 'ping', 'server/discover'])
/** Methods called for one caller; lists are shared. */
const CALLS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
])
/** Fallback next to the configuration if the gateway has no state directory. */
const DEFAULT_STATE_DIRECTORY = '.gateway'
/** Stays open for hours without load. */
const LISTEN = 'subscriptions/listen'

/** Limits calls per minute, per day and concurrently. */
export const rateLimit: Plugin<RateLimitConfig> = {
  name: 'rate-limit',
  claims: { section: 'rateLimit', records: true },
  errors: ERRORS,
  setup(api) {
    const { hooks, slot, options, clock, shared } = api
    const rules = createRules(api)
    const days = shared === undefined ? createDayCounts(api) : undefined
    const limits = new Limits({ clock, days, store: shared })
    const early = rules.filter(rule => !rule.isLate)
    const late = rules.filter(rule => rule.isLate)
    explainLimits(hooks, rules, limits)

    if (early.length > 0) {
      const entered = slot.exchange((): (() => void) | undefined => undefined)
      const enter = (exchange: Exchange, slots: readonly RuleKey[] | Answer): Answer | undefined => {
        if (!isAdmitted(slots)) return slots
        if (exchange.method === LISTEN) releaseSlots(slots)
        else if (slots.length > 0) entered.set(exchange, holdSlots(exchange, slots))
        return undefined
      }
      hooks.request.tap({ stage: 'limit' }, exchange => {
        if (FREE.has(exchange.method)) return undefined
        const subject = createSubject(exchange, '', '')
        const slots = limits.admit(early, subject, getUncountedPolicy(exchange.method, options))
        return slots instanceof Promise ? slots.then(result => enter(exchange, result)) : enter(exchange, slots)
      })
      if (early.some(({ spec }) => spec.inFlight !== undefined))
        hooks.settled.tap(exchange => entered.get(exchange)?.())
    }

    if (late.length > 0) {
      // Retries after an input request are counted once.
      const deps: LateLimitDeps = { limits, counted: slot.exchange(() => false), options }
      hooks.dispatch.tap((next, { name }) => {
        const own = late.filter(rule => rule.appliesToUpstream(name))
        return own.length === 0 ? undefined : call => limitCall(own, call, next, deps)
      })
    }
  },
}

function isAdmitted(slots: readonly RuleKey[] | Answer): slots is readonly RuleKey[] {
  return Array.isArray(slots)
}

/** Returns the policy if a day cannot be counted: lists continue; calls follow `onFailure`. */
function getUncountedPolicy(method: string, { onFailure }: RateLimitConfig): UncountedPolicy {
  return CALLS.has(method) ? onFailure : 'continue'
}

interface LateLimitDeps {
  readonly options: RateLimitConfig
  readonly limits: Limits
  /** True for counted calls. */
  readonly counted: Slot<Exchange, boolean>
}

function limitCall(
  rules: readonly RateLimitRule[],
  call: Call,
  next: Dispatch,
  { limits, counted, options }: LateLimitDeps,
): Promise<Answer> {
  if (!CALLS.has(call.method) || counted.get(call.exchange)) return next(call)
  const dispatchAdmitted = (slots: readonly RuleKey[] | Answer): Promise<Answer> => {
    if (!isAdmitted(slots)) return Promise.resolve(slots)
    counted.set(call.exchange, true)
    if (slots.length === 0) return next(call)
    const release = holdSlots(call.exchange, slots)
    const answer = next(call)
    answer.then(release, release)
    return answer
  }
  const subject = createSubject(call.exchange, call.upstream, getToolName(call))
  const slots = limits.admit(rules, subject, getUncountedPolicy(call.method, options))
  return slots instanceof Promise ? slots.then(dispatchAdmitted) : dispatchAdmitted(slots)
}

function createRules({ options, config, slot }: PluginApi<RateLimitConfig>): RateLimitRule[] {
  const counts = slot.gateway(() => new Map<string, RuleCounts>())
  return Object.entries(options.rules).map(([name, spec]) => {
    const own = counts.get(name) ?? new RuleCounts()
    counts.set(name, own)
    return new RateLimitRule(name, spec, own, config.auth)
  })
}

/** Generations share the counts. Undefined if no rule has `perDay`. */
function createDayCounts({
  options,
  state,
  directory: base,
  clock,
  log,
  hooks,
  slot,
}: PluginApi<RateLimitConfig>): DayCounts | undefined {
  const current = slot.gateway((): { days?: DayCounts } => ({}))
  if (Object.values(options.rules).every(({ perDay }) => perDay === undefined)) return undefined
  // Day counts are always stored on disk, as a restart must not reset them.
  const directory =
    options.state === undefined && state !== undefined ? state : resolve(base, options.state ?? DEFAULT_STATE_DIRECTORY)
  if (current.days?.directory !== directory) current.days = new DayCounts({ directory, clock, log })
  const { days } = current
  hooks.close.tap(() => days.close())
  return days
}

function createSubject({ principal, session }: Exchange, upstream: string, tool: string): LimitSubject {
  return { principal, session, upstream, tool }
}

/** Returns the tool name that the client used, even after a route. */
function getToolName({ method, exchange }: Call): string {
  const name = method === 'tools/call' ? exchange.params?.name : undefined
  return typeof name === 'string' ? name : ''
}

/** Explains the limits that apply to a call without counting it. */
function explainLimits(hooks: PluginHooks, rules: readonly RateLimitRule[], limits: Limits): void {
  hooks.explain.tap((steps, { exchange, call }) => {
    const { name } = exchange.params ?? {}
    const upstream = call?.upstream ?? ''
    const late = createSubject(exchange, upstream, typeof name === 'string' ? name : '')
    const early = createSubject(exchange, '', '')
    const ruleSteps = rules.flatMap(rule => {
      if (rule.isLate && !rule.appliesToUpstream(upstream)) return []
      const key = rule.getKey(rule.isLate ? late : early)
      return key === undefined ? [] : [explainRule({ rule, key }, limits)]
    })
    return [...steps, ...ruleSteps]
  })
}

function explainRule({ rule, key }: RuleKey, limits: Limits): ExplainStep {
  const full = limits.findExceeded({ rule, key }, 'refuse')
  const at = rule.isLate ? 'dispatch' : 'request'
  const base = { by: 'rate-limit', at, rule: `/rateLimit/rules/${rule.name}` } as const
  if (full === undefined) return { ...base, does: 'passes', text: `counted by "${rule.name}": ${rule.describe()}` }
  const text = `"${rule.name}" is exceeded: ${full.allowed}, retry in ${Math.ceil(full.retryAfterMs / 1000)} s`
  return { ...base, does: 'refuses', text, isPassing: true }
}
