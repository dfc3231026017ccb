import { withConfig, type LoadedConfig } from '../config/index.ts'
import type { Terminal } from './output/terminal.ts'

/** The flags that say which configuration is meant. */
export interface SourceFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly set?: readonly string[] | undefined
  /** Further settings, by the types of the listeners that there are. */
  readonly setFor?: ((listeners: ReadonlyMap<string, unknown>) => readonly string[]) | undefined
}

/** Reads the configuration the flags ask for. Its commands run only for who needs their secrets. */
export async function loadSource(
  flags: SourceFlags,
  { cwd, environment }: Terminal,
  commands: 'run' | 'leave' = 'run',
): Promise<LoadedConfig> {
  const { loadConfig } = await import('../gateway/load-config.ts')
  const { config: file, env, set = [], setFor } = flags
  return loadConfig({ file, env, set, setFor, cwd, environment, commands })
}

/** The same with its listeners replaced. */
export function withListeners(
  source: LoadedConfig,
  listeners: LoadedConfig['config']['listeners'],
): LoadedConfig {
  return withConfig(source, { ...source.config, listeners })
}
