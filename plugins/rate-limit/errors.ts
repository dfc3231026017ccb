import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of rate limits and quotas. */
export const ERRORS = {
  GW_RATE_LIMITED: {
    text: 'too many requests: rule "{rule}" allows {allowed}',
    hint: 'Come back after retryAfterMs; rateLimit.rules sets the limits.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_QUOTA_STATE: {
    text: 'calls that rule "{rule}" counts by the day wait, as the count cannot be kept now',
    hint: 'Make room in the state directory, or where rateLimit.state is, or with cluster look at Redis; it goes on by itself. rateLimit.onFailure: continue answers without counting.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_LIMIT_STORE: {
    text: 'calls that rule "{rule}" limits wait, as what replicas count together cannot be reached now',
    hint: 'Look at Redis; it goes on by itself. onStoreLoss: share has each replica allow its part meanwhile.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const rateLimitError = errorsOf(ERRORS)
