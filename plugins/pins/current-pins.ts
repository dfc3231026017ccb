import type { CommandCall, Config } from '../../src/plugin.ts'
import { gatewayError, isObject, suggestHint, getErrorMessage } from '../../src/plugin.ts'
import { createPins } from './compare.ts'
import { PINNED } from './definition.ts'
import type { Lock, UpstreamPins } from './lock-file.ts'
import { lockPath, readLock } from './lock-file.ts'
import { listModes } from './modes.ts'
import type { PackagePin } from './packages.ts'
import { identifyPackage } from './packages.ts'
import { compareProgram } from './start-guard.ts'

/** One upstream as it describes itself now, or why that cannot be said. */
export interface DescribedUpstream {
  readonly upstream: string
  readonly pins?: UpstreamPins
  readonly problem?: string
}

/** Servers as they are now, beside what was accepted of them. */
export interface CurrentPins {
  readonly file: string
  readonly accepted: Lock | undefined
  readonly described: readonly DescribedUpstream[]
  readonly config: Config
}

/** Asks the gateway that runs, or one for as long as it takes, for what its servers describe. */
export async function readCurrentPins(call: CommandCall, only?: string): Promise<CurrentPins> {
  const { config, directory } = await call.load()
  const names = listPinnedUpstreams(config, only)
  const file = lockPath(directory)
  const accepted = readLock(file)
  const lookup = { directory, environment: call.environment }
  const described = await call.withGateway('whole', async ask => {
    const found: DescribedUpstream[] = []
    for (const upstream of names) {
      const spec = config.upstreams[upstream]
      const own = spec === undefined ? undefined : identifyPackage(spec, lookup)
      try {
        found.push(parseDescription(upstream, await ask('upstream.definitions', { upstream }), own))
      } catch (error) {
        found.push(
          describeFromLock(upstream, accepted?.get(upstream), own) ?? {
            upstream,
            problem: getErrorMessage(error),
          },
        )
      }
    }
    return found
  })
  return { file, accepted, described, config }
}

/**
 * A server that is not started as its program is another one: it describes itself as it was accepted, with the program as
 * it is now, so that the program can be accepted before it runs.
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

/** Of a server that cannot list everything nothing is said: what is missing would look as if it had gone. */
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

/** Those whose definitions are compared; all of them where pins are off everywhere, as a lock comes first. */
function listPinnedUpstreams(config: Config, only: string | undefined): string[] {
  const enabled = Object.entries(config.upstreams).flatMap(([name, spec]) => (spec.enabled ? [name] : []))
  if (only !== undefined) {
    if (enabled.includes(only)) return [only]
    throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream: only, meant: suggestHint(only, enabled) })
  }
  const modes = listModes(config)
  return modes.size === 0 ? enabled : [...modes.keys()]
}
