import type { CatalogEntry, Config, ListingReader } from '../../src/plugin.ts'
import { compileGlobs, parseDuration, parseSize, createProfileLookup } from '../../src/plugin.ts'

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
  /** Modes that a client may choose. */
  readonly choices: readonly Mode[]
  /** Limits of a script. */
  readonly code: { readonly timeoutMs: number; readonly calls: number; readonly memory: number }
}

/** Settings of a reader; `mode` is what its program wants, if that is known. */
interface Surfaces {
  /** Modes that a caller may choose by its URL. */
  choicesOf(caller: Pick<ListingReader, 'principal' | 'profile'>): readonly Mode[]
  of(reader: Pick<ListingReader, 'principal' | 'profile' | 'client' | 'choices'>): Settings & {
    readonly profileName: string
    /** True where our tools can be called, shown or not. */
    readonly maySearch: boolean
  }
}

/** Parameter of a URL by which a client chooses its mode. */
export const PARAMETER = 'surface'

const FULL: Options = {
  mode: 'full',
  budget: 8000,
  pinned: [],
  results: 5,
  choices: [],
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
  const profileOf = createProfileLookup(config)
  const wanted = Object.entries(common.clients).map(([name, mode]) => ({ fits: compileGlobs(name), mode }))
  const defers = compileGlobs(Object.keys(FULL_FOR))
  // The gateway's own commands show what there is.
  const owner = new Set([OWN_NAME, config.server?.name])
  const modeOf = (name: string, own: Settings, chosen: string | undefined): Mode => {
    // Asked anew for each list: a session lives on when a reload takes its choice away.
    const choice = own.choices.find(mode => mode === chosen)
    const named = choice === undefined ? wanted.find(({ fits }) => fits(name))?.mode : undefined
    if (named !== undefined) return named
    const mode = choice ?? own.mode
    const isFull = (mode === 'auto' && defers(name)) || (choice === undefined && owner.has(name))
    return isFull ? 'full' : mode
  }
  return {
    choicesOf: caller => (profiles.get(profileOf(caller) ?? '') ?? usual).choices,
    of(reader) {
      const profileName = profileOf(reader) ?? ''
      const own = profiles.get(profileName) ?? usual
      const mode = modeOf(reader.client.name, own, reader.choices?.[PARAMETER])
      // Whoever has a full list may search all the same, where others do.
      return { ...own, mode, profileName, maySearch: own.mode !== 'full' || mode !== 'full' }
    },
  }
}

function settingsOf(
  { mode, budget, pinned, results, choices, code }: Options,
  servers: ReadonlySet<string>,
): Settings {
  const isNamed = compileGlobs(pinned)
  const isPinned: Settings['isPinned'] = ({ exposed, upstream }) => isNamed(exposed) || !servers.has(upstream)
  const { timeout, calls, memory } = code
  const limits = { timeoutMs: parseDuration(timeout), calls, memory: parseSize(memory) }
  return { mode, budget, isPinned, results, choices, code: limits }
}

/** Name of the gateway's own commands where the configuration has no other; they keep a full list in every mode. */
const OWN_NAME = 'tapgate'

/** Readers that keep a full list in the mode `auto`, as globs of the names they say, and why. */
const FULL_FOR: Readonly<Record<string, string>> = {
  'claude-code*': 'it puts off tools by itself and searches them',
  'mcp-inspector*': 'a person looks',
  inspector: 'a person looks',
  'inspector-client*': 'a person looks',
  rest: 'the REST façade: programs call by name',
}
