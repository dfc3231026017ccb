import type { Config } from '../../src/plugin.ts'
import type { Mode } from './pin-judge.ts'

/** Lists the mode of each pinned upstream. */
export function listModes({ pins, upstreams }: Config): ReadonlyMap<string, Exclude<Mode, 'off'>> {
  const modes = new Map<string, Exclude<Mode, 'off'>>()
  for (const [name, spec] of Object.entries(upstreams)) {
    const mode = spec.pins ?? pins ?? 'off'
    if (mode !== 'off' && spec.enabled) modes.set(name, mode)
  }
  return modes
}
