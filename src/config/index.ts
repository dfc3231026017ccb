import type { LoadedConfig } from './finish.ts'
import type { LoadOptions } from './load.ts'

export type * from './config.gen.ts'
export type { DescribedConfig, DescribedValue } from './origins.ts'
export type { LoadedConfig } from './finish.ts'
export type { LoadOptions } from './load.ts'
export type { Origin } from './source/tree.ts'
export type { Problem } from './problem.ts'
export { CONFIG_NAMES, findConfig } from './source/find.ts'
export { describeConfig, describeOrigins, withConfig } from './origins.ts'
export { formatProblem } from './problem.ts'
export { parseConfig } from './parse.ts'
export { privatePlacesOf } from './private.ts'
export { redact } from './redact.ts'

/** Finds, reads, merges, fills in and checks a configuration; throws every problem at once. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  // The YAML parser is the slowest part to load, and a configuration that comes as a value needs none.
  const load = await import('./load.ts')
  return load.loadConfig(options)
}
