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
import type { Taken } from './taken.ts'
import { ERRORS, enter, leave, placesOf, refusal, take } from './taken.ts'
import type { Counts, Subject, Uncounted } from './rule.ts'
import { countsOf, Rule } from './rule.ts'
import type { SharedState } from './shared/shared-counting.ts'

/** Gives places back, and takes them again for what goes on: that is never refused. */
interface Places {
  leave(taken: readonly Taken[]): void
  again(taken: readonly Taken[]): readonly Taken[] | Promise<readonly Taken[]>
}

/**
 * The places of one request on the rules that bound what is under way. It has them while its client waits for the answer, and while one of
 * its calls is at a server – also for a task that its client was answered with. A call whose client is asked is not under way: nobody
 * works for it, and a client may think for as long as it likes.
 */
class InFlightHold implements AskWatcher {
  readonly #places: Places
  readonly #all: readonly Taken[]
  #has: readonly Taken[] | undefined
  #isOpen: boolean
  #isOver = false
  #calls = 0
  #isAsked = false
  /** Counts how often it took its places or gave them back: places that come late may be for a time that is over. */
  #round = 0

  /** `taken` is what it has already. It is open while its client waits, until `answered`. */
  constructor(places: Places, taken: readonly Taken[], isOpen: boolean) {
    this.#places = places
    this.#all = this.#has = taken
    this.#isOpen = isOpen
  }

  /** Its client was answered. One that is to make the same request again has its places by that one. */
  answered(isToCome: boolean): void {
    this.#isOpen = false
    this.#isOver ||= isToCome
    this.#update()
  }

  /** Makes one of its calls. */
  dispatch(call: Call, next: Dispatch): Promise<Answer> {
    if (this.#all.length === 0) return next(call)
    const ends = (): void => {
      this.#calls--
      call.exchange.unwatchAsks(this)
      this.#update()
    }
    this.#calls++
    // A task goes on in an exchange of its own.
    call.exchange.watchAsks(this)
    this.#update()
    const answer = next(call)
    answer.then(ends, ends)
    return answer
  }

  askingBegins(): void {
    this.#isAsked = true
    this.#update()
  }

  askingEnds(): undefined {
    this.#isAsked = false
    this.#update()
    return undefined
  }

  #update(): void {
    const isUnderWay = this.#isOpen || (this.#calls > 0 && !this.#isAsked && !this.#isOver)
    if (isUnderWay === (this.#has !== undefined)) return
    this.#round++
    if (this.#has !== undefined) this.#leave(this.#has)
    else this.#takeAgain()
  }

  #leave(has: readonly Taken[]): void {
    this.#has = undefined
    this.#places.leave(has)
  }

  #takeAgain(): void {
    const round = this.#round
    this.#has = []
    const taken = this.#places.again(this.#all)
    if (!(taken instanceof Promise)) this.#has = taken
    else
      void taken.then(late => {
        if (this.#round === round) this.#has = late
        else this.#places.leave(late)
      })
  }
}

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
  async setup(api) {
    const { hooks, slot, options } = api
    const rules = await rulesOf(api)
    const count = await countingOf(api, rules)
    const early = rules.filter(rule => !rule.isLate)
    const late = rules.filter(rule => rule.isLate)
    explainLimits(hooks, rules, count === HERE)

    if (early.length > 0) {
      const entered = slot.exchange((): InFlightHold | undefined => undefined)
      const lets = (exchange: Exchange, taken: Taken[] | Answer): Answer | undefined => {
        if (!Array.isArray(taken)) return taken
        if (exchange.method === LISTEN) count.leave(taken)
        else if (taken.length > 0) entered.set(exchange, new InFlightHold(count, taken, true))
        return undefined
      }
      hooks.request.tap({ stage: 'limit', phase: 'policy' }, exchange => {
        if (FREE.has(exchange.method)) return undefined
        const taken = count.admit(early, subjectOf(exchange, '', ''), uncountedOf(exchange.method, options))
        return taken instanceof Promise ? taken.then(known => lets(exchange, known)) : lets(exchange, taken)
      })
      if (early.some(rule => rule.hasInFlight)) {
        hooks.settled.tap(exchange => {
          entered.get(exchange)?.answered(exchange.answer !== undefined && 'input' in exchange.answer)
        })
        hooks.dispatch.tap({ phase: 'policy' }, next => call => {
          const held = entered.get(call.exchange.origin ?? call.exchange)
          return held === undefined ? next(call) : held.dispatch(call, next)
        })
      }
    }

    if (late.length > 0) {
      // A client that is asked something makes the same call several times.
      const limiting: Limiting = { count, counted: slot.exchange(() => undefined), options }
      hooks.dispatch.tap({ phase: 'policy' }, (next, { name }) => {
        const own = late.filter(rule => rule.concerns(name))
        return own.length === 0 ? undefined : call => limited(own, call, next, limiting)
      })
    }
  },
}

/** Counting in this process, or in the one that counts for all. Places that are taken are to be given back. */
interface Counting extends Places {
  admit(
    rules: readonly Rule[],
    subject: Subject,
    uncounted: Uncounted,
  ): Taken[] | Answer | Promise<Taken[] | Answer>
}

const HERE: Counting = {
  admit: (rules, subject, uncounted) => {
    const places = placesOf(rules, subject)
    const full = take(places, uncounted)
    return full === undefined ? enter(places) : refusal(full)
  },
  leave,
  again: enter,
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
  /** Calls that were counted, with their places. */
  readonly counted: Slot<Exchange, InFlightHold | undefined>
}

function limited(rules: readonly Rule[], call: Call, next: Dispatch, limiting: Limiting): Promise<Answer> {
  const { count, counted, options } = limiting
  if (!CALLS.has(call.method)) return next(call)
  const held = counted.get(call.exchange)
  if (held !== undefined) return held.dispatch(call, next)
  const subject = subjectOf(call.exchange, call.upstream, toolOf(call))
  const taken = count.admit(rules, subject, uncountedOf(call.method, options))
  if (taken instanceof Promise) return taken.then(known => goOn(known, call, next, limiting))
  return goOn(taken, call, next, limiting)
}

function goOn(
  taken: Taken[] | Answer,
  call: Call,
  next: Dispatch,
  { count, counted }: Limiting,
): Promise<Answer> {
  if (!Array.isArray(taken)) return Promise.resolve(taken)
  const held = new InFlightHold(count, taken, false)
  counted.set(call.exchange, held)
  return held.dispatch(call, next)
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

/** Says which limits a call would count on, and whether there is room. Nothing is counted. */
function explainLimits(hooks: PluginHooks, rules: readonly Rule[], isCountedHere: boolean): void {
  hooks.explain.tap((steps, { exchange, call }) => {
    const { principal, session, params } = exchange
    const tool = typeof params?.name === 'string' ? params.name : ''
    const upstream = call?.upstream ?? ''
    const found = rules.flatMap(rule => {
      if (rule.isLate && !rule.concerns(upstream)) return []
      const subject = rule.isLate
        ? { principal, session, upstream, tool }
        : { principal, session, upstream: '', tool: '' }
      const key = rule.keyOf(subject)
      return key === undefined ? [] : [stepOf(rule, key, isCountedHere)]
    })
    return [...steps, ...(found.length === 0 ? [unlimited()] : found)]
  })
}

function stepOf(rule: Rule, key: string, isCountedHere: boolean): ExplainStep {
  const full = isCountedHere ? rule.full(key, 'refuse') : undefined
  const at = rule.isLate ? 'dispatch' : 'request'
  const base = { by: 'rate-limit', at, rule: `/rateLimit/rules/${rule.name}` } as const
  if (full === undefined) return { ...base, does: 'passes', text: `counts on "${rule.name}": ${rule.limits}` }
  const text = `"${rule.name}" is full: ${full.allowed}, again in ${Math.ceil(full.retryAfterMs / 1000)} s`
  return { ...base, does: 'refuses', text, isPassing: true }
}

function unlimited(): ExplainStep {
  return { by: 'rate-limit', at: 'request', does: 'passes', text: 'no limit is about it' }
}
