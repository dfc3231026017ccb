import {
  loadConfig as load,
  type LoadedConfig,
  type LoadOptions,
  parseConfig as parse,
} from '../config/index.ts'
import { builtins } from './builtins.ts'

/** Finds, reads, merges, fills in and checks a configuration, with what our plugins look at; throws every problem at once. */
export function loadConfig(options: Omit<LoadOptions, 'features'>): Promise<LoadedConfig> {
  return load({ ...options, features: builtins })
}

/** The same for a configuration that is already plain data: no placeholders, no positions. */
export function parseConfig(value: unknown, { directory }: { readonly directory: string }): LoadedConfig {
  return parse(value, { directory, features: builtins })
}
