import { type Clock, type Programs } from '../../../src/plugin.ts'
import type { AgentSettings } from '../types/settings.ts'
import type { Protected } from './protected.ts'

/** One task, as far as the gateway does things for its agent. */
export interface ClientSideOptions {
  readonly settings: Pick<AgentSettings, 'id' | 'client' | 'inheritEnv' | 'sandbox' | 'ceilings'>
  /** The real path of the directory of the task: nothing outside of it is written or listed. */
  readonly directory: string
  /** Real paths of files that go with the task: they may be read, wherever they are. */
  readonly files: readonly string[]
  /** HOME of programs in terminals; without it the directory of the task. */
  readonly home?: string
  readonly programs: Programs
  readonly clock: Clock
  /** The gateway's own files, which are for no agent. */
  readonly own?: Protected | undefined
}
