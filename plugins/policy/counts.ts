import type { Figure } from '../../src/plugin.ts'
import type { Verdict } from './judge.ts'

/** Numbers of what the rules decided, and of which of them failed. Kept over reloads. */
export class Counts {
  readonly decisions: Record<Verdict['effect'], number> = { allow: 0, deny: 0, ask: 0 }
  readonly failures = new Map<string, number>()

  decided({ effect }: Verdict): void {
    this.decisions[effect]++
  }

  /** Names come from the configuration, so there are few. */
  failed(rule: string): void {
    this.failures.set(rule, (this.failures.get(rule) ?? 0) + 1)
  }
}

/** The counts as figures of `/metrics`. */
export function figuresOf({ decisions, failures }: Counts, rules: number): Figure[] {
  return [
    {
      name: 'tapgate_policy_decisions',
      type: 'counter',
      help: 'Calls that the policy judged, by what it decided.',
      samples: Object.entries(decisions).map(([effect, value]) => ({
        suffix: '_total',
        labels: { effect },
        value,
      })),
    },
    {
      name: 'tapgate_policy_rule_failures',
      type: 'counter',
      help: 'Times that a rule of the policy had no value, which counts against the caller.',
      samples: [...failures].map(([rule, value]) => ({ suffix: '_total', labels: { rule }, value })),
    },
    {
      name: 'tapgate_policy_rules',
      type: 'gauge',
      help: 'Rules of the policy.',
      samples: [{ value: rules }],
    },
  ]
}
