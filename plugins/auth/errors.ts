import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of authentication and its rules. */
export const ERRORS = {
  GW_FORBIDDEN: {
    text: '{what} needs the scope {scopes}',
    hint: 'Ask the issuer for a token with these scopes; auth.rules says what needs which.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const authError = errorsOf(ERRORS)
