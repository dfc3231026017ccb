import { listAt, mapAt, type Report, textAt, valueAt } from '../../src/plugin.ts'
import { compileRules, EFFECTS, type PolicyConfig } from './rules.ts'

/** Points at rules that cannot be used, and at names that two rules have. */
export function check(config: unknown, report: Report): void {
  const policy = valueAt(config, 'policy')
  if (policy === undefined) return
  const { flaws } = compileRules(readable(policy))
  for (const { pointer, message, hint } of flaws) report({ pointer: `/policy/${pointer}`, message, hint })
  checkNames(policy, report)
  checkAsks(config, report)
}

/** The section with all that has the right form: what has not is pointed at by the schema. */
function readable(policy: unknown): PolicyConfig {
  const rules = (effect: string): PolicyConfig['deny'] =>
    listAt(policy, effect).map(rule => {
      const when = typeof rule === 'string' ? rule : textAt(rule, 'when')
      if (when === undefined || when === '') return 'true'
      if (typeof rule === 'string') return rule
      const names = valueAt(rule, 'for')
      const scopes = listAt(rule, 'scopes').filter(scope => typeof scope === 'string')
      return {
        when,
        ...(isGlobs(names) ? { for: names } : {}),
        ...(scopes.length > 0 ? { scopes } : {}),
      }
    })
  return {
    deny: rules('deny'),
    require: rules('require'),
    allow: rules('allow'),
    ask: rules('ask'),
    headers: [],
  }
}

function isGlobs(value: unknown): value is string | string[] {
  return typeof value === 'string' || (Array.isArray(value) && value.every(one => typeof one === 'string'))
}

function checkNames(policy: unknown, report: Report): void {
  const known = new Set<string>()
  for (const effect of EFFECTS)
    listAt(policy, effect).forEach((rule, index) => {
      const name = textAt(rule, 'name')
      if (name === undefined) return
      if (known.has(name))
        report({
          pointer: `/policy/${effect}/${index}/name`,
          message: `another rule is called "${name}" too`,
        })
      known.add(name)
    })
}

function checkAsks(config: unknown, report: Report): void {
  const hasAsk = listAt(config, 'policy', 'ask').length > 0
  const known = mapAt(config, 'plugins')
  if (!hasAsk || valueAt(config, 'approve') !== undefined || Object.keys(known).length > 0) return
  report({
    pointer: '/policy/ask',
    message: 'nobody is asked, so these calls are refused',
    hint: 'add "approve", which says who is asked',
    severity: 'warning',
    on: 'key',
  })
}
