import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config, ListenerConfig, PluginApi, UpstreamConfig } from '../../src/plugin.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../../src/plugin.ts'
import type { AgentRuntime } from './runtime.ts'
import { LocalRuntime } from './runtime.ts'
import type { TaskService } from './tasks/service.ts'
import { registerVerbs } from './control-verbs.ts'
import { CALLBACK_LISTENER, CALLBACK_SPEC, CallbackTokens, openCallback } from './callback.ts'
import type { McpDeps } from './mcp/callers.ts'
import { CallPatience, Foreground } from './mcp/callers.ts'
import { AgentsUpstream } from './mcp/upstream.ts'
import { resolveProgramFile } from './acp/agent-host.ts'
import { findRootOfGateway } from './allowed-paths.ts'
import { createRouter } from './scheduling.ts'
import type { AgentSettings, AgentsConfig } from './settings.ts'
import { resolveAgents } from './settings.ts'

const NO_ROOTS = 'agents.roots is not set: each task works in an empty directory, and cwd and files are not allowed'

/**
 * Loads the configured agents. @throws GatewayError for an unusable configuration, so that a reload keeps the old one
 */
function loadAgents(api: PluginApi<AgentsConfig>): AgentSettings[] {
  checkRoots(api)
  try {
    createRouter(api.options.routing, api.config.auth)
  } catch (error) {
    throw createOptionsError(`agents.routing.rules: ${getErrorMessage(error)}`)
  }
  const agents = resolveAgents(api.options)
  for (const agent of agents) checkProgram(agent, api)
  if (agents.length > 0 && api.options.roots === undefined) api.log.warn(NO_ROOTS)
  return agents
}

/** Rejects roots that contain the gateway's files, because agents can write there. */
function checkRoots({ options: { roots = [] }, directory, privatePaths }: PluginApi<AgentsConfig>): void {
  for (const root of roots)
    if (statSync(resolve(directory, root), { throwIfNoEntry: false })?.isDirectory() !== true)
      throw createOptionsError(`agents.roots: "${root}" is not a directory`)
  const own = findRootOfGateway(roots, directory, privatePaths)
  if (own !== undefined)
    throw createOptionsError(`agents.roots: "${own}" contains files of the gateway; choose another directory`)
}

/** Rejects disallowed programs; a missing one may be installed later. */
function checkProgram(agent: AgentSettings, { directory, options, programs, log }: PluginApi<AgentsConfig>): void {
  const searchPath = programs.createEnvironment(agent.inheritEnv, agent.env).PATH
  try {
    resolveProgramFile(agent, { searchPath, directory, commands: options.commands })
  } catch (error) {
    if (!(error instanceof GatewayError) || error.fields.missing !== true) throw error
    log.warn(error.message)
  }
}

function createOptionsError(why: string): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'agents', why })
}

/** State shared by all generations. */
interface AgentsState {
  runtime: AgentRuntime | undefined
  readonly callbackTokens: CallbackTokens
  readonly foreground: Foreground
  readonly patience: CallPatience
}

/** Upstream name and type. */
const UPSTREAM = 'agents'

/** Fraction of the shutdown time after which waiting calls are answered. */
const ANSWERED = 0.7

/** Registers the agents upstream and all hooks. */
export function setUp(
  api: PluginApi<AgentsConfig>,
  openRuntime = (...args: ConstructorParameters<typeof LocalRuntime>): AgentRuntime => new LocalRuntime(...args),
): void {
  const { options, hooks, slot, clock } = api
  const agents = loadAgents(api)
  const state = slot.gateway(createState)
  const runtime = (state.runtime ??= openRuntime(api, agents, state.callbackTokens))
  const { callbackTokens: tokens, foreground, patience } = state
  const service = (): TaskService => runtime.service
  const parts: McpDeps = { service, clock, foreground, patience, tokens }

  hooks.configure.tap(config => addAgentsUpstream(config, options, agents))
  hooks.createUpstream.for(UPSTREAM).tap((spec, context) => new AgentsUpstream(spec, context, parts, runtime))
  hooks.ready.tap(() => runtime.applyConfig(api, agents))
  // Last, because other plugins may know the client's patience.
  hooks.patience.tap({ methods: ['tools/call'], stage: 'transform' }, (limit, call) =>
    call.upstream === UPSTREAM ? patience.resolvePatience(limit, call) : undefined,
  )
  hooks.stopping.tap(graceMs => void clock.after(graceMs * ANSWERED, () => foreground.end()))
  hooks.metrics.tap(figures => [...figures, ...runtime.figures()])
  if (agents.some(({ callback }) => callback !== undefined)) openCallback(hooks, tokens, UPSTREAM)
  registerVerbs(hooks, parts)
}

function createState(): AgentsState {
  return {
    runtime: undefined,
    callbackTokens: new CallbackTokens(),
    foreground: new Foreground(),
    patience: new CallPatience(),
  }
}

/** Adds the agents upstream, and a callback listener if any agent may call back. */
function addAgentsUpstream(config: Config, { prefix }: AgentsConfig, callingBack: readonly AgentSettings[]): Config {
  const isTaken = config.upstreams[UPSTREAM] !== undefined || config.listeners[CALLBACK_LISTENER] !== undefined
  if (isTaken) {
    const why = `the upstream name "${UPSTREAM}" and the listener name "${CALLBACK_LISTENER}" are reserved`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: UPSTREAM, why })
  }
  // Start eagerly, so that interrupted tasks are recovered without a call.
  const upstream = { type: UPSTREAM, prefix, start: 'eager' } as unknown as UpstreamConfig
  const listener: Record<string, ListenerConfig> = callingBack.some(({ callback }) => callback !== undefined)
    ? { [CALLBACK_LISTENER]: CALLBACK_SPEC }
    : {}
  return {
    ...config,
    upstreams: { ...config.upstreams, [UPSTREAM]: upstream },
    listeners: { ...config.listeners, ...listener },
  }
}
