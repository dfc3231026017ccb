/** All that plugins may cost a call without any I/O, in microseconds. */
import type { FeatureName } from '../features.ts'
import { labelOf, type Label } from '../setup/workshop.ts'
import type { Cost } from './cost.ts'
import type { PluginCost } from './plugins-alone.ts'

/** Most that one may cost. It is held where noise is least: on a pipe, if it acts there. */
export interface Limit {
  readonly name: FeatureName
  readonly micros: number
  readonly on: 'pipe' | 'http'
}

export const LIMITS: readonly Limit[] = [
  { name: 'auth', micros: 3, on: 'http' },
  { name: 'audit', micros: 4, on: 'pipe' },
  { name: 'quota per day', micros: 3, on: 'pipe' },
  { name: 'metrics', micros: 1, on: 'pipe' },
  // A call has two spans.
  { name: 'tracing', micros: 6, on: 'pipe' },
  { name: 'policy', micros: 5, on: 'pipe' },
]

export function limitOf(label: Label): number | undefined {
  return LIMITS.find(({ name }) => labelOf(name) === label)?.micros
}

export function limitedCost({ name, on }: Limit, plugins: readonly PluginCost[]): Cost | undefined {
  return plugins.find(({ label }) => label === labelOf(name))?.[on]
}
