import { globs, profileNames, type Config, type ListingReader } from '../../src/plugin.ts'
import { FULL_FOR } from './clients.ts'

type Options = NonNullable<Config['surface']>
/** Form in which a reader is shown the tools. */
export type Mode = Options['mode']

/** What holds for one profile. */
export interface Settings {
  readonly mode: Mode
  /** Tokens that a list may take. */
  readonly budget: number
  readonly isPinned: (name: string) => boolean
  /** Tools that a search finds. */
  readonly results: number
}

/** Settings of a reader; `mode` is what its program wants, if that is known. */
export interface Surfaces {
  of(reader: Pick<ListingReader, 'principal' | 'profile' | 'client'>): Settings & {
    readonly profileName: string
  }
}

const FULL: Options = { mode: 'full', budget: 8000, pinned: [], results: 5, clients: {} }

/** Prepares the settings of all profiles, and of clients by their names. */
export function surfacesOf(config: Config): Surfaces {
  // Without a section, only the profiles that say so have a surface.
  const common = config.surface ?? FULL
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { surface }]) => [
      name,
      settingsOf({ ...(config.surface ?? (surface && { ...FULL, mode: 'auto' }) ?? FULL), ...surface }),
    ]),
  )
  const usual = settingsOf(common)
  const profileOf = profileNames(config)
  const wanted = Object.entries(common.clients).map(([name, mode]) => ({ fits: globs(name), mode }))
  const defers = globs(Object.keys(FULL_FOR))
  return {
    of(reader) {
      const profileName = profileOf(reader) ?? ''
      const own = profiles.get(profileName) ?? usual
      const { name } = reader.client
      const mode =
        wanted.find(({ fits }) => fits(name))?.mode ??
        (own.mode === 'auto' && defers(name) ? 'full' : own.mode)
      return mode === own.mode ? { ...own, profileName } : { ...own, mode, profileName }
    },
  }
}

function settingsOf({ mode, budget, pinned, results }: Options): Settings {
  return { mode, budget, isPinned: globs(pinned), results }
}
