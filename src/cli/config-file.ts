import { resolve } from 'node:path'
import type { Terminal } from './output/terminal.ts'

/**
 * The configuration file that a command means, without reading it: the one that is named, or the nearest gateway.yaml.
 * @throws GatewayError GW_CONFIG_NOT_FOUND, GW_CONFIG_UNTRUSTED
 */
export async function configFile(
  { config }: { readonly config?: string | undefined },
  { cwd, environment }: Pick<Terminal, 'cwd' | 'environment'>,
): Promise<string> {
  if (config !== undefined) return resolve(cwd, config)
  const { findConfig } = await import('../config/index.ts')
  return findConfig(cwd, environment['HOME'] ?? environment['USERPROFILE'])
}
