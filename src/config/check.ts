import { mapAt, valueAt } from '../util/plain-data.ts'
import { type Report, pointerTo } from '../util/finding.ts'
import { checkCallers } from './checks/callers.ts'
import { checkGlobs } from './checks/globs.ts'
import { checkListeners, checkPaths } from './checks/listeners.ts'
import { checkCommands, checkPools, checkPrefixes, checkProcesses } from './checks/upstreams.ts'
import { platformOf } from '../util/platform.ts'

/** Names that rules may speak of: those of the configuration, and those that plugins add. */
interface Names {
  readonly upstreams: readonly string[]
  readonly listeners: readonly string[]
}

/** A plugin of ours, as far as a configuration is concerned. */
export interface Feature {
  readonly claims?: {
    readonly section?: string
    readonly adds?: { readonly upstreams?: readonly string[]; readonly listeners?: readonly string[] }
  }
  check?(
    config: unknown,
    report: Report,
    own: { readonly options: never; readonly pointer: string; readonly names: Names },
  ): void
}

/** Looks at what a schema cannot say: names that must exist, clashes, and what can never happen. Takes any value, valid or not. */
export function check(
  config: unknown,
  features: readonly Feature[],
  isFile: (path: string) => boolean,
  report: Report,
): void {
  checkGlobs(config, report)
  checkPrefixes(config, report)
  checkListeners(config, report)
  checkPaths(config, report)
  checkCommands(config, isFile, report)
  checkPools(config, report)
  checkProcesses(config, platformOf(), report)
  checkCallers(config, report)
  const installed = features.filter(feature => sectionOf(feature, config) !== undefined)
  checkAdded(config, installed, report)
  const names = {
    upstreams: namesIn(config, 'upstreams', installed),
    listeners: namesIn(config, 'listeners', installed),
  }
  for (const feature of features) {
    const { section } = feature.claims ?? {}
    const options = sectionOf(feature, config) as never
    feature.check?.(config, report, { options, pointer: section === undefined ? '' : `/${section}`, names })
  }
  checkPresence(config, names.upstreams, report)
}

function sectionOf({ claims }: Feature, config: unknown): unknown {
  return claims?.section === undefined ? undefined : valueAt(config, claims.section)
}

function namesIn(config: unknown, kind: 'upstreams' | 'listeners', installed: readonly Feature[]): string[] {
  return [
    ...Object.keys(mapAt(config, kind)),
    ...installed.flatMap(({ claims }) => claims?.adds?.[kind] ?? []),
  ]
}

/** Reports names in the configuration that a plugin adds itself: they can be nobody else's. */
function checkAdded(config: unknown, installed: readonly Feature[], report: Report): void {
  for (const { claims } of installed)
    for (const kind of ['upstreams', 'listeners'] as const)
      for (const name of claims?.adds?.[kind] ?? []) {
        if (!Object.hasOwn(mapAt(config, kind), name)) continue
        report({
          pointer: pointerTo(`/${kind}`, name),
          message: `"${name}" is the name of what "${claims?.section ?? ''}" adds itself`,
          hint: 'choose another name',
          on: 'key',
        })
      }
}

function checkPresence(config: unknown, upstreams: readonly string[], report: Report): void {
  if (Object.keys(mapAt(config, 'listeners')).length === 0) {
    report({
      pointer: '',
      message: 'no listeners: only clients of this machine can connect, by gateway attach or serve --stdio',
      hint: 'add one under "listeners:" for all others',
      severity: 'warning',
    })
  }
  if (upstreams.length === 0) {
    report({
      pointer: '',
      message: 'no upstreams: there is nothing to serve',
      hint: 'add one under "upstreams:"',
      severity: 'warning',
    })
  }
}
