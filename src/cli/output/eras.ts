import type { UpstreamStatus } from '../../api/index.ts'

/** The eras that a server is spoken to in beside the one that it was found to speak. */
export function otherEras({ runtime }: Pick<UpstreamStatus, 'runtime'>): string[] {
  return [...new Set(runtime?.instances.flatMap(({ era }) => era ?? []))]
}
