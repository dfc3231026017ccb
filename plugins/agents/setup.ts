import type { AgentRuntime, OpenRuntime, Caller, TaskService } from './types/tasks.ts'
import {
  type Config,
  gatewayError,
  type ListenerConfig,
  type PluginApi,
  type UpstreamConfig,
} from '../../src/plugin.ts'
import { loadAgents } from './load-agents.ts'
import { CALLBACK_LISTENER, CALLBACK_SPEC, CallbackTokens, openCallback } from './mcp/callback.ts'
import { Foreground, Callers, type McpParts } from './mcp/callers.ts'
import { CallPatience } from './mcp/patience.ts'
import { AgentsUpstream } from './mcp/upstream.ts'
import { answerVerbs } from './control-verbs.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'

/** State that all generations share. */
interface Kept {
  runtime: AgentRuntime | undefined
  readonly callers: Callers
  readonly callbackTokens: CallbackTokens
  readonly foreground: Foreground
  readonly patience: CallPatience
}

/** Name of the upstream, and of its type. */
const UPSTREAM = 'agents'

/** Part of the time for an end after which calls that wait for a task are answered; the rest is for the answer. */
const ANSWERED = 0.7

/** Puts the face before the work, and both into the gateway. */
export function setUp(api: PluginApi<AgentsConfig>, openRuntime: OpenRuntime): void {
  const { options, hooks, slot, clock } = api
  const agents = loadAgents(api)
  const kept = slot.gateway(newKept)
  const runtime = (kept.runtime ??= openRuntime(api, agents, kept.callbackTokens))
  const { callers, foreground, patience } = kept
  const service = (): TaskService => runtime.service
  const begun = (task: string, caller: Caller): void => callers.note(task, caller)
  const parts: McpParts = { service, clock, foreground, patience, callers, begun }

  hooks.configure.tap(config => withAgents(config, options, agents))
  hooks.createUpstream.for(UPSTREAM).tap((spec, context) => new AgentsUpstream(spec, context, parts, runtime))
  hooks.ready.tap(() => runtime.adopt(api, agents))
  // After all who know how long clients wait.
  hooks.patience.tap({ methods: ['tools/call'], stage: 'transform' }, (known, call) =>
    call.upstream === UPSTREAM ? patience.of(known, call) : undefined,
  )
  hooks.stopping.tap(graceMs => void clock.after(graceMs * ANSWERED, () => foreground.end()))
  hooks.figures.tap(figures => [...figures, ...runtime.figures()])
  if (agents.some(({ callback }) => callback !== undefined))
    openCallback(hooks, kept.callbackTokens, UPSTREAM)
  answerVerbs(hooks, parts)
}

function newKept(): Kept {
  const callers = new Callers()
  const callbackTokens = new CallbackTokens(task => callers.identityOf(task))
  callers.callbackTokens = callbackTokens
  return {
    runtime: undefined,
    callers,
    callbackTokens,
    foreground: new Foreground(),
    patience: new CallPatience(),
  }
}

/** The face is an upstream like any other; agents that may call back have a listener of their own. */
function withAgents(config: Config, { prefix }: AgentsConfig, callingBack: readonly AgentSettings[]): Config {
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
