import { defineErrors, defineFindings, RPC } from '../../src/plugin.ts'

export const VAULT_ERRORS = {
  GW_VAULT_KEY: {
    text: 'invalid key of the login store ({file}): {why}',
    hint: 'Restore the key. If it is lost, move grants.sqlite away and log in again.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_DAMAGED: {
    text: 'the login store {file} is damaged: {why}',
    hint: 'Restore the file from a backup, or move it away and log in again; the gateway has not changed it.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_DISK: {
    text: 'the login store {file} is unavailable: {why}',
    hint: 'Free disk space, or make the directory writable for the user of the gateway; it recovers automatically.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_SHARED: {
    text: 'the shared login store is unusable: {why}',
    hint: 'Check cluster.keys, which must be the same on all replicas, and write access to Redis; or log in again.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const vaultError = defineErrors(VAULT_ERRORS)

export const HEALTH = {
  'callers-wait-for-login': {
    level: 'info',
    text: '{waiting} must log in to {upstream}',
    fix: 'gateway logins',
  },
} as const

export const loginFinding = defineFindings(HEALTH)

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
    hint: 'Retry with: gateway login {upstream}. See the log for details.',
    exit: 1,
    http: 502,
    rpc: RPC.internal,
  },
  GW_LOGIN_UNKNOWN: {
    text: 'unknown, used or expired login',
    hint: 'Start again with gateway login.',
    exit: 1,
    http: 400,
    rpc: RPC.invalidRequest,
  },
  GW_LOGIN_TIMEOUT: {
    text: 'login to upstream "{upstream}" timed out',
    hint: 'Retry with: gateway login {upstream}.',
    exit: 2,
  },
  GW_OAUTH_METADATA: {
    text: 'OAuth discovery for upstream "{upstream}" failed: {why}',
    hint: 'Ask the operator of the server, or set another issuer in upstreams.{upstream}.oauth or a token in upstreams.{upstream}.headers.',
    exit: 5,
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_CLIENT: {
    text: 'the gateway has no client registration at {issuer}: {why}',
    hint: 'Register the gateway manually with the redirect URI {redirect}, and set upstreams.{upstream}.oauth.client.',
    exit: 5,
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_UNAVAILABLE: {
    text: 'no token available for upstream "{upstream}": {why}',
    hint: 'The gateway retries on the next call.',
    http: 502,
    rpc: RPC.internal,
    isLocal: true,
  },
  GW_OAUTH_REFUSED: {
    text: 'the authorization server refused a token for upstream "{upstream}": {why}',
    hint: 'Check upstreams.{upstream}.oauth with the operator of the authorization server.',
    http: 502,
    rpc: RPC.internal,
  },
  GW_OAUTH_CALLER: {
    text: 'upstream "{upstream}" requires an authenticated caller',
    hint: 'Use a listener with auth, or set upstreams.{upstream}.oauth.account to gateway.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const oauthError = defineErrors(ERRORS)
