import type {
  Authorizer,
  CredentialHeaders,
  Exchange,
  OutgoingRequest,
  Principal,
  UpstreamRefusal,
} from '../../../src/plugin.ts'
import { accountOf } from '../callers.ts'
import { oauthError } from '../errors.ts'
import type { Access } from '../types.ts'
import { GATEWAY_ACCOUNT } from '../types.ts'
import type { Step, UpstreamFlow } from './upstream-flow.ts'

/** Tokens for one upstream, whatever grant they come from. */
export interface Tokens {
  /** True if people log in for them. */
  readonly isOfPeople: boolean
  access(account: string, request: OutgoingRequest): Promise<Access>
  /** The token of that generation was refused with 401. */
  refused(account: string, generation: number, request: OutgoingRequest): Promise<Access>
}

const NOTHING: CredentialHeaders = Object.freeze({})

interface AuthorizerOptions {
  readonly isOfCaller: boolean
  readonly waits: Waits
}

/** Hears of each caller who was told to log in. */
type Waits = (account: string, caller: Principal) => void

/** Puts tokens on the requests of one upstream, and understands its refusals. */
export function authorizerOf(
  flow: UpstreamFlow,
  tokens: Tokens,
  { isOfCaller, waits }: AuthorizerOptions,
): Authorizer {
  const authorizer = new TokenAuthorizer(flow, tokens, waits)
  return {
    headers: request => authorizer.headers(request),
    refused: (request, refusal) => authorizer.refused(request, refusal),
    ...(isOfCaller ? { accountOf: (principal: Principal) => callerAccount(flow.spec.name, principal) } : {}),
  }
}

function callerAccount(upstream: string, principal: Principal): string {
  const account = accountOf(principal)
  if (account === undefined) throw oauthError('GW_OAUTH_CALLER', { upstream })
  return account
}

class TokenAuthorizer {
  readonly #flow: UpstreamFlow
  readonly #tokens: Tokens
  readonly #waits: Waits
  /** Generations of tokens by the headers that they were sent in. */
  readonly #generations = new WeakMap<CredentialHeaders, number>()

  constructor(flow: UpstreamFlow, tokens: Tokens, waits: Waits) {
    this.#flow = flow
    this.#tokens = tokens
    this.#waits = waits
  }

  /** Without a grant the request goes out without a token: the server says whether it needs one. */
  async headers(request: OutgoingRequest): Promise<CredentialHeaders> {
    const access = await this.#tokens.access(accountIn(request), request)
    if (access.kind === 'unavailable') throw this.#unavailable(access.why)
    return access.kind === 'token' ? this.#bearer(access) : NOTHING
  }

  async refused(request: OutgoingRequest, refusal: UpstreamRefusal): Promise<CredentialHeaders | undefined> {
    const generation = this.#generations.get(refusal.sent)
    const account = accountIn(request)
    const challenge = this.#flow.challenged(account, refusal.challenge)
    if (refusal.status === 403) {
      const { error, scopes } = challenge
      const isStep = error === 'insufficient_scope' && this.#tokens.isOfPeople
      if (isStep && generation !== undefined && scopes !== undefined)
        await this.#stepUp(request, { account, generation, scopes })
      return undefined
    }
    if (refusal.attempt > 1) throw this.#needsLogin(request, 'it refuses the token')
    // What went out without a token is sent again with one if somebody has logged in meanwhile.
    const access =
      generation === undefined
        ? await this.#tokens.access(account, request)
        : await this.#tokens.refused(account, generation, request)
    if (access.kind === 'unavailable') throw this.#unavailable(access.why)
    if (access.kind === 'login') throw this.#needsLogin(request, access.why)
    return this.#bearer(access)
  }

  async #stepUp({ exchange }: OutgoingRequest, step: Omit<Step, 'operation'>): Promise<void> {
    if (!(await this.#flow.stepUp({ ...step, operation: operationOf(exchange) }))) return
    throw this.#lacks(step.account, `this needs the scope ${step.scopes.join(' ')}`, true)
  }

  #bearer({ token, generation }: Extract<Access, { kind: 'token' }>): CredentialHeaders {
    const headers = { authorization: `Bearer ${token}` }
    this.#generations.set(headers, generation)
    return headers
  }

  #needsLogin({ principal, account }: OutgoingRequest, why: string): Error {
    if (account !== undefined && principal !== undefined) this.#waits(account, principal)
    return this.#lacks(account ?? GATEWAY_ACCOUNT, why)
  }

  /** `ofCall` for what one call wants beyond the login: all others go on. */
  #lacks(account: string, why: string, ofCall = false): Error {
    return oauthError('GW_LOGIN_NEEDED', { upstream: this.#flow.spec.name, account, why, ofCall })
  }

  #unavailable(why: string): Error {
    return oauthError('GW_OAUTH_UNAVAILABLE', { upstream: this.#flow.spec.name, why })
  }
}

function accountIn({ account }: OutgoingRequest): string {
  return account ?? GATEWAY_ACCOUNT
}

/** The operation that scopes are for: a method, and the tool or whatever it names. */
function operationOf(exchange: Exchange | undefined): string {
  const { method = '', params } = exchange ?? {}
  return JSON.stringify([method, params?.name ?? params?.uri ?? null])
}
