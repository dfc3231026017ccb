import { gatewayError, type Config, type ListenerConfig, type UpstreamConfig } from '../../src/plugin.ts'
import { CALLBACK_LISTENER, CALLBACK_SPEC } from './mcp/callback.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'

/** Name of the upstream, and of its type. */
export const UPSTREAM = 'agents'

/** The face is an upstream like any other; agents that may call back have a listener of their own. */
export function withAgents(
  config: Config,
  { prefix }: AgentsConfig,
  callingBack: readonly AgentSettings[],
): Config {
  const isTaken =
    config.upstreams[UPSTREAM] !== undefined || config.listeners[CALLBACK_LISTENER] !== undefined
  if (isTaken) {
    const why = `"${UPSTREAM}" as an upstream and "${CALLBACK_LISTENER}" as a listener are names of its own`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: UPSTREAM, why })
  }
  // Work that was interrupted is looked at when the gateway starts, whether anybody calls or not.
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
