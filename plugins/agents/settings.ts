import { type Config, parseDuration, parseSize } from '../../src/plugin.ts'

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

/** The section as it was written. */
export type AgentsConfig = NonNullable<Config['agents']>
type AgentConfig = AgentsConfig['list'][string]

/** All there is to know of one agent before it runs: `list` over `defaults` over what the schema says. Times in ms, sizes in bytes. */
export interface AgentSettings {
  readonly id: string
  readonly title: string | undefined
  readonly description: string | undefined
  /** As configured; see `programOf` for the real path. */
  readonly command: string
  /** Place at which that was written, for people: `agents.list.gemini.command`. */
  readonly where: string
  readonly args: readonly string[]
  readonly capabilities: ReadonlySet<string>
  readonly env: Readonly<Record<string, string>>
  readonly inheritEnv: readonly string[]
  readonly mode: string | undefined
  readonly model: string | undefined
  readonly options: Readonly<Record<string, string | boolean>>
  readonly auth: AgentConfig['auth']
  readonly limits: {
    readonly concurrent: number
    readonly queue: number
    readonly queueTimeoutMs: number
  }
  readonly timeouts: {
    readonly initializeMs: number
    readonly sessionMs: number
    readonly firstUpdateMs: number
    readonly idleMs: number
    readonly turnMs: number
    readonly cancelMs: number
  }
  readonly permissions: PermissionPolicy
  readonly output: {
    readonly inline: number
    readonly keep: number
    readonly maxLine: number
    readonly events: number
    readonly thoughts: boolean
  }
  readonly callback:
    { readonly tools: readonly string[]; readonly maxDepth: number; readonly maxTasks: number } | undefined
  readonly isolation: 'none' | 'worktree'
  readonly sandbox: AgentConfig['sandbox']
  readonly ceilings: AgentConfig['ceilings']
}

/** Answer to a permission request. */
export interface PermissionPolicy {
  readonly rules: readonly {
    readonly kinds?: readonly ToolKind[]
    readonly commands?: readonly string[]
    readonly within?: string
    readonly titles?: string | readonly string[]
    readonly do: 'allow' | 'deny' | 'ask'
  }[]
  readonly default: 'allow' | 'deny' | 'ask'
  readonly askTimeoutMs: number
}

export type ToolKind =
  'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other'
