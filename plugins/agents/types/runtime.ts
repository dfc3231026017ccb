import { type Figure, type PluginApi } from '../../../src/plugin.ts'
import type { Callback, TaskService } from './tasks.ts'
import type { AgentSettings, AgentsConfig } from './settings.ts'

/** What does the work, over all generations. */
export interface AgentRuntime {
  readonly service: TaskService
  /** Opens what is kept, and ends what a gateway that died has left; `version` is this gateway’s. May follow a `stop`. */
  start(version: string): Promise<void>
  /** Ends every process; what goes on in the background is kept, and can go on when its owner wants it to. */
  stop(): Promise<void>
  /** Another configuration is in force: tasks go on, agents that are others now are begun anew. */
  adopt(api: PluginApi<AgentsConfig>, agents: readonly AgentSettings[]): void
  figures(): readonly Figure[]
}

export type OpenRuntime = (
  api: PluginApi<AgentsConfig>,
  agents: readonly AgentSettings[],
  callback: Callback,
) => AgentRuntime
