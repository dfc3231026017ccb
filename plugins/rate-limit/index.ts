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
import type { RuleKey } from './rule-counting.ts'
import { ERRORS, acquireSlots, releaseSlots, listRuleKeys, createLimitRefusal, countOnRules } from './rule-counting.ts'
import type { RuleCounts, LimitSubject, UncountedPolicy } from './rule.ts'
import { createCounts, RateLimitRule } from './rule.ts'
import type { SharedCountingState } from './shared/shared-counting.ts'

/** Slots for calls in flight. Reacquiring for a continued call never fails. */
interface InFlightSlots {
  release(acquired: readonly RuleKey[]): void
  reacquire(acquired: readonly RuleKey[]): readonly RuleKey[] | Promise<readonly RuleKey[]>
}

/**
 * Slots of one request in rules with `inFlight`. They are held until the client is answered, and while one of its
 * calls is at an upstream, even for a task. A call that waits for its client's input holds none.
 */
class InFlightHold implements AskWatcher {
  readonly #slots: InFlightSlots
  readonly #all: readonly RuleKey[]
  #has: readonly RuleKey[] | undefined
  #isOpen: boolean
  #isOver = false
  #calls = 0
  #isAsked = false
  /** Detects slots that arrive after a later release. */
  #round = 0

  /** `taken`: slots already held; `isOpen`: the client waits for an answer. */
  constructor(slots: InFlightSlots, acquired: readonly RuleKey[], isOpen: boolean) {
    this.#slots = slots
    this.#all = this.#has = acquired
    this.#isOpen = isOpen
  }

  /** Called when the client was answered. A retry of the same request holds its own slots. */
  onAnswered(isToCome: boolean): void {
    this.#isOpen = false
    this.#isOver ||= isToCome
    this.#update()
  }

  dispatchCall(call: Call, next: Dispatch): Promise<Answer> {
    if (this.#all.length === 0) return next(call)
    const onEnd = (): void => {
      this.#calls--
      call.exchange.unwatchAsks(this)
      this.#update()
    }
    this.#calls++
    // A task continues in its own exchange.
    call.exchange.watchAsks(this)
    this.#update()
    const answer = next(call)
    answer.then(onEnd, onEnd)
    return answer
  }

  onAskStart(): void {
    this.#isAsked = true
    this.#update()
  }

  onAskEnd(): undefined {
    this.#isAsked = false
    this.#update()
    return undefined
  }

  #update(): void {
    const isUnderWay = this.#isOpen || (this.#calls > 0 && !this.#isAsked && !this.#isOver)
    if (isUnderWay === (this.#has !== undefined)) return
    this.#round++
    if (this.#has !== undefined) this.#release(this.#has)
    else this.#reacquire()
  }

  #release(has: readonly RuleKey[]): void {
    this.#has = undefined
    this.#slots.release(has)
  }

  #reacquire(): void {
    const round = this.#round
    this.#has = []
    const acquired = this.#slots.reacquire(this.#all)
    if (!(acquired instanceof Promise)) this.#has = acquired
    else
      void acquired.then(reacquired => {
        if (this.#round === round) this.#has = reacquired
        else this.#slots.release(reacquired)
      })
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
  async setup(api) {
    const { hooks, slot, options } = api
    const rules = await createRules(api)
    const count = await createCounting(api, rules)
    const early = rules.filter(rule => !rule.isLate)
    const lateRules = rules.filter(rule => rule.isLate)
    explainLimits(hooks, rules, count === LOCAL_COUNTING)

    if (early.length > 0) {
      const entered = slot.exchange((): InFlightHold | undefined => undefined)
      const holdSlots = (exchange: Exchange, acquired: RuleKey[] | Answer): Answer | undefined => {
        if (!Array.isArray(acquired)) return acquired
        if (exchange.method === LISTEN) count.release(acquired)
        else if (acquired.length > 0) entered.set(exchange, new InFlightHold(count, acquired, true))
        return undefined
      }
      hooks.request.tap({ stage: 'limit', phase: 'policy' }, exchange => {
        if (FREE.has(exchange.method)) return undefined
        const acquired = count.admit(
          early,
          createSubject(exchange, '', ''),
          getUncountedPolicy(exchange.method, options),
        )
        return acquired instanceof Promise
          ? acquired.then(result => holdSlots(exchange, result))
          : holdSlots(exchange, acquired)
      })
      if (early.some(rule => rule.hasInFlight)) {
        hooks.settled.tap(exchange => {
          entered.get(exchange)?.onAnswered(exchange.answer !== undefined && 'input' in exchange.answer)
        })
        hooks.dispatch.tap({ phase: 'policy' }, next => call => {
          const hold = entered.get(call.exchange.origin ?? call.exchange)
          return hold === undefined ? next(call) : hold.dispatchCall(call, next)
        })
      }
    }

    if (lateRules.length > 0) {
      // Retries after an input request are counted once.
      const limiting: LateLimitDeps = { count, counted: slot.exchange(() => undefined), options }
      hooks.dispatch.tap({ phase: 'policy' }, (next, { name }) => {
        const own = lateRules.filter(rule => rule.appliesToUpstream(name))
        return own.length === 0 ? undefined : call => limitCall(own, call, next, limiting)
      })
    }
  },
}

/** Counts in this process or in the shared store. */
interface CallCounting extends InFlightSlots {
  admit(
    rules: readonly RateLimitRule[],
    subject: LimitSubject,
    uncounted: UncountedPolicy,
  ): RuleKey[] | Answer | Promise<RuleKey[] | Answer>
}

const LOCAL_COUNTING: CallCounting = {
  admit: (rules, subject, uncounted) => {
    const keys = listRuleKeys(rules, subject)
    const full = countOnRules(keys, uncounted)
    return full === undefined ? acquireSlots(keys) : createLimitRefusal(full)
  },
  release: releaseSlots,
  reacquire: acquireSlots,
}

/** Counts locally, or in the store that replicas share. */
async function createCounting(
  { shared, clock, hooks, slot }: PluginApi<RateLimitConfig>,
  rules: readonly RateLimitRule[],
): Promise<CallCounting> {
  const stored = slot.gateway((): { state?: SharedCountingState } => ({}))
  if (shared === undefined) return LOCAL_COUNTING
  const { SharedCounting, createSharedState } = await import('./shared/shared-counting.ts')
  const counting = new SharedCounting((stored.state ??= createSharedState(shared, clock)), shared, rules)
  let isUsed = false
  hooks.ready.tap(() => {
    isUsed = true
    counting.addUser()
  })
  hooks.close.tap(() => (isUsed ? counting.removeUser() : undefined))
  hooks.metrics.tap(figures => [...figures, ...counting.figures])
  return counting
}

/** Returns the policy if a day cannot be counted: lists continue; calls follow `onFailure`. */
function getUncountedPolicy(method: string, { onFailure }: RateLimitConfig): UncountedPolicy {
  return CALLS.has(method) ? onFailure : 'continue'
}

interface LateLimitDeps {
  readonly options: RateLimitConfig
  readonly count: CallCounting
  /** Counted calls with their slots. */
  readonly counted: Slot<Exchange, InFlightHold | undefined>
}

function limitCall(
  rules: readonly RateLimitRule[],
  call: Call,
  next: Dispatch,
  limiting: LateLimitDeps,
): Promise<Answer> {
  const { count, counted, options } = limiting
  if (!CALLS.has(call.method)) return next(call)
  const hold = counted.get(call.exchange)
  if (hold !== undefined) return hold.dispatchCall(call, next)
  const subject = createSubject(call.exchange, call.upstream, getToolName(call))
  const acquired = count.admit(rules, subject, getUncountedPolicy(call.method, options))
  if (acquired instanceof Promise) return acquired.then(result => dispatchAdmitted(result, call, next, limiting))
  return dispatchAdmitted(acquired, call, next, limiting)
}

function dispatchAdmitted(
  acquired: RuleKey[] | Answer,
  call: Call,
  next: Dispatch,
  { count, counted }: LateLimitDeps,
): Promise<Answer> {
  if (!Array.isArray(acquired)) return Promise.resolve(acquired)
  const hold = new InFlightHold(count, acquired, false)
  counted.set(call.exchange, hold)
  return hold.dispatchCall(call, next)
}

async function createRules(api: PluginApi<RateLimitConfig>): Promise<RateLimitRule[]> {
  const { options, config, clock, slot } = api
  const storedCounts = slot.gateway(() => new Map<string, RuleCounts>())
  const days = await createDayCounts(api)
  return Object.entries(options.rules).map(([name, spec]) => {
    const counts = createCounts(spec, storedCounts.get(name))
    storedCounts.set(name, counts)
    return new RateLimitRule(name, spec, counts, clock, days, config.auth)
  })
}

/** Undefined if no rule has `perDay`. */
async function createDayCounts(api: PluginApi<RateLimitConfig>): Promise<DayCounts | undefined> {
  const { options, clock, log, hooks } = api
  if (Object.values(options.rules).every(({ perDay }) => perDay === undefined)) return undefined
  const { openQuotas: open } = await import('./day-quotas.ts')
  const days = new DayCounts({ open, directory: resolveStateDirectory(api), clock, log })
  hooks.close.tap(() => days.close())
  return days
}

/** Day counts are always stored on disk, as a restart must not reset them. */
function resolveStateDirectory({ options, state, directory }: PluginApi<RateLimitConfig>): string {
  if (options.state === undefined && state !== undefined) return state
  return resolve(directory, options.state ?? DEFAULT_STATE_DIRECTORY)
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
function explainLimits(hooks: PluginHooks, rules: readonly RateLimitRule[], isCountedHere: boolean): void {
  hooks.explain.tap((steps, { exchange, call }) => {
    const { principal, session, params } = exchange
    const tool = typeof params?.name === 'string' ? params.name : ''
    const upstream = call?.upstream ?? ''
    const ruleSteps = rules.flatMap(rule => {
      if (rule.isLate && !rule.appliesToUpstream(upstream)) return []
      const subject = rule.isLate
        ? { principal, session, upstream, tool }
        : { principal, session, upstream: '', tool: '' }
      const key = rule.getKey(subject)
      return key === undefined ? [] : [explainRule(rule, key, isCountedHere)]
    })
    return [...steps, ...(ruleSteps.length === 0 ? [createUnlimitedStep()] : ruleSteps)]
  })
}

function explainRule(rule: RateLimitRule, key: string, isCountedHere: boolean): ExplainStep {
  const full = isCountedHere ? rule.findExceeded(key, 'refuse') : undefined
  const at = rule.isLate ? 'dispatch' : 'request'
  const base = { by: 'rate-limit', at, rule: `/rateLimit/rules/${rule.name}` } as const
  if (full === undefined) return { ...base, does: 'passes', text: `counted by "${rule.name}": ${rule.limits}` }
  const text = `"${rule.name}" is exceeded: ${full.allowed}, retry in ${Math.ceil(full.retryAfterMs / 1000)} s`
  return { ...base, does: 'refuses', text, isPassing: true }
}

function createUnlimitedStep(): ExplainStep {
  return { by: 'rate-limit', at: 'request', does: 'passes', text: 'no limit applies' }
}
