import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { GatewayError, gatewayError, reasonOf, type PluginApi } from '../../src/plugin.ts'
import { programOf } from './processes/agent-host.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'
import { agentsOf } from './settings.ts'
import { routing } from './scheduling/routing.ts'
import { findRootOfGateway } from './sandbox/paths.ts'

const NO_ROOTS =
  'agents.roots names no directory: each task works in an empty one of its own, and can name neither cwd nor files'

/** The agents of the configuration. @throws GatewayError for what could never work, so that a reload keeps what runs */
export function loadAgents(api: PluginApi<AgentsConfig>): AgentSettings[] {
  checkRoots(api)
  try {
    routing(api.options.routing, api.config.auth)
  } catch (error) {
    throw refused(`agents.routing.rules: ${reasonOf(error)}`)
  }
  const agents = agentsOf(api.options)
  for (const agent of agents) checkProgram(agent, api)
  if (agents.length > 0 && api.options.roots === undefined) api.log.warn(NO_ROOTS)
  return agents
}

/** Agents write below the roots with their own tools: nothing of the gateway's may lie there. */
function checkRoots({ options: { roots = [] }, directory, privatePlaces }: PluginApi<AgentsConfig>): void {
  for (const root of roots)
    if (statSync(resolve(directory, root), { throwIfNoEntry: false })?.isDirectory() !== true)
      throw refused(`agents.roots: "${root}" is no directory`)
  const own = findRootOfGateway(roots, directory, privatePlaces)
  if (own !== undefined)
    throw refused(
      `agents.roots: "${own}" has files of the gateway itself in it; name a directory beside them`,
    )
}

/** Refuses a program that may never run; one that is not there may be installed until it is needed. */
function checkProgram(
  { command, where, env, inheritEnv }: AgentSettings,
  { directory, options, programs, log }: PluginApi<AgentsConfig>,
): void {
  const searchPath = programs.environment(inheritEnv, env).PATH
  try {
    programOf(command, { searchPath, directory, commands: options.commands, where })
  } catch (error) {
    if (!(error instanceof GatewayError) || error.fields.missing !== true) throw error
    log.warn(error.message)
  }
}

function refused(why: string): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'agents', why })
}
