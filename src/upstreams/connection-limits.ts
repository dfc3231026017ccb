import type { UpstreamConfig } from '../api/index.ts'
import { parseDuration } from '../util/units.ts'

/** Links beside the main one, unless the configuration says otherwise. */
const MAX_LINKS = 64
/** How many of them one caller has. */
const MAX_EACH = 16
/** How long one of them is kept that nobody uses. */
export const LINK_IDLE_MS = 5 * 60_000

/** How many links of each sort an upstream has. */
export interface Sizes {
  readonly replicas: number
  readonly min: number
  readonly max: number
  readonly maxEach: number
  readonly idleMs: number | undefined
}

/** How many links there are of each sort; all but processes have one, and more as clients come. */
export function sizesOf(spec: UpstreamConfig): Sizes {
  const idleMs = spec.idle === undefined ? undefined : parseDuration(spec.idle)
  const { min, max, perPrincipal: maxEach } = spec.pool ?? { min: 0, max: MAX_LINKS, perPrincipal: MAX_EACH }
  // Where a process is to run is not known ahead.
  const isAhead = spec.isolation !== 'shared' && !isPerProject(spec)
  const hasReplicas = spec.type === 'stdio' && spec.isolation === 'shared' && !isPerProject(spec)
  return {
    replicas: hasReplicas ? spec.replicas : 1,
    min: isAhead ? min : 0,
    max,
    maxEach,
    idleMs,
  }
}

/** Lower case, as calls carry them. */
export function forwardedTo(spec: UpstreamConfig): readonly string[] {
  const names = 'forwardHeaders' in spec ? spec.forwardHeaders : undefined
  return (names ?? []).map(name => name.toLowerCase())
}

/** Whether each project has a process of its own. */
export function isPerProject(spec: UpstreamConfig): boolean {
  return spec.type === 'stdio' && spec.cwd === 'project'
}

/** Where they may work. */
export function allowedIn(spec: UpstreamConfig): readonly string[] | undefined {
  return spec.type === 'stdio' ? spec.projects : undefined
}
