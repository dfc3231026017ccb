import type { Authorizer, Principal } from '../../../src/plugin.ts'
import { getAccount } from '../callers.ts'
import { oauthError } from '../errors.ts'
import type { Access } from '../types.ts'
import { GATEWAY_ACCOUNT } from '../types.ts'
import type { Challenge } from './oauth-requests.ts'
import type { UpstreamFlow } from './upstream-flow.ts'

/** Tokens of one upstream, for any grant type. */
export interface TokenSource {
  /** True if people log in to get them. */
  readonly isInteractive: boolean
  access(account: string, request: OutgoingRequest): Promise<Access>
  /** Renews a token that was rejected with 401. */
  renewRefused(account: string, generation: number, request: OutgoingRequest): Promise<Access>
}

export type OutgoingRequest = Parameters<Authorizer['headers']>[0]
type CredentialHeaders = Readonly<Record<string, string>>

const NOTHING: CredentialHeaders = Object.freeze({})

interface AuthorizerOptions {
  readonly isPerCaller: boolean
  /** Called for each caller that must log in. */
  onWaiting(account: string, caller: Principal): void
}

/** Creates an authorizer that adds tokens to requests and handles rejections. */
export function createAuthorizer(
  flow: UpstreamFlow,
  tokens: TokenSource,
  { isPerCaller, onWaiting }: AuthorizerOptions,
): Authorizer {
  const upstream = flow.spec.name
  /** Token generations by the headers that they were sent in. */
  const generations = new WeakMap<CredentialHeaders, number>()
  const createLoginNeeded = ({ principal, account }: OutgoingRequest, why: string): Error => {
    if (account !== undefined && principal !== undefined) onWaiting(account, principal)
    return oauthError('GW_LOGIN_NEEDED', { upstream, account: account ?? GATEWAY_ACCOUNT, why, ofCall: false })
  }
  const toHeaders = (access: Access, request: OutgoingRequest): CredentialHeaders => {
    if (access.kind === 'unavailable') throw oauthError('GW_OAUTH_UNAVAILABLE', { upstream, why: access.why })
    if (access.kind === 'login') throw createLoginNeeded(request, access.why)
    const headers = { authorization: `Bearer ${access.token}` }
    generations.set(headers, access.generation)
    return headers
  }
  return {
    /** Without a grant the request is sent without a token: the server decides whether it needs one. */
    async headers(request) {
      const access = await tokens.access(getRequestAccount(request), request)
      return access.kind === 'login' ? NOTHING : toHeaders(access, request)
    },
    async refused(request, refusal) {
      const generation = generations.get(refusal.sent)
      const account = getRequestAccount(request)
      const challenge = flow.noteChallenge(account, refusal.challenge)
      if (refusal.status === 403) {
        if (tokens.isInteractive && generation !== undefined) requestScopes(flow, account, challenge, request)
        return undefined
      }
      if (refusal.attempt > 1) throw createLoginNeeded(request, 'the server rejected the token')
      // A request sent without a token is retried if there is a login meanwhile.
      return toHeaders(
        generation === undefined
          ? await tokens.access(account, request)
          : await tokens.renewRefused(account, generation, request),
        request,
      )
    },
    ...(isPerCaller ? { getAccount: (principal: Principal) => requireAccount(upstream, principal) } : {}),
  }
}

function requireAccount(upstream: string, principal: Principal): string {
  const account = getAccount(principal)
  if (account === undefined) throw oauthError('GW_OAUTH_CALLER', { upstream })
  return account
}

function getRequestAccount({ account }: OutgoingRequest): string {
  return account ?? GATEWAY_ACCOUNT
}

/** Asks for a login with missing scopes. `ofCall`: only this call lacks them, so the login stays valid. */
function requestScopes(
  flow: UpstreamFlow,
  account: string,
  { error, scopes }: Challenge,
  { exchange }: OutgoingRequest,
): void {
  if (error !== 'insufficient_scope' || scopes === undefined) return
  const { method = '', params } = exchange ?? {}
  const operation = JSON.stringify([method, params?.name ?? params?.uri ?? null])
  if (!flow.noteMissingScopes({ account, scopes, operation })) return
  const why = `the scope ${scopes.join(' ')} is required`
  throw oauthError('GW_LOGIN_NEEDED', { upstream: flow.spec.name, account, why, ofCall: true })
}
