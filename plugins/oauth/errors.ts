import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_VAULT_KEY: {
    text: 'invalid key of the login store ({file}): {why}',
    hint: 'Restore the key. If it is lost, move grants.sqlite away and log in again.',
    exit: 4,
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT: {
    text: 'the login store {location} is unusable: {why}',
    hint: 'Check the disk, or Redis and cluster.keys; it recovers automatically. If the store is damaged, restore it from a backup, or move it away and log in again; the gateway has not changed it.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_LOGIN_NEEDED: {
    text: 'upstream "{upstream}" needs a login: {why}. Run: gateway login {upstream}',
    hint: 'Run: gateway login {upstream}.',
    exit: 7,
    state: 'needs_auth',
    http: 502,
    rpc: RPC.internal,
  },
  GW_LOGIN_FAILED: {
    text: 'the login to upstream "{upstream}" failed: {why}',
    hint: 'Retry with: gateway login {upstream}. See the log for details.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
  },
  GW_LOGIN_UNKNOWN: {
    text: 'unknown, used or expired login',
    hint: 'Start again with gateway login.',
    exit: 7,
    http: 400,
    rpc: RPC.invalidRequest,
  },
  GW_LOGIN_TIMEOUT: {
    text: 'login to upstream "{upstream}" timed out',
    hint: 'Retry with: gateway login {upstream}.',
    exit: 7,
  },
  GW_OAUTH_METADATA: {
    text: 'OAuth discovery for upstream "{upstream}" failed: {why}',
    hint: 'Ask the operator of the server, or set another issuer in upstreams.{upstream}.oauth or a token in upstreams.{upstream}.headers.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_CLIENT: {
    text: 'the gateway has no client registration at {issuer}: {why}',
    hint: 'Register the gateway manually with the redirect URI {redirect}, and set upstreams.{upstream}.oauth.client.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_UNAVAILABLE: {
    text: 'no token available for upstream "{upstream}": {why}',
    hint: 'The gateway retries on the next call. Check upstreams.{upstream}.oauth with the operator of the authorization server.',
    exit: 7,
    http: 502,
    rpc: RPC.internal,
    isLocal: true,
  },
  GW_OAUTH_CALLER: {
    text: 'upstream "{upstream}" requires an authenticated caller',
    hint: 'Use a listener with auth, or set upstreams.{upstream}.oauth.account to gateway.',
    exit: 7,
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const oauthError = defineErrors(ERRORS)
