import { createHash } from 'node:crypto'
import { isAbsolute, join, relative, resolve } from 'node:path'
import type { LoadedConfig } from '../config/index.ts'
import { getEnvironmentName, withConfig } from '../config/index.ts'
import type { Terminal } from './output/terminal.ts'

const HASH_DIGITS = 16

/** Returns a configuration's state directory in its environment; undefined without a file or home directory. */
export function getStateDirectory(
  { file, env }: Pick<LoadedConfig, 'file' | 'env'>,
  { environment }: Pick<Terminal, 'environment'>,
): string | undefined {
  const base = getStateBase(environment)
  if (file === undefined || base === undefined) return undefined
  return join(
    base,
    'tapgate',
    createHash('sha256')
      .update(env === undefined ? file : `${file}\n${env}`)
      .digest('hex')
      .slice(0, HASH_DIGITS),
  )
}

/** The XDG base directory specification ignores relative paths. */
function getStateBase({ XDG_STATE_HOME, LOCALAPPDATA, HOME }: Terminal['environment']): string | undefined {
  if (XDG_STATE_HOME !== undefined && isAbsolute(XDG_STATE_HOME)) return XDG_STATE_HOME
  if (LOCALAPPDATA !== undefined && isAbsolute(LOCALAPPDATA)) return LOCALAPPDATA
  return HOME !== undefined && isAbsolute(HOME) ? join(HOME, '.local', 'state') : undefined
}

/** Formats the flags that select a configuration: `-c gateway.yaml --env prod`. */
export function formatConfigFlags(file: string, env: string | undefined, { cwd, environment }: Terminal): string {
  const name = getEnvironmentName({ env, environment })
  return `-c ${relative(cwd, file)}${name === undefined ? '' : ` --env ${name}`}`
}

export interface SourceFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly set?: readonly string[] | undefined
  readonly 'env-file'?: readonly string[] | undefined
  /** Creates more settings from the listener types. */
  readonly setFor?: ((listeners: ReadonlyMap<string, unknown>) => readonly string[]) | undefined
}

/** Loads the configuration. `commands` decides whether its `${exec:…}` commands run. */
export async function loadSource(
  flags: SourceFlags,
  { cwd, environment }: Terminal,
  commands: 'run' | 'leave' = 'run',
): Promise<LoadedConfig> {
  const { loadConfig } = await import('../gateway/load-config.ts')
  const { config: file, env, set = [], setFor, 'env-file': envFiles } = flags
  return loadConfig({ file, env, envFiles, set, setFor, cwd, environment, commands })
}

export function replaceListeners(source: LoadedConfig, listeners: LoadedConfig['config']['listeners']): LoadedConfig {
  return withConfig(source, { ...source.config, listeners })
}

/**
 * Returns the path of `--config` or the nearest gateway.yaml, without reading it.
 * @throws GatewayError GW_CONFIG_NOT_FOUND, GW_CONFIG_UNTRUSTED
 */
export async function findConfigFile(
  { config }: { readonly config?: string | undefined },
  { cwd, environment }: Pick<Terminal, 'cwd' | 'environment'>,
): Promise<string> {
  if (config !== undefined) return resolve(cwd, config)
  const { findConfig } = await import('../config/index.ts')
  return findConfig(cwd, environment['HOME'] ?? environment['USERPROFILE'])
}
