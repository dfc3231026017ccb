import type { LoadedConfig, LoadOptions, RunCommand } from '../config/index.ts'
import { loadConfig as load, parseConfig as parse } from '../config/index.ts'
import { builtins } from './builtins.ts'

interface LoadConfigOptions extends Omit<LoadOptions, 'features' | 'run'> {
  /** Treatment of commands of `${exec:…}` and `${keyring:…}`; left, an opaque text stands for their output. Default: run. */
  readonly commands?: 'run' | 'leave' | undefined
}

/** Finds, reads, merges, fills in and checks a configuration, with what our plugins look at; throws every problem at once. */
export function loadConfig({ commands = 'run', ...options }: LoadConfigOptions): Promise<LoadedConfig> {
  const run: RunCommand = async command => {
    const { runForOutput } = await import('../processes/launch.ts')
    return runForOutput(command, options.environment)
  }
  return load({ ...options, features: builtins, run: commands === 'run' ? run : undefined })
}

/** The same for a configuration that is already plain data: no placeholders, no positions. */
export function parseConfig(value: unknown, { directory }: { readonly directory: string }): LoadedConfig {
  return parse(value, { directory, features: builtins })
}

/** Leaves out what a gateway beside others must not touch: records and counts are of those who are served. */
export function disableRecords(source: LoadedConfig): LoadedConfig {
  const sections = builtins.flatMap(({ claims }) => (claims?.records === true ? (claims.section ?? []) : []))
  const config = Object.fromEntries(
    Object.entries(source.config).filter(([key]) => !sections.some(section => section === key)),
  )
  return { ...source, config: config as typeof source.config }
}
