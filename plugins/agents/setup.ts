import type { Works, OpenWorks } from './types/runtime.ts'
import {
  gatewayError,
  type Config,
  type ListenerConfig,
  type PluginApi,
  type UpstreamConfig,
} from '../../src/plugin.ts'
import { allAgents } from './load-agents.ts'
import { Doors } from './callback/callback-tokens.ts'
import { CALLBACK_LISTENER, CALLBACK_SPEC, openDoors } from './callback/taps.ts'
import { Foreground } from './mcp/foreground.ts'
import type { FaceParts } from './mcp/parts.ts'
import { AgentsUpstream } from './mcp/upstream.ts'
import { answerVerbs } from './mcp/verbs.ts'
import { Visitors } from './mcp/visitors.ts'
import type { Caller, Desk } from './types/tasks.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'

/** What all generations share. */
interface Kept {
  works: Works | undefined
  readonly visitors: Visitors
  readonly doors: Doors
  readonly foreground: Foreground
}

/** Name of the upstream, and of its type. */
const UPSTREAM = 'agents'

/** Part of the time for an end after which calls that wait for a task are answered; the rest is for the answer. */
const ANSWERED = 0.7

/** Puts the face before the work, and both into the gateway. */
export function setUp(api: PluginApi<AgentsConfig>, openWorks: OpenWorks): void {
  const { options, hooks, slot, clock } = api
  const agents = allAgents(api)
  const kept = slot.gateway(newKept)
  const works = (kept.works ??= openWorks(api, agents, kept.doors))
  const { visitors, foreground } = kept
  const desk = (): Desk => works.desk
  const begun = (task: string, caller: Caller): void => visitors.note(task, caller)
  const parts: FaceParts = { desk, clock, foreground, visitors, begun }

  hooks.configure.tap(config => withAgents(config, options, agents))
  hooks.createUpstream.for(UPSTREAM).tap((spec, context) => new AgentsUpstream(spec, context, parts, works))
  hooks.ready.tap(() => works.adopt(api, agents))
  hooks.stopping.tap(graceMs => void clock.after(graceMs * ANSWERED, () => foreground.end()))
  hooks.figures.tap(figures => [...figures, ...works.figures()])
  if (agents.some(({ callback }) => callback !== undefined)) openDoors(hooks, kept.doors, UPSTREAM)
  answerVerbs(hooks, parts)
}

function newKept(): Kept {
  const visitors = new Visitors()
  const doors = new Doors(task => visitors.visitorOf(task))
  visitors.doors = doors
  return { works: undefined, visitors, doors, foreground: new Foreground() }
}

/** The face is an upstream like any other; agents that may call back have a listener of their own. */
function withAgents(config: Config, { prefix }: AgentsConfig, agents: readonly AgentSettings[]): Config {
  const isTaken =
    config.upstreams[UPSTREAM] !== undefined || config.listeners[CALLBACK_LISTENER] !== undefined
  if (isTaken) {
    const why = `"${UPSTREAM}" as an upstream and "${CALLBACK_LISTENER}" as a listener are names of its own`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: UPSTREAM, why })
  }
  // Work that was interrupted is looked at when the gateway starts, whether anybody calls or not.
  const face = { type: UPSTREAM, prefix, start: 'eager' } as unknown as UpstreamConfig
  const door: Record<string, ListenerConfig> = agents.some(({ callback }) => callback !== undefined)
    ? { [CALLBACK_LISTENER]: CALLBACK_SPEC }
    : {}
  return {
    ...config,
    upstreams: { ...config.upstreams, [UPSTREAM]: face },
    listeners: { ...config.listeners, ...door },
  }
}
