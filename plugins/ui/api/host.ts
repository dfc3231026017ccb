import type { Clock, Config, JsonObject, PluginApi } from '../../../src/plugin.ts'
import type { Records } from '../record/records.ts'
import type { Streams } from '../record/streams.ts'
import type { Trials } from './trials.ts'
import type { Part } from '../types.ts'

/** Parts of the gateway that the API answers from. */
export interface ApiHost {
  readonly control: PluginApi['control']
  /** The configuration with the origin of each value. It costs much to work out for a large one. */
  readonly describedConfig: () => Promise<JsonObject>
  readonly clock: Clock
  readonly records: Records
  readonly streams: Streams
  readonly trials: Trials
  readonly parts: readonly Part[]
}

/** Parts that a configuration has. */
export function partsOf({ approve, cache, agents, oauth, upstreams }: Config): Part[] {
  const hasLogins = oauth !== undefined || Object.values(upstreams).some(one => 'oauth' in one)
  const parts: readonly (readonly [Part, boolean])[] = [
    ['approvals', approve !== undefined],
    ['logins', hasLogins],
    ['cache', cache !== false],
    ['agents', agents !== undefined],
  ]
  return parts.flatMap(([part, isThere]) => (isThere ? [part] : []))
}
