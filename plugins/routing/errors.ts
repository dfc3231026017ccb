import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of routes. */
export const ERRORS = {
  GW_DENIED: {
    text: '{reason}',
    hint: 'A rule of routes refuses it.',
    http: 403,
    rpc: RPC.invalidParams,
  },
} as const

export const routingError = errorsOf(ERRORS)
