import { createHash, randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type {
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  AskReply,
  AuditEvent,
  Config,
  PluginApi,
} from '../../src/plugin.ts'
import {
  actorKey,
  answer,
  callerKey,
  canonicalizeJson,
  toOneLine,
  parseDuration,
  readMap,
  getErrorMessage,
  refuse,
  RPC,
  toolError,
  supportsForms,
} from '../../src/plugin.ts'
import { summarizeArguments } from './format-arguments.ts'
import type { ApprovalJournal } from './unfinished-calls.ts'

/** A decision, and the person or component that made it. */
export interface Decision {
  readonly outcome: 'approved' | 'denied' | 'expired' | 'unavailable' | 'cancelled'
  readonly by: string
}

/** A pending call. */
export interface OpenCall {
  readonly id: string
  readonly digest: string
  readonly caller: string
  readonly request: ApprovalRequest
  /** Milliseconds since 1970. */
  readonly since: number
  readonly until: number
  readonly decided: Promise<Decision>
}

/** Limits on pending calls, in total and per caller, and their lifetime. */
interface WaitingLimits {
  readonly open: number
  readonly openPerCaller: number
  readonly ttlMs: number
}

/** Pending calls. The first decision counts and removes the call. */
export class WaitingCalls {
  readonly #open = new Map<string, { readonly call: OpenCall; readonly decide: (decision: Decision) => void }>()

  get calls(): OpenCall[] {
    return [...this.#open.values()].map(({ call }) => call)
  }

  /** Adds a call; returns undefined if the limit is reached. */
  add(request: ApprovalRequest, limits: WaitingLimits, replicaId?: string): OpenCall | undefined {
    const { open, openPerCaller, ttlMs } = limits
    const caller = callerKey(request.call.exchange.session)
    const own = this.calls.filter(call => call.caller === caller)
    if (this.#open.size >= open || own.length >= openPerCaller) return undefined
    const id = randomBytes(8).toString('hex')
    // The prefix leads a webhook's decision to the replica that holds the call.
    const fullId = replicaId === undefined ? id : `${replicaId}.${id}`
    const { promise, resolve } = Promise.withResolvers<Decision>()
    const since = Date.now()
    const digest = computeBinding(request)
    const call = { id: fullId, digest, caller, request, since, until: since + ttlMs, decided: promise }
    this.#open.set(fullId, { call, decide: resolve })
    return call
  }

  /** Applies a decision; returns false for an unknown id. */
  decide(id: string, decision: Decision): boolean {
    const openCall = this.#open.get(id)
    if (openCall === undefined) return false
    this.#open.delete(id)
    openCall.decide(decision)
    return true
  }

  /** Ends all pending calls as `unavailable`. */
  end(reason: string): void {
    for (const { id } of this.calls) this.decide(id, { outcome: 'unavailable', by: reason })
  }
}

/**
 * Digest over everything that the decision covers: caller, method, arguments, tool definition and rules. Reported to
 * the audit log, the owner and the webhook.
 */
function computeBinding({ call, rules }: ApprovalRequest): string {
  const { upstream, method, params, exchange } = call
  const bound = {
    actor: actorKey(exchange.principal),
    upstream,
    method,
    name: params?.name ?? params?.uri ?? null,
    arguments: params?.arguments ?? null,
    definition: exchange.entry === undefined ? null : exchange.entry.value,
    rules,
  }
  return createHash('sha256').update(canonicalizeJson(bound)).digest('hex')
}

const SCHEMA = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', title: 'Run it', description: 'Set to true to run this call once.' },
  },
  required: ['approve'],
}

/** Builds the approval form; caller data appears only as quoted data. */
function buildForm(open: OpenCall, onTakeBack: Ask['onCancel']): Ask {
  const { name, rule } = open.request
  const message = `Run "${toOneLine(name)}"? The rule "${toOneLine(rule)}" requires approval. Arguments: ${summarizeArguments(open.request)}`
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: SCHEMA },
    ...(onTakeBack === undefined ? {} : { onCancel: onTakeBack }),
  }
}

/** Returns undefined if the client could not be asked. */
function parseDecision(reply: AskReply): Decision | undefined {
  if ('error' in reply) return undefined
  const { action, content } = reply.result
  const isApproved = action === 'accept' && readMap(content).approve === true
  return { outcome: isApproved ? 'approved' : 'denied', by: 'client' }
}

export type ApproveConfig = NonNullable<Config['approve']>

const NOBODY = { outcome: 'unavailable', by: 'no approver is available' } as const
const FULL = { outcome: 'unavailable', by: 'too many calls are waiting for approval' } as const
const INEXACT = { outcome: 'unavailable', by: 'a number in its arguments cannot be shown exactly' } as const

/** Refusal reasons shown to callers. */
const REASONS = {
  denied: 'approval_denied',
  expired: 'approval_expired',
  unavailable: 'approval_unavailable',
  cancelled: 'approval_unavailable',
} as const

type ApprovalChannel = ApproveConfig['by'][number]

interface ApproverDeps {
  readonly waiting: WaitingCalls
  readonly journal: ApprovalJournal
  /**
   * Notifies the webhook. Returns its decision, undefined if that follows later, false if delivery failed.
   */
  readonly notifyWebhook: ((open: OpenCall) => Promise<Decision | undefined | false>) | undefined
  /** Returns the active configuration, which a reload may have changed. */
  inForce(): ApproveConfig
}

/** Obtains a decision through all configured channels. */
export class Approver {
  readonly #api: PluginApi<ApproveConfig>
  readonly #deps: ApproverDeps
  readonly #bounds: WaitingLimits

  constructor(api: PluginApi<ApproveConfig>, parts: ApproverDeps) {
    const { open, openPerCaller, ttl } = api.options
    this.#api = api
    this.#deps = parts
    this.#bounds = { open, openPerCaller, ttlMs: parseDuration(ttl) }
  }

  async decide(request: ApprovalRequest): Promise<Approval> {
    const { waiting } = this.#deps
    if (request.call.exchange.hasExactNumbers === false) return this.#refuseCall(request, INEXACT)
    if (!this.#canAsk(request)) return this.#refuseCall(request, NOBODY)
    const open = waiting.add(request, this.#bounds, this.#api.getReplicaId())
    if (open === undefined) return this.#refuseCall(request, FULL)
    const stop = this.#askChannels(open)
    const decision = await open.decided
    stop()
    return decision.outcome === 'approved' ? this.#grantCall(open, decision) : this.#refuseCall(request, decision, open)
  }

  #canAsk({ call }: ApprovalRequest): boolean {
    const { by } = this.#api.options
    return by.some(channel => channel !== 'client') || this.#canAskClient(call)
  }

  #canAskClient({ exchange }: ApprovalRequest['call']): boolean {
    return exchange.canAsk && supportsForms(exchange.session.client)
  }

  /** Asks on all channels concurrently; returns a function that stops asking. */
  #askChannels(open: OpenCall): () => void {
    const { by } = this.#api.options
    const { waiting, notifyWebhook } = this.#deps
    const { call } = open.request
    const cleanups = [
      this.#api.clock.after(this.#bounds.ttlMs, () =>
        waiting.decide(open.id, { outcome: 'expired', by: 'approval timed out' }),
      ),
      call.exchange.onCancel(() => waiting.decide(open.id, { outcome: 'cancelled', by: 'client' })),
    ]
    const replies: Promise<Decision | undefined | false>[] = []
    const ask = (channel: ApprovalChannel, reply: Promise<Decision | undefined | false>): void =>
      void replies.push(reply.then(decision => (this.#isAcceptable(decision, channel) ? decision : false)))
    if (by.includes('client') && this.#canAskClient(call)) ask('client', this.#askClient(open, cleanups))
    if (by.includes('webhook') && notifyWebhook !== undefined) ask('webhook', notifyWebhook(open))
    for (const reply of replies)
      void reply.then(decision => {
        if (decision !== undefined && decision !== false) waiting.decide(open.id, decision)
      })
    if (!by.includes('owner'))
      void Promise.all(replies).then(all => {
        if (all.every(decision => decision === false)) waiting.decide(open.id, NOBODY)
      })
    return () => cleanups.forEach(end => end())
  }

  /** A reload may have removed this channel. */
  #isAcceptable(decision: Decision | undefined | false, channel: ApprovalChannel): boolean {
    if (decision === undefined || decision === false || decision.outcome !== 'approved') return true
    const { by, webhook } = this.#deps.inForce()
    if (channel === 'webhook' && !isDeepStrictEqual(webhook, this.#api.options.webhook)) return false
    return by.includes(channel)
  }

  async #askClient(open: OpenCall, cleanups: (() => void)[]): Promise<Decision | false> {
    const listeners: ((reason: string) => void)[] = []
    let isOver = false
    cleanups.push(() => {
      isOver = true
      for (const listener of listeners) listener('already decided through another channel')
    })
    const form = buildForm(open, listener => void (isOver ? listener('no longer pending') : listeners.push(listener)))
    const reply = await open.request.call.exchange.ask(form)
    return parseDecision(reply) ?? false
  }

  /** Consumes the approval: compares the binding again and records the start before sending. */
  #grantCall(open: OpenCall, decision: Decision): Approval {
    const { request, id, digest } = open
    const { call, name, rule } = request
    const changed = request.findChange()
    if (changed !== undefined) return this.#refuseCall(request, { outcome: 'expired', by: changed }, open)
    const { method, upstream } = call
    try {
      this.#deps.journal.recordStart({ id, digest, method, name, upstream, rule, by: decision.by })
    } catch (error) {
      this.#api.log.error('cannot record approval', { why: getErrorMessage(error) })
      return this.#refuseCall(request, { outcome: 'unavailable', by: 'the approval could not be recorded' }, open)
    }
    this.#recordDecision(request, 'approved', decision.by, open)
    return { granted: true, ended: () => this.#recordEnd(id) }
  }

  /** A journal failure must not affect the caller's answer. */
  #recordEnd(id: string): void {
    try {
      this.#deps.journal.recordEnd(id)
    } catch (error) {
      this.#api.log.error('cannot record the completion of an approved call', { id, why: getErrorMessage(error) })
    }
  }

  #refuseCall(request: ApprovalRequest, decision: Decision, open?: OpenCall): Approval {
    this.#recordDecision(request, decision.outcome, decision.by, open)
    return { granted: false, answer: buildRefusal(request, decision) }
  }

  #recordDecision({ call, rule }: ApprovalRequest, outcome: string, by: string, open?: OpenCall): void {
    const fields: AuditEvent['fields'] = {
      rule,
      by,
      ...(open === undefined ? {} : { id: open.id, digest: open.digest, waitedMs: Date.now() - open.since }),
    }
    this.#api.record({ kind: 'permission', name: call.method, outcome, exchange: call.exchange, fields })
  }
}

/** Tool calls get a result that the model can read, other methods an error. */
function buildRefusal({ call, name, rule }: ApprovalRequest, { outcome, by }: Decision): Answer {
  const reason = outcome === 'approved' ? 'approval_unavailable' : REASONS[outcome]
  const cause = outcome === 'denied' ? 'it was denied' : by
  const text = `${reason}: "${toOneLine(name)}" was not run: the rule "${toOneLine(rule)}" requires approval, and ${cause}`
  return call.method === 'tools/call' ? answer(toolError(text)) : refuse(RPC.invalidParams, text, { reason, rule })
}
