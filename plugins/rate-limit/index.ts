import { isAbsolute, join } from 'node:path'
import {
  gatewayError,
  refuse,
  type Answer,
  type Call,
  type Config,
  type Dispatch,
  type Exchange,
  type Plugin,
  type PluginApi,
  type Slot,
} from '../../src/plugin.ts'
import type { Quotas } from './quota.ts'
import { countsOf, Rule, type Counts, type Full, type Subject } from './rule.ts'

type RateLimitConfig = NonNullable<Config['rateLimit']>

/** What costs a server nothing, and what must work for a client to hear that it has to wait. */
const FREE: ReadonlySet<string> = new Set(['initialize', 'ping', 'server/discover'])
/** What is done in one caller's name; lists are fetched for everybody. */
const CALLS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
])
/** Stays open for hours and does nothing meanwhile. */
const LISTEN = 'subscriptions/listen'

/** A rule that a request is on, and under which key. */
interface Taken {
  readonly rule: Rule
  readonly key: string
}

/** Bounds how much one caller may use, by minute, by day and at a time. */
export const rateLimit: Plugin<RateLimitConfig> = {
  name: 'rate-limit',
  claims: { section: 'rateLimit' },
  async setup(api) {
    const { hooks, slot } = api
    const rules = await rulesOf(api)
    const early = rules.filter(rule => !rule.isLate)
    const late = rules.filter(rule => rule.isLate)

    if (early.length > 0) {
      const entered = slot.exchange((): Taken[] => [])
      hooks.request.tap({ stage: 'limit' }, exchange => {
        if (FREE.has(exchange.method)) return undefined
        const taken = admit(early, subjectOf(exchange, '', ''))
        if (!Array.isArray(taken)) return taken
        if (exchange.method !== LISTEN) entered.set(exchange, enter(taken))
        return undefined
      })
      if (early.some(rule => rule.hasInFlight)) hooks.settled.tap(exchange => leave(entered.get(exchange)))
    }

    if (late.length > 0) {
      // A client that is asked something makes the same call several times.
      const isCounted = slot.exchange(() => false)
      hooks.dispatch.tap((next, { name }) => {
        const own = late.filter(rule => rule.concerns(name))
        return own.length === 0 ? undefined : call => limited(own, call, next, isCounted)
      })
    }
  },
}

function limited(
  rules: readonly Rule[],
  call: Call,
  next: Dispatch,
  isCounted: Slot<Exchange, boolean>,
): Promise<Answer> {
  if (!CALLS.has(call.method) || isCounted.get(call.exchange)) return next(call)
  const taken = admit(rules, subjectOf(call.exchange, call.upstream, toolOf(call)))
  if (!Array.isArray(taken)) return Promise.resolve(taken)
  isCounted.set(call.exchange, true)
  const entered = enter(taken)
  return entered.length === 0 ? next(call) : leaving(entered, next(call))
}

async function leaving(entered: readonly Taken[], answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } finally {
    leave(entered)
  }
}

async function rulesOf({
  options,
  clock,
  directory,
  hooks,
  slot,
}: PluginApi<RateLimitConfig>): Promise<Rule[]> {
  const kept = slot.gateway(() => new Map<string, Counts>())
  const specs = Object.entries(options.rules)
  const path = isAbsolute(options.state) ? options.state : join(directory, options.state)
  const open = specs.some(([, { perDay }]) => perDay !== undefined)
    ? (await import('./quota.ts')).openQuotas
    : undefined
  let quotas: Quotas | undefined
  hooks.close.tap(() => quotas?.close())
  return specs.map(([name, spec]) => {
    const counts = countsOf(spec, kept.get(name))
    kept.set(name, counts)
    return new Rule(name, spec, counts, clock, () => (quotas ??= open?.(path) as Quotas))
  })
}

function subjectOf({ principal, session }: Exchange, upstream: string, tool: string): Subject {
  return { principal, session, upstream, tool }
}

/** As the client called it; a client that was routed elsewhere still means that one. */
function toolOf({ method, exchange }: Call): string {
  const name = method === 'tools/call' ? exchange.params?.name : undefined
  return typeof name === 'string' ? name : ''
}

/** Counts a request on every rule that is about it, or on none when one of them is full. */
function admit(rules: readonly Rule[], subject: Subject): Taken[] | Answer {
  const taken: Taken[] = []
  for (const rule of rules) {
    const key = rule.isOfTools && subject.tool === '' ? undefined : rule.keyOf(subject)
    if (key === undefined) continue
    const full = rule.full(key)
    if (full !== undefined) return refusal(rule, full)
    taken.push({ rule, key })
  }
  for (const { rule, key } of taken) {
    const full = rule.take(key)
    if (full !== undefined) return refusal(rule, full)
  }
  return taken
}

function enter(taken: readonly Taken[]): Taken[] {
  const entered = taken.filter(({ rule }) => rule.hasInFlight)
  for (const { rule, key } of entered) rule.enter(key)
  return entered
}

function leave(entered: readonly Taken[]): void {
  for (const { rule, key } of entered) rule.leave(key)
}

function refusal({ name }: Rule, { allowed, retryAfterMs }: Full): Answer {
  const error = gatewayError('GW_RATE_LIMITED', { rule: name, allowed })
  const { rpc = 0, http = 429 } = error.entry
  const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
  return refuse(rpc, error.message, { code: error.code, retryAfterMs }, { status: http, headers })
}
