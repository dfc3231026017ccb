import type { LoadedConfig } from './finish-config.ts'
import type { LoadOptions, NamedPlugin } from './load-config.ts'

export type * from './config.gen.ts'
export type { Feature } from './check-config.ts'
export type { DescribedConfig, DescribedValue } from './value-origins.ts'
export type { LoadedConfig } from './finish-config.ts'
export type { LoadOptions, NamedPlugin } from './load-config.ts'
export type { RunCommand, SecretCommand } from './source/secret-commands.ts'
export type { ValueOrigin } from './source/tree.ts'
export type { Problem } from './problem.ts'
export { findConfig } from './source/find.ts'
export { describeConfig, describeOrigins, withConfig } from './value-origins.ts'
export { formatProblem } from './problem.ts'
export { parseConfig } from './load-config.ts'
export { listPrivatePlaces } from './private-places.ts'
export { redact } from './secrets.ts'
export { listTlsFiles } from './checks/tls.ts'

/** Finds, parses, merges and validates a configuration; throws all problems together. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  // Loaded lazily: the YAML parser is slow to load, and not needed for values.
  const load = await import('./load-config.ts')
  return load.loadConfig(options)
}

/** Reads only the names of plugins, without validation or commands. */
export async function listNamedPlugins(
  options: Pick<LoadOptions, 'file' | 'env' | 'cwd' | 'environment'>,
): Promise<NamedPlugin[]> {
  const load = await import('./load-config.ts')
  return load.listNamedPlugins(options)
}
