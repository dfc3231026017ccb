import type { Handles } from '../api/index.ts'
import type { Seal } from './seal.ts'

/** Handles of one plugin. The seal says with each in which process it was made. */
export function handlesOf(seal: Seal, plugin: string): Handles {
  const bound = (owner: string): string => JSON.stringify(['handle', plugin, owner])
  return {
    seal: (key, owner, forMs) => seal.closeFor(forMs, { at: 'gateway', key }, bound(owner)),
    open: (handle, owner) => {
      const opened = seal.openInTime(handle, bound(owner)) as { readonly key: string } | undefined
      return opened?.key
    },
  }
}
