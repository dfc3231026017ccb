import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of upstream OAuth. */
export const ERRORS = {
  GW_LOGIN_NEEDED: {
    text: 'upstream "{upstream}" needs a login: {why}. Run: gateway login {upstream}',
    hint: 'Run: gateway login {upstream}.',
    state: 'needs_auth',
    http: 502,
    rpc: RPC.internal,
  },
  GW_LOGIN_FAILED: {
    text: 'the login to upstream "{upstream}" failed: {why}',
    hint: 'Begin again with: gateway login {upstream}. The log says more.',
    exit: 5,
    http: 502,
    rpc: RPC.internal,
  },
  GW_LOGIN_UNKNOWN: {
    text: 'this login is not known, or was used before, or took longer than ten minutes',
    hint: 'Begin again with gateway login.',
    exit: 5,
    http: 400,
    rpc: RPC.invalidRequest,
  },
  GW_LOGIN_BUSY: {
    text: 'too many logins of this account have begun and not ended',
    hint: 'End one of them, or wait ten minutes.',
    exit: 5,
    http: 429,
    rpc: RPC.internal,
  },
  GW_OAUTH_METADATA: {
    text: 'how to log in to upstream "{upstream}" cannot be found out: {why}',
    hint: 'Ask who runs the server; upstreams.{upstream}.oauth may name another issuer, and upstreams.{upstream}.headers a token.',
    exit: 5,
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_CLIENT: {
    text: 'the gateway is no client of {issuer}: {why}',
    hint: 'Register it there by hand, {how}, and set upstreams.{upstream}.oauth.client.',
    exit: 5,
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_UNAVAILABLE: {
    text: 'there is no token for upstream "{upstream}" now: {why}',
    hint: 'The gateway tries again with the next call.',
    http: 502,
    rpc: RPC.internal,
    isOurs: true,
  },
  GW_OAUTH_REFUSED: {
    text: 'the authorization server gives no token for upstream "{upstream}": {why}',
    hint: 'Check upstreams.{upstream}.oauth against what the authorization server expects.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_CALLER: {
    text: 'upstream "{upstream}" is used in the name of each caller, and nobody knows who this one is',
    hint: 'Come over a listener with auth, or set upstreams.{upstream}.oauth.account to gateway.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const oauthError = errorsOf(ERRORS)
