import { resolve } from 'node:path'
import {
  type Answer,
  type Call,
  type Config,
  type Dispatch,
  type Exchange,
  type Plugin,
  type PluginApi,
  type Slot,
} from '../../src/plugin.ts'
import { ERRORS } from './errors.ts'
import { DayCounts } from './day-counts.ts'
import { explainLimits } from './explain.ts'
import { enter, leave, placesOf, refusal, take, type Taken } from './taken.ts'
import type { SharedState } from './shared/shared-counting.ts'
import { countsOf, Rule, type Counts, type Subject, type Uncounted } from './rule.ts'

type RateLimitConfig = NonNullable<Config['rateLimit']>

/** Methods that cost a server nothing, or must work for a client to learn that it has to wait. */
const FREE: ReadonlySet<string> = new Set(['initialize', 'ping', 'server/discover'])
/** Methods that are done in one caller's name; lists are fetched for everybody. */
const CALLS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
])
/** Directory beside the configuration, where the gateway has none for its state. */
const NO_STATE = '.gateway'
/** Stays open for hours and does nothing meanwhile. */
const LISTEN = 'subscriptions/listen'

/** Bounds how much one caller may use, by minute, by day and at a time. */
export const rateLimit: Plugin<RateLimitConfig> = {
  name: 'rate-limit',
  claims: { section: 'rateLimit', records: true },
  errors: ERRORS,
  // Each process of several counts in the same file.
  share: (options, _processes, _number, place) => ({
    options: { ...options, ...(options.state === undefined && place !== undefined ? { state: place } : {}) },
  }),
  async setup(api) {
    const { hooks, slot, options } = api
    const rules = await rulesOf(api)
    const count = await countingOf(api, rules)
    const early = rules.filter(rule => !rule.isLate)
    const late = rules.filter(rule => rule.isLate)
    explainLimits(hooks, rules, count === HERE)

    if (early.length > 0) {
      const entered = slot.exchange((): Taken[] => [])
      const lets = (exchange: Exchange, taken: Taken[] | Answer): Answer | undefined => {
        if (!Array.isArray(taken)) return taken
        if (exchange.method === LISTEN) count.leave(taken)
        else entered.set(exchange, taken)
        return undefined
      }
      hooks.request.tap({ stage: 'limit', phase: 'policy' }, exchange => {
        if (FREE.has(exchange.method)) return undefined
        const taken = count.admit(early, subjectOf(exchange, '', ''), uncountedOf(exchange.method, options))
        return taken instanceof Promise ? taken.then(known => lets(exchange, known)) : lets(exchange, taken)
      })
      if (early.some(rule => rule.hasInFlight))
        hooks.settled.tap(exchange => count.leave(entered.get(exchange)))
    }

    if (late.length > 0) {
      // A client that is asked something makes the same call several times.
      const limiting: Limiting = { count, isCounted: slot.exchange(() => false), options }
      hooks.dispatch.tap({ phase: 'policy' }, (next, { name }) => {
        const own = late.filter(rule => rule.concerns(name))
        return own.length === 0 ? undefined : call => limited(own, call, next, limiting)
      })
    }
  },
}

/** Counting in this process, or in the one that counts for all. Places that are taken are to be given back. */
interface Counting {
  admit(
    rules: readonly Rule[],
    subject: Subject,
    uncounted: Uncounted,
  ): Taken[] | Answer | Promise<Taken[] | Answer>
  leave(taken: readonly Taken[]): void
}

const HERE: Counting = {
  admit: (rules, subject, uncounted) => {
    const places = placesOf(rules, subject)
    const full = take(places, uncounted)
    return full === undefined ? enter(places) : refusal(full)
  },
  leave,
}

/** Counts in this process where it is alone, and else in what all of them share. */
async function countingOf(
  { shared, clock, hooks, slot }: PluginApi<RateLimitConfig>,
  rules: readonly Rule[],
): Promise<Counting> {
  const kept = slot.gateway((): { state?: SharedState } => ({}))
  if (shared === undefined) return HERE
  const { SharedCounting, newSharedState } = await import('./shared/shared-counting.ts')
  const counting = new SharedCounting((kept.state ??= newSharedState(shared, clock)), shared, rules)
  let isUsed = false
  hooks.ready.tap(() => {
    isUsed = true
    counting.begin()
  })
  hooks.close.tap(() => (isUsed ? counting.end() : undefined))
  hooks.figures.tap(figures => [...figures, ...counting.figures])
  return counting
}

/** Chooses what happens where a day cannot be counted: reading goes on; calls in a caller's name follow `onFailure`. */
function uncountedOf(method: string, { onFailure }: RateLimitConfig): Uncounted {
  return CALLS.has(method) ? onFailure : 'continue'
}

interface Limiting {
  readonly options: RateLimitConfig
  readonly count: Counting
  readonly isCounted: Slot<Exchange, boolean>
}

function limited(rules: readonly Rule[], call: Call, next: Dispatch, limiting: Limiting): Promise<Answer> {
  const { count, isCounted, options } = limiting
  if (!CALLS.has(call.method) || isCounted.get(call.exchange)) return next(call)
  const subject = subjectOf(call.exchange, call.upstream, toolOf(call))
  const taken = count.admit(rules, subject, uncountedOf(call.method, options))
  if (taken instanceof Promise) return taken.then(known => goOn(known, call, next, limiting))
  return goOn(taken, call, next, limiting)
}

function goOn(
  taken: Taken[] | Answer,
  call: Call,
  next: Dispatch,
  { count, isCounted }: Limiting,
): Promise<Answer> {
  if (!Array.isArray(taken)) return Promise.resolve(taken)
  isCounted.set(call.exchange, true)
  return taken.length === 0 ? next(call) : leaving(taken, count, next(call))
}

async function leaving(taken: readonly Taken[], count: Counting, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } finally {
    count.leave(taken)
  }
}

async function rulesOf(api: PluginApi<RateLimitConfig>): Promise<Rule[]> {
  const { options, config, clock, slot } = api
  const kept = slot.gateway(() => new Map<string, Counts>())
  const days = await dayCountsOf(api)
  return Object.entries(options.rules).map(([name, spec]) => {
    const counts = countsOf(spec, kept.get(name))
    kept.set(name, counts)
    return new Rule(name, spec, counts, clock, days, config.auth)
  })
}

/** Undefined where no rule has a day. */
async function dayCountsOf(api: PluginApi<RateLimitConfig>): Promise<DayCounts | undefined> {
  const { options, clock, log, hooks } = api
  if (Object.values(options.rules).every(({ perDay }) => perDay === undefined)) return undefined
  const { openQuotas: open } = await import('./quota.ts')
  const days = new DayCounts({ open, directory: placeOfDays(api), clock, log })
  hooks.close.tap(() => days.close())
  return days
}

/** Days are counted on a disk always: a quota that a restart forgets is none. */
function placeOfDays({ options, state, directory }: PluginApi<RateLimitConfig>): string {
  if (options.state === undefined && state !== undefined) return state
  return resolve(directory, options.state ?? NO_STATE)
}

function subjectOf({ principal, session }: Exchange, upstream: string, tool: string): Subject {
  return { principal, session, upstream, tool }
}

/** As the client called it; a client that was routed elsewhere still means that one. */
function toolOf({ method, exchange }: Call): string {
  const name = method === 'tools/call' ? exchange.params?.name : undefined
  return typeof name === 'string' ? name : ''
}
