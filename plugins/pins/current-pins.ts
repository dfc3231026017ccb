import type { CommandCall, Config } from '../../src/plugin.ts'
import { gatewayError, isObject, suggestHint, getErrorMessage } from '../../src/plugin.ts'
import { createPins } from './compare-pins.ts'
import { PINNED } from './definition.ts'
import type { Lock, UpstreamPins } from './lock-file.ts'
import { lockPath, readLock } from './lock-file.ts'
import { listModes } from './pin-modes.ts'
import type { PackagePin } from './identify-package.ts'
import { identifyPackage } from './identify-package.ts'
import { compareProgram } from './start-guard.ts'

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
  const lookup = { directory, environment: call.environment }
  const described = await call.withGateway('whole', async ask => {
    const upstreams: DescribedUpstream[] = []
    for (const upstream of names) {
      const spec = config.upstreams[upstream]
      const own = spec === undefined ? undefined : identifyPackage(spec, lookup)
      try {
        upstreams.push(parseDescription(upstream, await ask('upstream.definitions', { upstream }), own))
      } catch (error) {
        upstreams.push(
          describeFromLock(upstream, accepted?.get(upstream), own) ?? {
            upstream,
            problem: getErrorMessage(error),
          },
        )
      }
    }
    return upstreams
  })
  return { file, accepted, described, config }
}

/**
 * A server whose program changed is not started: describe it as accepted with its new program, so that the program
 * can be accepted before it runs.
 */
function describeFromLock(
  upstream: string,
  accepted: UpstreamPins | undefined,
  own: PackagePin | undefined,
): DescribedUpstream | undefined {
  if (accepted === undefined || own === undefined) return undefined
  const status = compareProgram(accepted.package, own)
  return status === 'same' ? undefined : { upstream, pins: { ...accepted, package: own } }
}

/** Reports incomplete lists as a problem: otherwise missing entries would look removed. */
function parseDescription(
  upstream: string,
  answer: Readonly<Record<string, unknown>>,
  own: UpstreamPins['package'],
): DescribedUpstream {
  const troubles = isObject(answer.troubles) ? answer.troubles : {}
  const kind = PINNED.find(one => troubles[one] !== undefined)
  if (kind !== undefined) return { upstream, problem: `${kind}: ${String(troubles[kind])}` }
  return { upstream, pins: createPins(answer, own) }
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
