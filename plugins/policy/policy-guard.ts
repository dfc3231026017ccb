import { createHash } from 'node:crypto'
import type {
  Answer,
  Call,
  CatalogEntry,
  Dispatch,
  Exchange,
  PluginApi,
  Session,
  Slot,
  JsonObject,
} from '../../src/plugin.ts'
import {
  actorKey,
  BoundedMap,
  createActiveGetter,
  defineErrors,
  EXTENSION_METHODS,
  METHODS,
  principalKey,
  refuse,
  RPC,
} from '../../src/plugin.ts'
import type { CalledSubject, FactsBuilder } from './call-facts.ts'
import { describeEntry, identifyCall } from './call-facts.ts'
import type { PolicyCounts, PolicyJudge, PolicyVerdict, RuleIndex } from './policy-judge.ts'

export const ERRORS = {
  GW_POLICY_DENIED: {
    text: '{what} is not allowed: {why}',
    hint: 'Check the section "policy" of gateway.yaml; test a call with "gateway policy test".',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_SCOPE: {
    text: '{what} needs the scope {scopes}',
    hint: 'Request a token with these scopes from the issuer; the rules are in the section "policy".',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_UNANSWERED: {
    text: '{what} needs approval, and no approver is available: rule "{rule}"',
    hint: 'Add the section "approve" to gateway.yaml.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_OUTDATED: {
    text: '{what} was approved but not run: {why}',
    hint: 'The configuration changed while the call waited for approval. Call again to request a new approval.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

const policyError = defineErrors(ERRORS)

/** Judged methods, in addition to unknown ones; list contents are judged when they are built. */
const JUDGED_METHODS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
  'skills/get',
  'resources/directory/read',
])

/** Methods sent on each keystroke, or shared by several clients: never ask for approval. */
const NEVER_ASKED: ReadonlySet<string> = new Set(['completion/complete', 'resources/subscribe'])

/** Approved calls that continue after an input request of their server. */
const CONTINUED = { max: 1000, share: 100 }
const CONTINUED_MS = 600_000

/** Maximum remembered definitions. */
const MAX_DEFINITIONS = 50_000

interface PolicyGuardDeps {
  readonly rules: RuleIndex
  readonly judge: PolicyJudge
  readonly facts: FactsBuilder
  readonly calls: Slot<Session, { count: number }>
  readonly counts: PolicyCounts
  readonly digest: string
}

interface RulesDigest {
  readonly digest: string
}

/** State that outlives a generation. */
interface PolicyState {
  /** Rule digests of all running generations; the latest is active. */
  readonly generations: RulesDigest[]
  /** Latest definitions by upstream, kind and name. */
  readonly definitions: BoundedMap<string, JsonObject>
  readonly continued: BoundedMap<string, number>
}

/** Enforces the rules on lists and calls. */
export class PolicyGuard {
  readonly #deps: PolicyGuardDeps
  readonly #api: PluginApi
  readonly #state: PolicyState
  readonly #getActiveRules: () => RulesDigest
  /** Arguments approved for an exchange. */
  readonly #approved: Slot<Exchange, { params: unknown }>
  readonly #hasAsks: boolean

  constructor(api: PluginApi, parts: PolicyGuardDeps) {
    this.#api = api
    this.#deps = parts
    this.#hasAsks = parts.rules.rules.some(({ effect }) => effect === 'ask')
    this.#state = api.slot.gateway(() => ({
      generations: [],
      definitions: new BoundedMap({ max: MAX_DEFINITIONS }),
      continued: new BoundedMap(CONTINUED),
    }))
    this.#approved = api.slot.exchange((): { params: unknown } => ({ params: undefined }))
    this.#getActiveRules = createActiveGetter(api.hooks, this.#state.generations, { digest: parts.digest })
  }

  /** Filters entries that the caller may not see. */
  filter(entries: readonly CatalogEntry[], view: Pick<Session, 'principal'>): readonly CatalogEntry[] {
    const { rules, judge, facts } = this.#deps
    const { scopes } = view.principal
    return entries.filter(entry => {
      // Without a name: may the upstream list skills at all?
      if (entry.kind === 'skills' && entry.original === '') return true
      if (this.#hasAsks) this.#state.definitions.set(createEntryKey(entry), entry.value)
      const fitting = rules.findApplicable(describeEntry(entry))
      return judge.shouldList(fitting, { facts: facts.buildEntryFacts(entry, view, fitting.reads), scopes })
    })
  }

  wrapDispatch(next: Dispatch): Dispatch {
    return call => {
      if (!JUDGED_METHODS.has(call.method) && (METHODS.has(call.method) || EXTENSION_METHODS.has(call.method)))
        return next(call)
      const called = identifyCall(call)
      const verdict = this.#judgeCall(call, called)
      if (verdict.effect === 'allow') return next(call)
      if (verdict.effect === 'ask') return this.#requestApproval(call, called, verdict.rule, next)
      return Promise.resolve(createDenial(called, call.exchange, verdict))
    }
  }

  #judgeCall(call: Call, called: CalledSubject): PolicyVerdict {
    const { rules, judge, facts, counts, calls } = this.#deps
    const { principal, session } = call.exchange
    const fitting = rules.findApplicable(called)
    const verdict = judge.judgeCall(fitting, {
      facts: facts.buildCallFacts(call, called, fitting.reads),
      scopes: principal.scopes,
    })
    if (fitting.reads.has('session')) calls.get(session).count++
    counts.countDecision(verdict)
    return verdict
  }

  async #requestApproval(call: Call, called: CalledSubject, rule: string, next: Dispatch): Promise<Answer> {
    if (NEVER_ASKED.has(call.method)) return refuseCall('GW_POLICY_UNANSWERED', called, { rule })
    const definition = this.#digestDefinition(called)
    if (this.#canContinue(call, definition)) return this.#continueCall(call, definition, next)
    const decision = await this.#api.requestApproval({
      call,
      rule,
      rules: this.#deps.digest,
      name: called.name,
      findChange: () => {
        if (!this.#isActive()) return 'the policy rules have changed'
        return this.#digestDefinition(called) === definition ? undefined : 'its definition has changed'
      },
    })
    if (decision === undefined) return refuseCall('GW_POLICY_UNANSWERED', called, { rule })
    if (!decision.granted) return 'error' in decision.answer ? markPolicyRefusal(decision.answer) : decision.answer
    this.#approved.get(call.exchange).params = selectParams(call)
    let answer: Answer | undefined
    try {
      const why = await call.findOutdatedReason?.()
      answer =
        why === undefined
          ? await this.#continueCall(call, definition, next)
          : refuseCall('GW_POLICY_OUTDATED', called, { why }, {})
      return answer
    } finally {
      decision.ended?.(answer)
    }
  }

  async #continueCall(call: Call, definition: string | undefined, next: Dispatch): Promise<Answer> {
    const answer = await next(call)
    this.#rememberContinuation(call, definition, answer)
    return answer
  }

  /** Returns true if these rules are still the active ones. */
  #isActive(): boolean {
    return this.#getActiveRules().digest === this.#deps.digest
  }

  /**
   * Returns true if this call was approved and continues after an input request. Other rules or another definition
   * require a new approval.
   */
  #canContinue(call: Call, definition: string | undefined): boolean {
    if (!this.#isActive()) return false
    const { params } = this.#approved.get(call.exchange)
    if (params !== undefined) return params === selectParams(call)
    // Numbers that parsers may read differently are not the approved ones.
    if (call.exchange.hasExactNumbers === false) return false
    const { continued } = this.#state
    const key = this.#digestContinuation(call, definition, call.params?.requestState)
    const until = key === undefined ? undefined : continued.get(key)
    if (key === undefined || until === undefined) return false
    continued.delete(key)
    return until > this.#api.clock.now()
  }

  /** The request state is sealed for its caller, so only that caller can continue. */
  #rememberContinuation(call: Call, definition: string | undefined, answer: Answer): void {
    if (!('input' in answer)) return
    const key = this.#digestContinuation(call, definition, answer.input.value().requestState)
    if (key === undefined) return
    const caller = principalKey(call.exchange.principal)
    this.#state.continued.set(key, this.#api.clock.now() + CONTINUED_MS, caller)
  }

  /** Hashes a continued call with its rules and definition. */
  #digestContinuation(call: Call, definition: string | undefined, state: unknown): string | undefined {
    if (typeof state !== 'string') return undefined
    const { upstream, method, params, exchange } = call
    return hashJson([
      this.#deps.digest,
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

  #digestDefinition({ entry }: CalledSubject): string | undefined {
    if (entry === undefined) return undefined
    return hashJson(this.#state.definitions.get(createEntryKey(entry)) ?? entry.value)
  }
}

function createEntryKey({ upstream, kind, original }: CatalogEntry): string {
  return JSON.stringify([upstream, kind, original])
}

function hashJson(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

/** Selects the parameters that stay the same in each round of one call. */
function selectParams({ params }: Call): unknown {
  return params?.arguments ?? params?.uri ?? params?.name
}

const NOUNS = { tools: 'tool', prompts: 'prompt', resources: 'resource', skills: 'skill' } as const

function formatSubject({ kind, name }: CalledSubject): string {
  return kind === undefined ? `the method ${name}` : `the ${NOUNS[kind]} "${name}"`
}

/** Transports with a status code. */
const HTTP: ReadonlySet<Exchange['via']> = new Set(['http', 'rest', 'sse'])

function createDenial(
  called: CalledSubject,
  { via }: Exchange,
  { rule, scopes }: Extract<PolicyVerdict, { effect: 'deny' }>,
): Answer {
  if (scopes === undefined) {
    const by = rule === undefined ? 'no rule allows it' : `rule "${rule}"`
    const isNameless = called.kind === 'skills' && called.skill === undefined
    const why = isNameless ? `${by}, and its manifest is unknown. Request skills/get first` : by
    return refuseCall('GW_POLICY_DENIED', called, { why }, rule === undefined ? {} : { rule })
  }
  // Exactly the missing scopes; `auth` adds where to get tokens.
  const list = scopes.join(' ')
  const headers = { 'www-authenticate': `Bearer error="insufficient_scope", scope="${list}"` }
  const http = HTTP.has(via) ? { status: 403, headers } : undefined
  return refuseCall('GW_POLICY_SCOPE', called, { scopes: list }, { scopes }, http)
}

function refuseCall(
  code: keyof typeof ERRORS,
  called: CalledSubject,
  values: Record<string, string>,
  data: JsonObject = values,
  http?: Parameters<typeof refuse>[3],
): Answer {
  const { entry, message } = policyError(code, { what: formatSubject(called), ...values })
  return markPolicyRefusal(refuse(entry.rpc ?? 0, message, { code, ...data }, http))
}

function markPolicyRefusal(answer: Answer): Answer {
  return 'error' in answer ? { ...answer, refusedBy: 'policy' } : answer
}
