import type { Config } from '../../src/plugin.ts'
import { parseDuration, parseSize } from '../../src/plugin.ts'

/** The configuration section. */
export type AgentsConfig = NonNullable<Config['agents']>
type OwnSettings = Omit<AgentsConfig['list'][string], 'enabled'>

/** Resolved settings for one agent. Times in milliseconds, sizes in bytes. */
export type AgentSettings = ReturnType<typeof resolveSettings>

/** Rules for permission requests. */
export type PermissionPolicy = Omit<AgentSettings['permissions'], 'askTimeout'>

export type ToolKind = NonNullable<PermissionPolicy['rules'][number]['kinds']>[number]

type ConfiguredAgent<T extends keyof OwnSettings> = NonNullable<OwnSettings[T]>

/** Built-in defaults; must match the schema descriptions. */
const LIMITS = { concurrent: 2, queue: 16, queueTimeout: '60s' }
const TIMEOUTS: Required<ConfiguredAgent<'timeouts'>> = {
  initialize: '30s',
  session: '60s',
  idle: '10m',
  turn: '30m',
  cancel: '10s',
}
const PERMISSIONS: Required<ConfiguredAgent<'permissions'>> = { rules: [], default: 'deny', askTimeout: '5m' }
const OUTPUT = { inline: '64KiB', keep: '8MiB', maxLine: '32MiB', events: 500 }
const CALLBACK = { tools: ['*'], maxDepth: 1, maxTasks: 8 }
const INHERITED = ['PATH', 'LANG', 'TZ']

/** Resolves all enabled agents. */
export function resolveAgents(section: AgentsConfig): AgentSettings[] {
  return Object.entries(section.list)
    .filter(([, { enabled }]) => enabled)
    .map(([id, own]) => resolveSettings(id, own, section.defaults))
}

/** Merges an agent's settings over `defaults` and the built-in defaults. */
export function resolveSettings(id: string, own: OwnSettings, defaults: AgentsConfig['defaults'] = {}) {
  const { title, description, command, args, auth } = own
  const { inheritEnv = INHERITED, mode, model, callback, isolation = 'none', sandbox } = { ...defaults, ...own }
  const limits = { ...LIMITS, ...defaults.limits, ...own.limits }
  const permissions = { ...PERMISSIONS, ...defaults.permissions, ...own.permissions }
  const output = { ...OUTPUT, ...defaults.output, ...own.output }
  const times = { ...TIMEOUTS, ...defaults.timeouts, ...own.timeouts }
  return {
    ...{ id, title, description, command, args, auth, inheritEnv, mode, model, isolation, sandbox },
    capabilities: new Set<string>(own.capabilities),
    env: { ...defaults.env, ...own.env },
    options: { ...defaults.options, ...own.options },
    callback: callback === false ? undefined : callback === true ? CALLBACK : callback,
    ceilings: { ...defaults.ceilings, ...own.ceilings },
    limits: { ...limits, queueTimeoutMs: parseDuration(limits.queueTimeout) },
    timeouts: {
      initializeMs: parseDuration(times.initialize),
      sessionMs: parseDuration(times.session),
      idleMs: parseDuration(times.idle),
      turnMs: parseDuration(times.turn),
      cancelMs: parseDuration(times.cancel),
    },
    permissions: { ...permissions, askTimeoutMs: parseDuration(permissions.askTimeout) },
    output: {
      ...output,
      inline: parseSize(output.inline),
      keep: parseSize(output.keep),
      maxLine: parseSize(output.maxLine),
    },
  }
}
