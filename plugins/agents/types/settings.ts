import type { Config } from '../../../src/plugin.ts'

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
