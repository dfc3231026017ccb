import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of deadlines and breakers. */
export const ERRORS = {
  GW_TIMEOUT: {
    text: 'upstream "{upstream}" did not answer {method} within {ms} ms',
    hint: 'Raise upstreams.{upstream}.timeout if it is slow by nature.',
    http: 504,
    rpc: RPC.internal,
  },
  GW_UPSTREAM_RESTING: {
    text: 'upstream "{upstream}" is given a rest after {why}',
    hint: 'Call again after retryAfterMs; its breaker lets a probe through then. gateway inspect shows its state.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const resilienceError = errorsOf(ERRORS)
