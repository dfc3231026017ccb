import type { PluginApi } from '../../../src/plugin.ts'
import type { Places } from './trials.ts'

const USE = 'ask'

/** Names of what is asked at one of several processes: nobody else can make one, so that no process is asked for a name that was guessed. */
export function placesOf({ shared, place }: Pick<PluginApi, 'shared' | 'place'>): Places | undefined {
  if (shared === undefined) return undefined
  return {
    nameOf: random => shared.seal(`${place() ?? ''} ${random}`, USE),
    elsewhere(name) {
      const [at = ''] = shared.open(name, USE)?.split(' ') ?? []
      return at === '' || at === place() ? undefined : at
    },
  }
}
