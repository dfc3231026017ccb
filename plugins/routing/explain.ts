import type { ExplainStep, PluginHooks } from '../../src/plugin.ts'
import type { Rule } from './rules.ts'

/** Says which rule of `routes` a call meets first. */
export function explainRoutes(hooks: PluginHooks, rules: readonly Rule[]): void {
  hooks.explain.tap((steps, { exchange }) => {
    const at = rules.findIndex(rule => rule.matches(exchange))
    return [...steps, stepOf(rules[at], `/routes/${at}`)]
  })
}

function stepOf(found: Rule | undefined, rule: string): ExplainStep {
  if (found === undefined)
    return { by: 'routing', at: 'route', does: 'passes', text: 'no rule matches; its owner has it' }
  if (found.deny !== undefined)
    return { by: 'routing', at: 'request', does: 'refuses', text: found.deny, rule }
  const text =
    found.to === undefined ? 'a rule matches and changes nothing' : `a rule sends it to "${found.to}"`
  return { by: 'routing', at: 'route', does: found.to === undefined ? 'passes' : 'changes', text, rule }
}
