import type { CatalogEntry, JsonObject, Config, ListingReader } from '../../src/plugin.ts'
import {
  estimateTokens,
  compileGlobs,
  isAppOnly,
  parseDuration,
  parseSize,
  createProfileLookup,
} from '../../src/plugin.ts'
import type { MetaTool } from './meta-tools.ts'
import { createCodeTools, createDescribeTool, assignMetaToolNames, createSearchTools } from './meta-tools.ts'
import type { ToolIndex } from './tool-index.ts'
import { compactTool } from './tool-signature.ts'

type SurfaceOptions = NonNullable<Config['surface']>
export type SurfaceMode = SurfaceOptions['mode']

/** Profile settings. */
interface SurfaceSettings {
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

/** Prepares the settings for all profiles and clients. */
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
  const defers = compileGlobs(FULL_FOR)
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

/** Default client name for the gateway's commands; they list all tools in every mode. */
const OWN_NAME = 'tapgate'

/** Clients with a full list in mode `auto`: they search tools themselves, are used by people, or call tools by name. */
const FULL_FOR = ['claude-code*', 'mcp-inspector*', 'inspector', 'inspector-client*', 'rest']

/** One reader's tools that models may call, by exposed name, with a search index; both live as long as the list. */
export class Surface {
  readonly entries: readonly CatalogEntry[]
  readonly settings: SurfaceSettings
  readonly names: Readonly<Record<MetaTool, string>>
  readonly #byName: ReadonlyMap<string, CatalogEntry>
  #index: Promise<ToolIndex> | undefined

  constructor(entries: readonly CatalogEntry[], settings: SurfaceSettings) {
    this.entries = entries.filter(({ value }) => !isAppOnly(value))
    this.settings = settings
    this.names = assignMetaToolNames(entries)
    this.#byName = new Map(this.entries.map(entry => [entry.exposed, entry]))
  }

  /** Finds the meta tool with this name. */
  findMetaTool(name: string): MetaTool | undefined {
    const meta = (Object.keys(this.names) as MetaTool[]).find(one => this.names[one] === name)
    return meta === 'code' && !this.runsCode ? undefined : meta
  }

  get runsCode(): boolean {
    return this.settings.mode === 'code'
  }

  find(name: string): CatalogEntry | undefined {
    return this.#byName.get(name)
  }

  /** Search index; created and loaded on first use. */
  index(): Promise<ToolIndex> {
    return (this.#index ??= import('./tool-index.ts').then(({ ToolIndex }) => new ToolIndex(this.entries)))
  }
}

/** A reader's visible list, and its surface. */
interface SurfaceListing {
  readonly entries: readonly CatalogEntry[]
  readonly surface: Surface
  readonly tokens: number
}

const MAX_OVERVIEW_TOKENS = 900

/** Creates the list for a mode and budget. */
export function createListing(entries: readonly CatalogEntry[], settings: SurfaceSettings): SurfaceListing {
  const surface = new Surface(entries, settings)
  const listed = selectEntries(surface)
  // Hosts need the tools that only apps call, and do not show them to the model.
  const appOnly = entries.filter(({ value }) => isAppOnly(value))
  return { entries: [...listed, ...appOnly], surface, tokens: countListTokens(listed) }
}

function selectEntries(surface: Surface): readonly CatalogEntry[] {
  const { entries, settings, names } = surface
  const { mode, budget, isPinned } = settings
  if (mode === 'full' || (mode === 'auto' && countListTokens(entries) <= budget)) return entries
  if (mode === 'compact')
    return [createDescribeTool(names.describe), ...entries.map(entry => (isPinned(entry) ? entry : compactTool(entry)))]
  const ours = (maxTokens: number): CatalogEntry[] =>
    mode === 'code'
      ? createCodeTools(entries, names, maxTokens, settings.code)
      : createSearchTools(entries, names, maxTokens)
  const own = ours(Math.max(0, Math.min(MAX_OVERVIEW_TOKENS, budget - countListTokens(ours(0)))))
  return [...own, ...selectPinned(surface, budget - countListTokens(own))]
}

/** Selects pinned tools, in full or compact, while the budget lasts. */
function selectPinned({ entries, settings: { isPinned } }: Surface, tokens: number): CatalogEntry[] {
  let remainingTokens = tokens
  return entries
    .filter(entry => isPinned(entry) || entry.marks?.pinned !== undefined)
    .flatMap(entry => {
      const form = [entry, compactTool(entry)].find(one => countToolTokens(one) <= remainingTokens)
      if (form === undefined) return []
      remainingTokens -= countToolTokens(form)
      return [form]
    })
}

const TOKENS_BY_VALUE = new WeakMap<JsonObject, number>()

/** Estimates a tool's tokens in a list. */
function countToolTokens({ value, exposed }: Pick<CatalogEntry, 'value' | 'exposed'>): number {
  let tokens = TOKENS_BY_VALUE.get(value)
  if (tokens === undefined) TOKENS_BY_VALUE.set(value, (tokens = estimateTokens(JSON.stringify(value))))
  return value.name === exposed ? tokens : tokens + estimateTokens(exposed)
}

/** Estimates a list's tokens. */
export function countListTokens(entries: readonly CatalogEntry[]): number {
  return entries.reduce((all, entry) => all + countToolTokens(entry), 0)
}
