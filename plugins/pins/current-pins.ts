import type { CommandCall, Config, JsonObject } from '../../src/plugin.ts'
import { gatewayError, isObject, suggestHint, getErrorMessage } from '../../src/plugin.ts'
import { createPins } from './compare-pins.ts'
import { PINNED } from './definition.ts'
import type { Lock, UpstreamPins } from './lock-file.ts'
import { lockPath, readLock } from './lock-file.ts'
import { listModes } from './pin-judge.ts'

/** The current description of one upstream, or the reason why it is unavailable. */
export interface DescribedUpstream {
  readonly upstream: string
  readonly pins?: UpstreamPins
  readonly problem?: string
}

/** Current descriptions and the accepted lock. */
export interface CurrentPins {
  readonly file: string
  readonly accepted: Lock | undefined
  readonly described: readonly DescribedUpstream[]
  readonly config: Config
}

/** Reads descriptions from the running gateway, or from a temporary one. */
export async function readCurrentPins(call: CommandCall, only?: string): Promise<CurrentPins> {
  const { config, directory } = await call.load()
  const names = listPinnedUpstreams(config, only)
  const file = lockPath(directory)
  const accepted = readLock(file)
  const described = await call.withGateway('whole', async ask => {
    const upstreams: DescribedUpstream[] = []
    for (const upstream of names) {
      const described = await ask('upstream.definitions', { upstream }).then(parseDescription, (error: unknown) => ({
        problem: getErrorMessage(error),
      }))
      upstreams.push({ upstream, ...described })
    }
    return upstreams
  })
  return { file, accepted, described, config }
}

/** Reports incomplete lists as a problem: otherwise missing entries would look removed. */
function parseDescription(answer: JsonObject): Omit<DescribedUpstream, 'upstream'> {
  const troubles = isObject(answer.troubles) ? answer.troubles : {}
  const kind = PINNED.find(one => troubles[one] !== undefined)
  return kind === undefined ? { pins: createPins(answer) } : { problem: `${kind}: ${String(troubles[kind])}` }
}

/**
 * Lists pinned upstreams; all enabled ones if pinning is off everywhere, as a lock is created before pinning is
 * enabled.
 */
function listPinnedUpstreams(config: Config, only: string | undefined): string[] {
  const enabled = Object.entries(config.upstreams).flatMap(([name, spec]) => (spec.enabled ? [name] : []))
  if (only !== undefined) {
    if (enabled.includes(only)) return [only]
    throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream: only, meant: suggestHint(only, enabled) })
  }
  const modes = listModes(config)
  return modes.size === 0 ? enabled : [...modes.keys()]
}
