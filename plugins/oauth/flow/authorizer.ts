import type {
  Authorizer,
  CredentialHeaders,
  Exchange,
  OutgoingRequest,
  Principal,
  UpstreamRefusal,
} from '../../../src/plugin.ts'
import { getAccount } from '../callers.ts'
import { oauthError } from '../errors.ts'
import type { Access } from '../types.ts'
import { GATEWAY_ACCOUNT } from '../types.ts'
import type { ScopeStep, UpstreamFlow } from './upstream-flow.ts'

/** Tokens of one upstream, for any grant type. */
export interface TokenSource {
  /** True if people log in to get them. */
  readonly isInteractive: boolean
  access(account: string, request: OutgoingRequest): Promise<Access>
  /** Renews a token that was rejected with 401. */
  renewRefused(account: string, generation: number, request: OutgoingRequest): Promise<Access>
}

const NOTHING: CredentialHeaders = Object.freeze({})

interface AuthorizerOptions {
  readonly isPerCaller: boolean
  readonly onWaiting: LoginWaitListener
}

/** Called for each caller that must log in. */
type LoginWaitListener = (account: string, caller: Principal) => void

/** Creates an authorizer that adds tokens to requests and handles rejections. */
export function createAuthorizer(
  flow: UpstreamFlow,
  tokens: TokenSource,
  { isPerCaller, onWaiting }: AuthorizerOptions,
): Authorizer {
  const authorizer = new TokenAuthorizer(flow, tokens, onWaiting)
  return {
    headers: request => authorizer.headers(request),
    refused: (request, refusal) => authorizer.handleRefusal(request, refusal),
    ...(isPerCaller ? { getAccount: (principal: Principal) => requireAccount(flow.spec.name, principal) } : {}),
  }
}

function requireAccount(upstream: string, principal: Principal): string {
  const account = getAccount(principal)
  if (account === undefined) throw oauthError('GW_OAUTH_CALLER', { upstream })
  return account
}

class TokenAuthorizer {
  readonly #flow: UpstreamFlow
  readonly #tokens: TokenSource
  readonly #onWaiting: LoginWaitListener
  /** Token generations by the headers that they were sent in. */
  readonly #generations = new WeakMap<CredentialHeaders, number>()

  constructor(flow: UpstreamFlow, tokens: TokenSource, waits: LoginWaitListener) {
    this.#flow = flow
    this.#tokens = tokens
    this.#onWaiting = waits
  }

  /** Without a grant the request is sent without a token: the server decides whether it needs one. */
  async headers(request: OutgoingRequest): Promise<CredentialHeaders> {
    const access = await this.#tokens.access(getRequestAccount(request), request)
    if (access.kind === 'unavailable') throw this.#createUnavailableError(access.why)
    return access.kind === 'token' ? this.#createHeaders(access) : NOTHING
  }

  async handleRefusal(request: OutgoingRequest, refusal: UpstreamRefusal): Promise<CredentialHeaders | undefined> {
    const generation = this.#generations.get(refusal.sent)
    const account = getRequestAccount(request)
    const challenge = this.#flow.noteChallenge(account, refusal.challenge)
    if (refusal.status === 403) {
      const { error, scopes } = challenge
      const isStep = error === 'insufficient_scope' && this.#tokens.isInteractive
      if (isStep && generation !== undefined && scopes !== undefined) this.#requestScopes(request, { account, scopes })
      return undefined
    }
    if (refusal.attempt > 1) throw this.#createLoginNeeded(request, 'the server rejected the token')
    // A request sent without a token is retried if there is a login meanwhile.
    const access =
      generation === undefined
        ? await this.#tokens.access(account, request)
        : await this.#tokens.renewRefused(account, generation, request)
    if (access.kind === 'unavailable') throw this.#createUnavailableError(access.why)
    if (access.kind === 'login') throw this.#createLoginNeeded(request, access.why)
    return this.#createHeaders(access)
  }

  #requestScopes({ exchange }: OutgoingRequest, step: Omit<ScopeStep, 'operation'>): void {
    if (!this.#flow.noteMissingScopes({ ...step, operation: formatOperation(exchange) })) return
    throw this.#createLoginError(step.account, `the scope ${step.scopes.join(' ')} is required`, true)
  }

  #createHeaders({ token, generation }: Extract<Access, { kind: 'token' }>): CredentialHeaders {
    const headers = { authorization: `Bearer ${token}` }
    this.#generations.set(headers, generation)
    return headers
  }

  #createLoginNeeded({ principal, account }: OutgoingRequest, reason: string): Error {
    if (account !== undefined && principal !== undefined) this.#onWaiting(account, principal)
    return this.#createLoginError(account ?? GATEWAY_ACCOUNT, reason)
  }

  /** `ofCall`: only this call lacks scopes, so the login stays valid. */
  #createLoginError(account: string, reason: string, ofCall = false): Error {
    return oauthError('GW_LOGIN_NEEDED', { upstream: this.#flow.spec.name, account, why: reason, ofCall })
  }

  #createUnavailableError(reason: string): Error {
    return oauthError('GW_OAUTH_UNAVAILABLE', { upstream: this.#flow.spec.name, why: reason })
  }
}

function getRequestAccount({ account }: OutgoingRequest): string {
  return account ?? GATEWAY_ACCOUNT
}

/** Identifies an operation by its method and target. */
function formatOperation(exchange: Exchange | undefined): string {
  const { method = '', params } = exchange ?? {}
  return JSON.stringify([method, params?.name ?? params?.uri ?? null])
}
