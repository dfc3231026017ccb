import type { AgentToolCall, SessionSide } from './agent.ts'
import type { AgentSettings, PermissionPolicy } from './settings.ts'

/** What keeps the work of an agent inside its bounds, as far as the task service needs it. */
export interface Containment {
  /**
   * The directory of a task, and the files it is given, as real paths below the roots; the first root where none is named.
   * Where there are no roots, a task has an empty directory of its own, and may name nothing else.
   * @throws GatewayError that says which of them is outside, or not there
   */
  resolve(wanted: {
    readonly cwd: string | undefined
    readonly files: readonly string[]
  }): Promise<{ readonly cwd: string; readonly files: readonly string[] }>
  /** What the policy says of a tool call of an agent that works in `cwd`. Never rejects. */
  decide(call: AgentToolCall, policy: PermissionPolicy, cwd: string): Promise<Verdict>
  /** What the gateway does for one session of an agent, inside `cwd`; `files` may be read too, wherever they are. */
  clientSide(settings: AgentSettings, cwd: string, files: readonly string[]): ClientSide
  /** A worktree for a task; the one it had before where that is still there. @throws Error that says why there can be none */
  worktree(task: string, cwd: string): Promise<Worktree>
  /** Removes the worktrees and own directories, by name, of tasks that are kept no more; changes of a worktree stay on its branch. Says of which tasks. */
  prune(isKept: (task: string) => boolean): Promise<readonly string[]>
  /** Agent text without control and escape sequences. */
  clean(text: string): string
}

export interface Verdict {
  readonly do: 'allow' | 'deny' | 'ask'
  /** Which rule it was, for people. */
  readonly by: string
}

/** Handlers of `fs/*` and `terminal/*` for `SessionSide.handlers`. */
export interface ClientSide {
  readonly handlers: SessionSide['handlers']
  /** Ends what still runs. */
  close(): Promise<void>
}

/** A git worktree in which one task works. */
export interface Worktree {
  /** Where in it the task works. */
  readonly cwd: string
  /** What it does not have of the directory it stands for. */
  readonly warnings: readonly string[]
  /** What differs from where it began: a unified diff, and the paths inside the repository. */
  changes(): Promise<{ readonly diff: string; readonly files: readonly string[] }>
  /** Removes it where nothing has changed; else it stays for whoever takes the changes over. */
  close(): Promise<void>
}
