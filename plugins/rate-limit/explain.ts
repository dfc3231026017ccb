import type { ExplainStep, PluginHooks } from '../../src/plugin.ts'
import type { Rule } from './rule.ts'

/** Says which limits a call would count on, and whether there is room. Nothing is counted. */
export function explainLimits(hooks: PluginHooks, rules: readonly Rule[], isCountedHere: boolean): void {
  hooks.explain.tap((steps, { exchange, call }) => {
    const { principal, session, params } = exchange
    const tool = typeof params?.name === 'string' ? params.name : ''
    const upstream = call?.upstream ?? ''
    const found = rules.flatMap(rule => {
      if (rule.isLate && !rule.concerns(upstream)) return []
      const subject = rule.isLate
        ? { principal, session, upstream, tool }
        : { principal, session, upstream: '', tool: '' }
      const key = rule.keyOf(subject)
      return key === undefined ? [] : [stepOf(rule, key, isCountedHere)]
    })
    return [...steps, ...(found.length === 0 ? [unlimited()] : found)]
  })
}

function stepOf(rule: Rule, key: string, isCountedHere: boolean): ExplainStep {
  const full = isCountedHere ? rule.full(key, 'refuse') : undefined
  const at = rule.isLate ? 'dispatch' : 'request'
  const base = { by: 'rate-limit', at, rule: `/rateLimit/rules/${rule.name}` } as const
  if (full === undefined) return { ...base, does: 'passes', text: `counts on "${rule.name}": ${rule.limits}` }
  const text = `"${rule.name}" is full: ${full.allowed}, again in ${Math.ceil(full.retryAfterMs / 1000)} s`
  return { ...base, does: 'refuses', text, isPassing: true }
}

function unlimited(): ExplainStep {
  return { by: 'rate-limit', at: 'request', does: 'passes', text: 'no limit is about it' }
}
