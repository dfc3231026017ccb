import { createHash, randomBytes } from 'node:crypto'
import type { ApprovalRequest } from '../../src/plugin.ts'
import { actorKey, callerKey, canonicalizeJson } from '../../src/plugin.ts'

/** Decision on a call that waits, with who or what made it. */
export interface Decision {
  readonly outcome: 'approved' | 'denied' | 'expired' | 'unavailable' | 'cancelled'
  readonly by: string
}

/** A call that waits for a decision. */
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

/** Most calls that wait, of all and of one caller, and how long they do. */
export interface WaitingLimits {
  readonly open: number
  readonly openPerCaller: number
  readonly ttlMs: number
}

/** An id that people type after `gateway approvals approve`, where a `-` in front would make a flag of it. */
export function newId(): string {
  return randomBytes(9).toString('base64url').replace(/^-/, 'A')
}

/** The calls that wait. The first decision on one counts, and it waits no longer. */
export class WaitingCalls {
  readonly #open = new Map<
    string,
    { readonly call: OpenCall; readonly decide: (decision: Decision) => void }
  >()

  get calls(): OpenCall[] {
    return [...this.#open.values()].map(({ call }) => call)
  }

  /** Takes a call; undefined where too many wait. */
  add(request: ApprovalRequest, { open, openPerCaller, ttlMs }: WaitingLimits): OpenCall | undefined {
    const caller = callerKey(request.call.exchange.session)
    const own = this.calls.filter(call => call.caller === caller)
    if (this.#open.size >= open || own.length >= openPerCaller) return undefined
    const id = newId()
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

  has(id: string): boolean {
    return this.#open.has(id)
  }

  /** End of the time that a call waits; undefined where none of that name does. */
  getDeadline(id: string): number | undefined {
    return this.#open.get(id)?.call.until
  }

  /** Decides on a call; false where none of that name waits. */
  decide(id: string, decision: Decision): boolean {
    const found = this.#open.get(id)
    if (found === undefined) return false
    this.#open.delete(id)
    found.decide(decision)
    return true
  }

  /** Ends all calls that wait as `unavailable`, as no decision can come any more. */
  end(why: string): void {
    for (const { id } of this.calls) this.decide(id, { outcome: 'unavailable', by: why })
  }
}

/**
 * Digest of everything that a decision is about: who calls what with which arguments, as it is defined now, under which
 * rules. An audit, the owner and the webhook are told of a call by it.
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

/** The one place where decisions on calls are made, whichever way they come. */
export interface Decisions {
  /** Decides on a call that waits; false where none of that name does. Rejects where it cannot be told whether it does. */
  decide(id: string, decision: Decision): Promise<boolean>
}

/** Decisions on the calls of this process. */
export function createDecisions(waiting: WaitingCalls): Decisions {
  return { decide: (id, decision) => Promise.resolve(waiting.decide(id, decision)) }
}
