import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { GatewayError, gatewayError, reasonOf, type PluginApi } from '../../src/plugin.ts'
import { programOf } from './processes/program.ts'
import { platformName, registryAgents } from './registry-file.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'
import { agentsOf } from './settings.ts'
import { routing } from './scheduling/routing.ts'

/**
 * The agents of the configuration, and of the registry file where one is used.
 * @throws GatewayError for what could never work, so that a reload keeps what runs
 */
export function allAgents(api: PluginApi<AgentsConfig>): AgentSettings[] {
  const agents = declaredAgents(api)
  for (const agent of agents) checkProgram(agent, api)
  if (agents.length > 0 && api.options.roots === undefined) api.log.warn(NO_ROOTS)
  return agents
}

const NO_ROOTS =
  'agents.roots names no directory: each task works in an empty one of its own, and can name neither cwd nor files'

/** Refuses a program that may never run; one that is not there may be installed until it is needed. */
function checkProgram(
  { command, where, env, inheritEnv }: AgentSettings,
  api: PluginApi<AgentsConfig>,
): void {
  const { directory, options, programs, log } = api
  const searchPath = programs.environment(inheritEnv, env).PATH
  try {
    programOf(command, { searchPath, directory, commands: options.commands, where })
  } catch (error) {
    if (!(error instanceof GatewayError) || error.fields.missing !== true) throw error
    log.warn(error.message)
  }
}

/** The same, whether they can be run or not. */
export function declaredAgents({ config, options, directory }: PluginApi<AgentsConfig>): AgentSettings[] {
  const { registry, defaults, commands, roots } = options
  for (const root of roots ?? []) {
    if (statSync(resolve(directory, root), { throwIfNoEntry: false })?.isDirectory() === true) continue
    throw refused(`agents.roots: "${root}" is no directory`)
  }
  try {
    routing(options.routing, config.auth)
  } catch (error) {
    throw refused(`agents.routing.rules: ${reasonOf(error)}`)
  }
  if (registry === undefined) return agentsOf(options)
  const platform = platformName(process.platform, process.arch)
  const listed = registryAgents({ ...registry, directory, defaults, commands, platform })
  return [...agentsOf(options), ...listed]
}

function refused(why: string): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'agents', why })
}
