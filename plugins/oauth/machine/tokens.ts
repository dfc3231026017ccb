import { BoundedMap, GatewayError, tokenOf, type OutgoingRequest } from '../../../src/plugin.ts'
import type { Tokens } from '../flow/authorizer.ts'
import type { UpstreamFlow } from '../flow/upstream-flow.ts'
import { whyFailed } from '../flow/wire.ts'
import type { Access } from '../types.ts'
import { Requests, type Issued, type MachineHost } from './requests.ts'

/** Accounts whose tokens are kept at a time. */
const MAX_KEPT = 1000
/** A token is renewed this long before its end, or in the last quarter of a shorter life. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** Life of a token whose server says nothing of it. */
const UNKNOWN_MS = 300_000
/** After a refusal nothing is asked for this account for a while, as each call would. */
const PAUSE_MS = 5000

interface Kept {
  readonly token: string
  readonly generation: number
  /** Clock time at which another one is asked for. */
  readonly dueAt: number
  /** The token of the caller that it was made of. */
  readonly subject: string | undefined
}

/** Tokens of grants that need nobody at a browser. They live in memory alone, as another one is to be had at any time. */
export function machineTokens(flow: UpstreamFlow, host: MachineHost): Tokens {
  return new MachineTokens(flow, host)
}

class MachineTokens implements Tokens {
  readonly isOfPeople = false
  readonly #flow: UpstreamFlow
  readonly #host: MachineHost
  readonly #kept = new BoundedMap<string, Kept>({ max: MAX_KEPT })
  readonly #flights = new Map<string, Promise<Access>>()
  readonly #failed = new BoundedMap<string, { readonly access: Access; readonly until: number }>({
    max: MAX_KEPT,
  })
  readonly #requests: Requests
  #generation = 0

  constructor(flow: UpstreamFlow, host: MachineHost) {
    this.#flow = flow
    this.#host = host
    this.#requests = new Requests(flow, host)
  }

  access(account: string, request: OutgoingRequest): Promise<Access> {
    const subject = this.#subjectOf(request)
    const now = this.#host.clock.now()
    const kept = this.#kept.use(account)
    if (kept !== undefined && now < kept.dueAt && kept.subject === subject)
      return Promise.resolve({ kind: 'token', token: kept.token, generation: kept.generation })
    return this.#once(account, subject)
  }

  refused(account: string, generation: number, request: OutgoingRequest): Promise<Access> {
    if (this.#kept.get(account)?.generation === generation) this.#kept.delete(account)
    return this.access(account, request)
  }

  /** One request at a time for all who wait with the same token. */
  #once(account: string, subject: string | undefined): Promise<Access> {
    const key = JSON.stringify([account, subject ?? null])
    const failed = this.#failed.get(key)
    if (failed !== undefined && this.#host.clock.now() < failed.until) return Promise.resolve(failed.access)
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      flight = this.#ask(account, subject, key).finally(() => this.#flights.delete(key))
      this.#flights.set(key, flight)
    }
    return flight
  }

  async #ask(account: string, subject: string | undefined, key: string): Promise<Access> {
    try {
      const issued = await this.#requests.issue(account, subject)
      this.#failed.delete(key)
      return this.#keep(account, subject, issued)
    } catch (error) {
      const wire = await this.#flow.wire()
      const why = error instanceof GatewayError ? error.message : whyFailed(wire, error)
      this.#host.log.warn('no token was given', { account, why })
      const access: Access = { kind: 'unavailable', why }
      this.#failed.set(key, { access, until: this.#host.clock.now() + PAUSE_MS })
      return access
    }
  }

  #keep(account: string, subject: string | undefined, { token, seconds }: Issued): Access {
    const lifeMs = seconds === undefined || seconds <= 0 ? UNKNOWN_MS : seconds * 1000
    const dueAt = this.#host.clock.now() + lifeMs - Math.min(AHEAD_MS, lifeMs / QUARTER)
    const generation = ++this.#generation
    this.#host.keepSecret(token)
    this.#kept.set(account, { token, generation, dueAt, subject })
    return { kind: 'token', token, generation }
  }

  /** The caller's own token, where one is exchanged. */
  #subjectOf({ principal }: OutgoingRequest): string | undefined {
    return this.#requests.needsSubject && principal !== undefined ? tokenOf(principal) : undefined
  }
}
