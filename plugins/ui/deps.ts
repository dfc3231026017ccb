import type { Clock, PluginApi } from '../../src/plugin.ts'
import type { Recorder } from './recorder.ts'
import type { Trials } from './trials.ts'
import type { Part } from './types.ts'

/** What the routes of the API answer from. */
export interface RoutesDeps {
  readonly control: PluginApi['control']
  readonly clock: Clock
  readonly recorder: Recorder
  readonly trials: Trials
  readonly parts: readonly Part[]
}
