import type { CatalogEntry, Config, ListingReader } from '../../src/plugin.ts'
import { compileGlobs, parseDuration, parseSize, createProfileLookup } from '../../src/plugin.ts'

type SurfaceOptions = NonNullable<Config['surface']>
export type SurfaceMode = SurfaceOptions['mode']

/** Profile settings. */
export interface SurfaceSettings {
  readonly mode: SurfaceMode
  /** List token budget. */
  readonly budget: number
  /** True for a tool that is always visible: a configured one, or one of the gateway. */
  readonly isPinned: (tool: Pick<CatalogEntry, 'exposed' | 'upstream'>) => boolean
  /** Search result count. */
  readonly results: number
  /** Modes that a client may choose. */
  readonly choices: readonly SurfaceMode[]
  /** Script limits. */
  readonly code: { readonly timeoutMs: number; readonly calls: number; readonly memory: number }
}

/** Resolves a reader's settings. */
interface SurfaceResolver {
  /** Modes that a caller may choose in its URL. */
  listChoices(caller: Pick<ListingReader, 'principal' | 'profile'>): readonly SurfaceMode[]
  resolve(reader: Pick<ListingReader, 'principal' | 'profile' | 'client' | 'choices'>): SurfaceSettings & {
    readonly profileName: string
    /** True if meta tools can be called, even if hidden. */
    readonly maySearch: boolean
  }
}

/** URL parameter for the mode. */
export const PARAMETER = 'surface'

const FULL: SurfaceOptions = {
  mode: 'full',
  budget: 8000,
  pinned: [],
  results: 5,
  choices: [],
  clients: {},
  code: { timeout: '30s', calls: 50, memory: '32MiB' },
}

/** Prepares the settings of all profiles and clients. */
export function createSurfaceResolver(config: Config): SurfaceResolver {
  // Without a section, only profiles with their own settings have a surface.
  const common = config.surface ?? FULL
  const servers = new Set(Object.keys(config.upstreams))
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { surface }]) => [
      name,
      parseSurfaceSettings(
        { ...(config.surface ?? (surface && { ...FULL, mode: 'auto' }) ?? FULL), ...surface },
        servers,
      ),
    ]),
  )
  const usual = parseSurfaceSettings(common, servers)
  const findProfile = createProfileLookup(config)
  const matchers = Object.entries(common.clients).map(([name, mode]) => ({ fits: compileGlobs(name), mode }))
  const defers = compileGlobs(Object.keys(FULL_FOR))
  // The gateway's own commands list all tools.
  const owner = new Set([OWN_NAME, config.server?.name])
  const resolveMode = (name: string, own: SurfaceSettings, chosen: string | undefined): SurfaceMode => {
    // Checked for each list, because a reload may remove the choice during a session.
    const choice = own.choices.find(mode => mode === chosen)
    const named = choice === undefined ? matchers.find(({ fits }) => fits(name))?.mode : undefined
    if (named !== undefined) return named
    const mode = choice ?? own.mode
    const isFull = (mode === 'auto' && defers(name)) || (choice === undefined && owner.has(name))
    return isFull ? 'full' : mode
  }
  return {
    listChoices: caller => (profiles.get(findProfile(caller) ?? '') ?? usual).choices,
    resolve(reader) {
      const profileName = findProfile(reader) ?? ''
      const own = profiles.get(profileName) ?? usual
      const mode = resolveMode(reader.client.name, own, reader.choices?.[PARAMETER])
      // A reader with a full list may search too if others do.
      return { ...own, mode, profileName, maySearch: own.mode !== 'full' || mode !== 'full' }
    },
  }
}

function parseSurfaceSettings(
  { mode, budget, pinned, results, choices, code }: SurfaceOptions,
  servers: ReadonlySet<string>,
): SurfaceSettings {
  const isNamed = compileGlobs(pinned)
  const isPinned: SurfaceSettings['isPinned'] = ({ exposed, upstream }) => isNamed(exposed) || !servers.has(upstream)
  const { timeout, calls, memory } = code
  const limits = { timeoutMs: parseDuration(timeout), calls, memory: parseSize(memory) }
  return { mode, budget, isPinned, results, choices, code: limits }
}

/** Default client name of the gateway's commands; they list all tools in every mode. */
const OWN_NAME = 'tapgate'

/** Clients with a full list in mode `auto` (globs), with the reason. */
const FULL_FOR: Readonly<Record<string, string>> = {
  'claude-code*': 'it defers tools and searches them itself',
  'mcp-inspector*': 'used interactively by people',
  inspector: 'used interactively by people',
  'inspector-client*': 'used interactively by people',
  rest: 'REST clients call tools by name',
}
