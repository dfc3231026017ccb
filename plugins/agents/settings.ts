import { parseDuration, parseSize } from '../../src/plugin.ts'
import type { AgentSettings, AgentsConfig } from './types/settings.ts'

type Written = AgentsConfig['list'][string]
type Own = Omit<Written, 'enabled'>

/** Settings where neither the agent nor `defaults` has any; the schema's descriptions say the same. */
const LIMITS = { concurrent: 2, queue: 16, queueTimeout: '60s' } as const
const TIMEOUTS = {
  initialize: '30s',
  session: '60s',
  firstUpdate: '2m',
  idle: '10m',
  turn: '30m',
  cancel: '10s',
} as const
const PERMISSIONS = { rules: [], default: 'deny', askTimeout: '5m' } as const
const OUTPUT = { inline: '64KiB', keep: '8MiB', maxLine: '32MiB', events: 500, thoughts: false } as const
const CALLBACK = { tools: ['*'], maxDepth: 1, maxTasks: 8 } as const
const INHERITED = ['PATH', 'LANG', 'TZ']

/** The agents that take part, each with all that holds for it. */
export function agentsOf(section: AgentsConfig): AgentSettings[] {
  return Object.entries(section.list)
    .filter(([, { enabled }]) => enabled)
    .map(([id, own]) => settingsOf(id, own, section.defaults))
}

/** One agent: what it says itself, else `defaults`, else what is usual. */
export function settingsOf(
  id: string,
  own: Own,
  defaults: AgentsConfig['defaults'] = {},
  where = `agents.list.${id}.command`,
): AgentSettings {
  const { title, description, command, args, auth } = own
  const all = { ...defaults, ...own }
  return {
    ...{ id, title, description, command, where, args, auth },
    capabilities: new Set(own.capabilities),
    env: { ...defaults.env, ...own.env },
    inheritEnv: all.inheritEnv ?? INHERITED,
    mode: all.mode,
    model: all.model,
    options: { ...defaults.options, ...own.options },
    ...partsOf(own, defaults),
    callback: callbackOf(all.callback),
    isolation: all.isolation ?? 'none',
    sandbox: all.sandbox,
    ceilings: { ...defaults.ceilings, ...own.ceilings },
  }
}

function callbackOf(written: Own['callback']): AgentSettings['callback'] {
  if (written === undefined || written === false) return undefined
  return written === true ? CALLBACK : written
}

type Parts = Pick<AgentSettings, 'limits' | 'timeouts' | 'permissions' | 'output'>

function partsOf(own: Own, defaults: NonNullable<AgentsConfig['defaults']>): Parts {
  const limits = { ...LIMITS, ...defaults.limits, ...own.limits }
  const timeouts = { ...TIMEOUTS, ...defaults.timeouts, ...own.timeouts }
  const permissions = { ...PERMISSIONS, ...defaults.permissions, ...own.permissions }
  const output = { ...OUTPUT, ...defaults.output, ...own.output }
  return {
    limits: { ...limits, queueTimeoutMs: parseDuration(limits.queueTimeout) },
    timeouts: timesOf(timeouts),
    permissions: { ...permissions, askTimeoutMs: parseDuration(permissions.askTimeout) },
    output: {
      ...output,
      inline: parseSize(output.inline),
      keep: parseSize(output.keep),
      maxLine: parseSize(output.maxLine),
    },
  }
}

function timesOf(written: {
  readonly [K in keyof typeof TIMEOUTS]: string | number
}): AgentSettings['timeouts'] {
  return {
    initializeMs: parseDuration(written.initialize),
    sessionMs: parseDuration(written.session),
    firstUpdateMs: parseDuration(written.firstUpdate),
    idleMs: parseDuration(written.idle),
    turnMs: parseDuration(written.turn),
    cancelMs: parseDuration(written.cancel),
  }
}
