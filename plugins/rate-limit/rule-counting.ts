import type { Answer } from '../../src/plugin.ts'
import { defineErrors, refuse, RPC } from '../../src/plugin.ts'
import type { LimitExceeded, RateLimitRule, LimitSubject, UncountedPolicy } from './rule.ts'

export const ERRORS = {
  GW_RATE_LIMITED: {
    text: 'too many requests: rule "{rule}" allows {allowed}',
    hint: 'Retry after retryAfterMs; limits are set in rateLimit.rules.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_QUOTA_STATE: {
    text: 'the daily quota of rule "{rule}" is unavailable',
    hint: 'Free disk space for the state directory or rateLimit.state, or check Redis if cluster is configured; it recovers automatically. To serve calls uncounted meanwhile, set rateLimit.onFailure to continue.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_LIMIT_STORE: {
    text: 'the shared limit of rule "{rule}" is unavailable',
    hint: 'Check Redis; it recovers automatically. To let each replica allow its share meanwhile, set onStoreLoss to share.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

const rateLimitError = defineErrors(ERRORS)

/** Rule with its count key. */
export interface RuleKey {
  readonly rule: RateLimitRule
  readonly key: string
}

/** Lists the rules that apply to a subject. */
export function listRuleKeys(rules: readonly RateLimitRule[], subject: LimitSubject): RuleKey[] {
  const keys: RuleKey[] = []
  for (const rule of rules) {
    const key = rule.needsTool && subject.tool === '' ? undefined : rule.getKey(subject)
    if (key !== undefined) keys.push({ rule, key })
  }
  return keys
}

/** Counts on all rules, or on none if one is exceeded. */
export function countOnRules(
  keys: readonly RuleKey[],
  uncounted: UncountedPolicy,
): (LimitExceeded & { readonly rule: string }) | undefined {
  for (const { rule, key } of keys) {
    const full = rule.findExceeded(key, uncounted)
    if (full !== undefined) return { ...full, rule: rule.name }
  }
  for (const { rule, key } of keys) {
    const full = rule.countCall(key, uncounted)
    if (full !== undefined) return { ...full, rule: rule.name }
  }
  return undefined
}

/** Acquires slots for rules with `inFlight`. */
export function acquireSlots(ruleKeys: readonly RuleKey[]): RuleKey[] {
  const entered = ruleKeys.filter(({ rule }) => rule.hasInFlight)
  for (const { rule, key } of entered) rule.acquire(key)
  return entered
}

export function releaseSlots(entered: readonly RuleKey[]): void {
  for (const { rule, key } of entered) rule.release(key)
}

export function createLimitRefusal(full: LimitExceeded & { readonly rule: string }): Answer {
  const { rule, allowed, retryAfterMs } = full
  const error =
    full.isUncounted === true
      ? rateLimitError('GW_QUOTA_STATE', { rule })
      : full.isStoreLost === true
        ? rateLimitError('GW_LIMIT_STORE', { rule })
        : rateLimitError('GW_RATE_LIMITED', { rule, allowed })
  const { rpc = 0, http = 429 } = error.entry
  const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
  return refuse(rpc, error.message, { code: error.code, retryAfterMs }, { status: http, headers })
}
