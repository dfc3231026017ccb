import { createHash, randomBytes } from 'node:crypto'
import type { ApprovalRequest } from '../../src/plugin.ts'
import { actorKey, callerKey, canonicalizeJson } from '../../src/plugin.ts'

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
export interface WaitingLimits {
  readonly open: number
  readonly openPerCaller: number
  readonly ttlMs: number
}

/** Creates an id without a leading `-`, because people type it as an argument. */
export function newId(): string {
  return randomBytes(9).toString('base64url').replace(/^-/, 'A')
}

/** Pending calls. The first decision counts and removes the call. */
export class WaitingCalls {
  readonly #open = new Map<string, { readonly call: OpenCall; readonly decide: (decision: Decision) => void }>()

  get calls(): OpenCall[] {
    return [...this.#open.values()].map(({ call }) => call)
  }

  /** Adds a call; returns undefined if the limit is reached. */
  add(
    request: ApprovalRequest,
    { open, openPerCaller, ttlMs }: WaitingLimits,
    replicaId?: string,
  ): OpenCall | undefined {
    const caller = callerKey(request.call.exchange.session)
    const own = this.calls.filter(call => call.caller === caller)
    if (this.#open.size >= open || own.length >= openPerCaller) return undefined
    // The prefix leads a webhook's decision to the replica that holds the call.
    const id = `${replicaId === undefined ? '' : `${replicaId}.`}${newId()}`
    const { promise, resolve } = Promise.withResolvers<Decision>()
    const since = Date.now()
    const call = {
      id,
      digest: computeBinding(request),
      caller,
      request,
      since,
      until: since + ttlMs,
      decided: promise,
    }
    this.#open.set(id, { call, decide: resolve })
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
