import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateTokens } from '../../src/plugin.ts'
import { compactTool } from './tool-signature.ts'
import type { MetaTool } from './meta-tools.ts'
import { createCodeTools, createDescribeTool, assignMetaToolNames, createSearchTools } from './meta-tools.ts'
import type { SurfaceSettings } from './settings.ts'
import type { ToolIndex } from './search/tool-index.ts'

/** Callable tools of one reader by exposed name, with a search index; both live as long as the list. */
export class Surface {
  readonly entries: readonly CatalogEntry[]
  readonly settings: SurfaceSettings
  readonly names: Readonly<Record<MetaTool, string>>
  readonly #byName: ReadonlyMap<string, CatalogEntry>
  #index: Promise<ToolIndex> | undefined

  constructor(entries: readonly CatalogEntry[], settings: SurfaceSettings) {
    this.entries = entries
    this.settings = settings
    this.names = assignMetaToolNames(entries)
    this.#byName = new Map(entries.map(entry => [entry.exposed, entry]))
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
    return (this.#index ??= import('./search/tool-index.ts').then(({ ToolIndex }) => new ToolIndex(this.entries)))
  }
}

/** A reader's visible list, and its surface. */
export interface SurfaceListing {
  readonly entries: readonly CatalogEntry[]
  readonly surface: Surface
  readonly tokens: number
}

const MAX_OVERVIEW_TOKENS = 900

/** Creates the list for a mode and budget. */
export function createListing(entries: readonly CatalogEntry[], settings: SurfaceSettings): SurfaceListing {
  const surface = new Surface(entries, settings)
  const listed = selectEntries(surface)
  return { entries: listed, surface, tokens: countListTokens(listed) }
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
