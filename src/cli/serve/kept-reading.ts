import { isAbsolute, join } from 'node:path'
import { KeptReading } from '../../config/index.ts'
import type { Terminal } from '../output/terminal.ts'

/** What earlier starts have read of configurations, in the user's own cache; undefined where the user has none. */
export function readingOf({ environment }: Pick<Terminal, 'environment'>): KeptReading | undefined {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = environment
  const own = HOME !== undefined && isAbsolute(HOME) ? join(HOME, '.cache') : undefined
  const base = [XDG_CACHE_HOME, LOCALAPPDATA].find(path => path !== undefined && isAbsolute(path)) ?? own
  return base === undefined ? undefined : new KeptReading(join(base, 'tapgate', 'configurations'))
}
