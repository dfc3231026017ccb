import type { UpstreamConfig } from '../core/ports.ts'
import { parseDuration } from '../util/units.ts'

/** Links beside the main one, unless the configuration says otherwise. */
const MAX_LINKS = 64

/** How many links of each sort an upstream has. */
export interface Sizes {
  readonly replicas: number
  readonly min: number
  readonly max: number
  readonly idleMs: number | undefined
}

/** How many links there are of each sort; all but processes have one, and more as clients come. */
export function sizesOf(spec: UpstreamConfig): Sizes {
  const idleMs = spec.idle === undefined ? undefined : parseDuration(spec.idle)
  if (spec.type !== 'stdio') return { replicas: 1, min: 0, max: MAX_LINKS, idleMs }
  const { min, max } = spec.pool ?? { min: 0, max: MAX_LINKS }
  // Where a process is to run is not known ahead.
  if (isPerProject(spec)) return { replicas: 1, min: 0, max, idleMs }
  return spec.isolation === 'shared'
    ? { replicas: spec.replicas, min: 0, max, idleMs }
    : { replicas: 1, min, max, idleMs }
}

/** Whether its processes run where its clients work. */
export function isPerProject(spec: UpstreamConfig): boolean {
  return spec.type === 'stdio' && spec.cwd === 'project'
}

/** Where they may work. */
export function allowedIn(spec: UpstreamConfig): readonly string[] | undefined {
  return spec.type === 'stdio' ? spec.projects : undefined
}
