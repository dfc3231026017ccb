import { createHash } from 'node:crypto'
import type {
  Answer,
  Approval,
  Call,
  CatalogEntry,
  CatalogView,
  Dispatch,
  Exchange,
  GatewayError,
  HttpSide,
  PluginApi,
  Session,
  Slot,
  JsonObject,
} from '../../src/plugin.ts'
import {
  actorKey,
  BoundedMap,
  createActiveGetter,
  METHODS,
  principalKey,
  getErrorMessage,
  refuse,
} from '../../src/plugin.ts'
import type { Called, FactsMaker } from './call-facts.ts'
import { calledBy, calledIn } from './call-facts.ts'
import type { Counts, Judge, Verdict } from './judge.ts'
import { policyError } from './errors.ts'
import type { RuleIndex } from './rules.ts'

/** Methods that are judged, beside those that nobody knows: what lists show was judged when they were made. */
const JUDGED: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
])

/** Methods that come with each key that somebody types, or once for many: nobody is asked about them. */
const UNASKED: ReadonlySet<string> = new Set(['completion/complete', 'resources/subscribe'])

/** Calls whose servers asked for something after a person had approved them. */
const CONTINUED = { max: 1000, share: 100 }
const CONTINUED_MS = 600_000

/** Definitions whose digests are remembered. */
const MAX_DEFINITIONS = 50_000

interface Parts {
  readonly rules: RuleIndex
  readonly judge: Judge
  readonly facts: FactsMaker
  readonly calls: Slot<Session, { count: number }>
  readonly counts: Counts
  readonly digest: string
}

/** The rules of one generation. */
interface Rules {
  readonly digest: string
}

/** State that outlives a generation of the policy. */
interface PolicyState {
  /** Digests of the rules of all generations that run; those of the youngest are in force. */
  readonly generations: Rules[]
  /** Definitions as they were last listed, by upstream, kind and name. */
  readonly definitions: BoundedMap<string, JsonObject>
  readonly continued: BoundedMap<string, number>
}

/** Keeps the rules: on lists, and on calls. */
export class Guard {
  readonly #parts: Parts
  readonly #api: PluginApi
  readonly #kept: PolicyState
  readonly #inForce: () => Rules
  /** The arguments with which a person let an exchange go on. */
  readonly #approved: Slot<Exchange, { params: unknown }>
  readonly #hasAsks: boolean

  constructor(api: PluginApi, parts: Parts) {
    this.#api = api
    this.#parts = parts
    this.#hasAsks = parts.rules.rules.some(({ effect }) => effect === 'ask')
    this.#kept = api.slot.gateway(() => ({
      generations: [],
      definitions: new BoundedMap({ max: MAX_DEFINITIONS }),
      continued: new BoundedMap(CONTINUED),
    }))
    this.#approved = api.slot.exchange((): { params: unknown } => ({ params: undefined }))
    this.#inForce = createActiveGetter(api.hooks, this.#kept.generations, { digest: parts.digest })
  }

  /** The entries that this caller may see. */
  filter(entries: readonly CatalogEntry[], view: CatalogView): readonly CatalogEntry[] {
    const { rules, judge, facts } = this.#parts
    const { scopes } = view.principal
    return entries.filter(entry => {
      if (this.#hasAsks) this.#kept.definitions.set(keyOf(entry), entry.value)
      const fitting = rules.fitting(calledBy(entry))
      return judge.lists(fitting, { facts: facts.ofEntry(entry, view, fitting.reads), scopes })
    })
  }

  dispatch(next: Dispatch): Dispatch {
    return call => {
      if (!JUDGED.has(call.method) && METHODS.has(call.method)) return next(call)
      const called = calledIn(call)
      const verdict = this.#judge(call, called)
      if (verdict.effect === 'allow') return next(call)
      if (verdict.effect === 'ask') return this.#ask(call, called, verdict.rule, next)
      return Promise.resolve(refusal(called, call, verdict))
    }
  }

  #judge(call: Call, called: Called): Verdict {
    const { rules, judge, facts, counts, calls } = this.#parts
    const { principal, session } = call.exchange
    const fitting = rules.fitting(called)
    const verdict = judge.call(fitting, {
      facts: facts.ofCall(call, called, fitting.reads),
      scopes: principal.scopes,
    })
    if (fitting.reads.has('session')) calls.get(session).count++
    counts.decided(verdict)
    return verdict
  }

  async #ask(call: Call, called: Called, rule: string, next: Dispatch): Promise<Answer> {
    if (UNASKED.has(call.method)) return unanswered(called, rule)
    const definition = this.#definitionOf(called)
    if (this.#mayGoOn(call, definition)) return this.#goesOn(call, definition, next)
    const decision = await this.#api.approve({
      call,
      rule,
      rules: this.#parts.digest,
      name: called.name,
      changed: () => {
        if (!this.#isInForce()) return 'the rules of the policy are others now'
        return this.#definitionOf(called) === definition ? undefined : 'its definition is another one now'
      },
    })
    if (decision === undefined) return unanswered(called, rule)
    if (!decision.granted) return 'error' in decision.answer ? byPolicy(decision.answer) : decision.answer
    this.#approved.get(call.exchange).params = paramsOf(call)
    let answer: Answer | undefined
    try {
      const why = await call.outdated?.()
      answer = why === undefined ? await this.#goesOn(call, definition, next) : outdated(called, why)
      return answer
    } finally {
      this.#ended(decision, answer)
    }
  }

  /** Tells whoever approved a call that it has ended; the caller has the answer, whatever comes of that. */
  #ended({ ended }: Extract<Approval, { granted: true }>, answer: Answer | undefined): void {
    try {
      ended?.(answer)
    } catch (error) {
      this.#api.log.error('the end of an approved call could not be told', { why: getErrorMessage(error) })
    }
  }

  async #goesOn(call: Call, definition: string | undefined, next: Dispatch): Promise<Answer> {
    const answer = await next(call)
    this.#continues(call, definition, answer)
    return answer
  }

  /** True while no other rules have taken the place of these. */
  #isInForce(): boolean {
    return this.#inForce().digest === this.#parts.digest
  }

  /**
   * Tells whether a person has approved this call, and it was begun: its server asked for something in between. What was
   * approved under other rules, or with another definition, is asked about anew.
   */
  #mayGoOn(call: Call, definition: string | undefined): boolean {
    if (!this.#isInForce()) return false
    const { params } = this.#approved.get(call.exchange)
    if (params !== undefined) return params === paramsOf(call)
    // Numbers that two readers may see differently were not the ones that were approved.
    if (call.exchange.hasExactNumbers === false) return false
    const { continued } = this.#kept
    const key = this.#continuationOf(call, definition, call.params?.requestState)
    const until = key === undefined ? undefined : continued.get(key)
    if (key === undefined || until === undefined) return false
    continued.delete(key)
    return until > this.#api.clock.now()
  }

  /** The server's own state comes back only from the caller that it was sealed for. */
  #continues(call: Call, definition: string | undefined, answer: Answer): void {
    if (!('input' in answer)) return
    const key = this.#continuationOf(call, definition, answer.input.value().requestState)
    if (key === undefined) return
    const caller = principalKey(call.exchange.principal)
    this.#kept.continued.set(key, this.#api.clock.now() + CONTINUED_MS, caller)
  }

  /** Digest of a call that goes on with a state of its server, under these rules and by this definition. */
  #continuationOf(call: Call, definition: string | undefined, state: unknown): string | undefined {
    if (typeof state !== 'string') return undefined
    const { upstream, method, params, exchange } = call
    return digestOf([
      this.#parts.digest,
      definition ?? null,
      actorKey(exchange.principal),
      upstream,
      method,
      params?.name,
      params?.uri,
      params?.arguments,
      state,
    ])
  }

  #definitionOf({ entry }: Called): string | undefined {
    if (entry === undefined) return undefined
    return digestOf(this.#kept.definitions.get(keyOf(entry)) ?? entry.value)
  }
}

function keyOf({ upstream, kind, original }: CatalogEntry): string {
  return JSON.stringify([upstream, kind, original])
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

/** Parameters that say what is called, and with what: the same for each round of one call. */
function paramsOf({ params }: Call): unknown {
  return params?.arguments ?? params?.uri ?? params?.name
}

const NOUNS = { tools: 'tool', prompts: 'prompt', resources: 'resource' } as const

function what({ kind, name }: Called): string {
  return kind === undefined ? `the method ${name}` : `the ${NOUNS[kind]} "${name}"`
}

function refusal(called: Called, { exchange }: Call, verdict: Extract<Verdict, { effect: 'deny' }>): Answer {
  const { rule, scopes } = verdict
  if (scopes !== undefined) return insufficientScope(called, exchange, scopes)
  const why = rule === undefined ? 'no rule allows it' : `rule "${rule}"`
  const error = policyError('GW_POLICY_DENIED', { what: what(called), why })
  return refusedWith(error, rule === undefined ? {} : { rule })
}

/** Ways on which an answer has a status. */
const HTTP: ReadonlySet<Exchange['via']> = new Set(['http', 'rest', 'sse'])

/** 403 with exactly the scopes that this call needs; where somebody has tokens, `auth` adds where they come from. */
function insufficientScope(called: Called, exchange: Exchange, scopes: readonly string[]): Answer {
  const error = policyError('GW_POLICY_SCOPE', { what: what(called), scopes: scopes.join(' ') })
  const challenge = `Bearer error="insufficient_scope", scope="${scopes.join(' ')}"`
  const http = { status: 403, headers: { 'www-authenticate': challenge } }
  return refusedWith(error, { scopes }, HTTP.has(exchange.via) ? http : undefined)
}

function unanswered(called: Called, rule: string): Answer {
  const error = policyError('GW_POLICY_UNANSWERED', { what: what(called), rule })
  return refusedWith(error, { rule })
}

/** A person let it run, and the configuration became another one since it was asked about. */
function outdated(called: Called, why: string): Answer {
  const error = policyError('GW_POLICY_OUTDATED', { what: what(called), why })
  return refusedWith(error)
}

function refusedWith(error: GatewayError, more: JsonObject = {}, http?: HttpSide): Answer {
  return byPolicy(refuse(error.entry.rpc ?? 0, error.message, { code: error.code, ...more }, http))
}

function byPolicy(answer: Answer): Answer {
  return 'error' in answer ? { ...answer, refusedBy: 'policy' } : answer
}
