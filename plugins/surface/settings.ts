import {
  globs,
  parseDuration,
  parseSize,
  profileNames,
  type CatalogEntry,
  type Config,
  type ListingReader,
} from '../../src/plugin.ts'
import { FULL_FOR, OWN_NAME } from './clients.ts'

type Options = NonNullable<Config['surface']>
/** Form in which a reader is shown the tools. */
export type Mode = Options['mode']

/** Settings of one profile. */
export interface Settings {
  readonly mode: Mode
  /** Tokens that a list may take. */
  readonly budget: number
  /** True for a tool that is always shown: one that the configuration names, or one of the gateway itself. */
  readonly isPinned: (tool: Pick<CatalogEntry, 'exposed' | 'upstream'>) => boolean
  /** Tools that a search finds. */
  readonly results: number
  /** Limits of a script. */
  readonly code: { readonly timeoutMs: number; readonly calls: number; readonly memory: number }
}

/** Settings of a reader; `mode` is what its program wants, if that is known. */
export interface Surfaces {
  of(reader: Pick<ListingReader, 'principal' | 'profile' | 'client'>): Settings & {
    readonly profileName: string
    /** True where our tools can be called, shown or not. */
    readonly maySearch: boolean
  }
}

const FULL: Options = {
  mode: 'full',
  budget: 8000,
  pinned: [],
  results: 5,
  clients: {},
  code: { timeout: '30s', calls: 50, memory: '32MiB' },
}

/** Prepares the settings of all profiles, and of clients by their names. */
export function surfacesOf(config: Config): Surfaces {
  // Without a section, only the profiles that say so have a surface.
  const common = config.surface ?? FULL
  const servers = new Set(Object.keys(config.upstreams))
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { surface }]) => [
      name,
      settingsOf(
        { ...(config.surface ?? (surface && { ...FULL, mode: 'auto' }) ?? FULL), ...surface },
        servers,
      ),
    ]),
  )
  const usual = settingsOf(common, servers)
  const profileOf = profileNames(config)
  const wanted = Object.entries(common.clients).map(([name, mode]) => ({ fits: globs(name), mode }))
  const defers = globs(Object.keys(FULL_FOR))
  // The gateway's own commands show what there is.
  const owner = new Set([OWN_NAME, config.server?.name])
  return {
    of(reader) {
      const profileName = profileOf(reader) ?? ''
      const own = profiles.get(profileName) ?? usual
      const { name } = reader.client
      const isFull = owner.has(name) || (own.mode === 'auto' && defers(name))
      const mode = wanted.find(({ fits }) => fits(name))?.mode ?? (isFull ? 'full' : own.mode)
      // Whoever has a full list may search all the same, where others do.
      return { ...own, mode, profileName, maySearch: own.mode !== 'full' || mode !== 'full' }
    },
  }
}

function settingsOf(
  { mode, budget, pinned, results, code }: Options,
  servers: ReadonlySet<string>,
): Settings {
  const isNamed = globs(pinned)
  const isPinned: Settings['isPinned'] = ({ exposed, upstream }) => isNamed(exposed) || !servers.has(upstream)
  const { timeout, calls, memory } = code
  const limits = { timeoutMs: parseDuration(timeout), calls, memory: parseSize(memory) }
  return { mode, budget, isPinned, results, code: limits }
}
