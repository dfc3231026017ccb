import type { Upstream } from '../api/index.ts'

/** Whether a call can be made: what is idle starts for it. */
export function isUp({ state }: Upstream): boolean {
  return state === 'ready' || state === 'idle'
}
