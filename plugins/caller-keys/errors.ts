import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of keys for each caller. */
export const ERRORS = {
  GW_CALLER_KEY: {
    text: 'upstream "{upstream}" has no key for this caller',
    hint: 'Add an entry for the caller under "callers" of the upstream; principals: "*" is everybody else.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const callerKeyError = errorsOf(ERRORS)
