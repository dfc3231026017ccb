import type { LoadedConfig, LoadOptions, RunCommand } from '../config/index.ts'
import { loadConfig as load, parseConfig as parse } from '../config/index.ts'
import { builtins } from './builtins.ts'

interface LoadConfigOptions extends Omit<LoadOptions, 'features' | 'run'> {
  /**
   * Treatment of `${exec:…}` and `${keyring:…}` commands; `leave` inserts an opaque text for their output. Default:
   * run.
   */
  readonly commands?: 'run' | 'leave' | undefined
}

/**
 * Finds, reads, merges, completes and validates a configuration with the built-in plugins; throws all problems
 * together.
 */
export function loadConfig({ commands = 'run', ...options }: LoadConfigOptions): Promise<LoadedConfig> {
  const run: RunCommand = async command => {
    const { runForOutput } = await import('../processes/launch.ts')
    return runForOutput(command, options.environment)
  }
  return load({ ...options, features: builtins, run: commands === 'run' ? run : undefined })
}

/** The same for a configuration as plain data, without placeholders and positions. */
export function loadConfigObject(value: unknown, { directory }: { readonly directory: string }): LoadedConfig {
  return parse(value, { directory, features: builtins })
}

/** Disables records and counters that a secondary gateway must not change. */
export function disableRecords(source: LoadedConfig): LoadedConfig {
  const sections = builtins.flatMap(({ claims }) => (claims?.records === true ? (claims.section ?? []) : []))
  const config = Object.fromEntries(
    Object.entries(source.config).filter(([key]) => !sections.some(section => section === key)),
  )
  return { ...source, config: config as typeof source.config }
}
