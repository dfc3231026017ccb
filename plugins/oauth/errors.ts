import { defineErrors, defineFindings, RPC } from '../../src/plugin.ts'

export const VAULT_ERRORS = {
  GW_VAULT_KEY: {
    text: 'the key of the logins is no good ({file}): {why}',
    hint: 'Give the key that they were sealed with. If it is lost, move grants.sqlite away and log in again.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_DAMAGED: {
    text: 'the logins in {file} cannot be read: {why}',
    hint: 'Restore the file from a backup, or move it away and log in again. Nothing of it was changed.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_DISK: {
    text: 'the logins in {file} cannot be used now: {why}',
    hint: 'Make room, or make the directory writable for the user of the gateway; it goes on by itself.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_SHARED: {
    text: 'the logins that replicas share cannot be used: {why}',
    hint: 'Look at cluster.keys, which must be the same everywhere, and at who can write to Redis; or log in again.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_FULL: {
    text: 'no more than {max} logins are kept',
    hint: 'Remove some: gateway logins, gateway logout.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const vaultError = defineErrors(VAULT_ERRORS)

export const HEALTH = {
  'callers-wait-for-login': {
    level: 'info',
    text: '{waiting} told to log in to {upstream}, and not there yet; logged in: {granted}',
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

export const oauthError = defineErrors(ERRORS)
