import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateTokens } from '../../src/plugin.ts'
import { compactTool } from './signature.ts'
import type { Meta } from './meta-tools.ts'
import { codeTools, describeTools, metaNames, searchTools } from './meta-tools.ts'
import type { Settings } from './settings.ts'
import type { ToolIndex } from './search/ranking.ts'

/** All tools that one reader may call, by the names it is shown, and the index of them: both live as long as the list. */
export class Surface {
  readonly entries: readonly CatalogEntry[]
  readonly settings: Settings
  readonly names: Readonly<Record<Meta, string>>
  readonly #byName: ReadonlyMap<string, CatalogEntry>
  #index: Promise<ToolIndex> | undefined

  constructor(entries: readonly CatalogEntry[], settings: Settings) {
    this.entries = entries
    this.settings = settings
    this.names = metaNames(entries)
    this.#byName = new Map(entries.map(entry => [entry.exposed, entry]))
  }

  /** Finds the tool of ours that has this name. */
  meta(name: string): Meta | undefined {
    const meta = (Object.keys(this.names) as Meta[]).find(one => this.names[one] === name)
    return meta === 'code' && !this.runsCode ? undefined : meta
  }

  /** True where scripts call tools. */
  get runsCode(): boolean {
    return this.settings.mode === 'code'
  }

  find(name: string): CatalogEntry | undefined {
    return this.#byName.get(name)
  }

  /** The index, made at the first search: its library is not loaded before. */
  index(): Promise<ToolIndex> {
    return (this.#index ??= import('./search/ranking.ts').then(
      ({ ToolIndex }) => new ToolIndex(this.entries),
    ))
  }
}

/** List of a reader, and the surface that its own tools work on. */
export interface Listed {
  readonly entries: readonly CatalogEntry[]
  readonly surface: Surface
  /** Tokens of what is shown. */
  readonly tokens: number
}

/** Tokens of the overview at most, so that a list of our tools alone stays small. */
const OVERVIEW = 900

/** The list in the form that the settings want. */
export function listed(entries: readonly CatalogEntry[], settings: Settings): Listed {
  const surface = new Surface(entries, settings)
  const shown = formOf(surface)
  return { entries: shown, surface, tokens: listTokens(shown) }
}

function formOf(surface: Surface): readonly CatalogEntry[] {
  const { entries, settings, names } = surface
  const { mode, budget, isPinned } = settings
  if (mode === 'full' || (mode === 'auto' && listTokens(entries) <= budget)) return entries
  if (mode === 'compact')
    return [
      describeTools(names.describe),
      ...entries.map(entry => (isPinned(entry) ? entry : compactTool(entry))),
    ]
  const ours = (most: number): CatalogEntry[] =>
    mode === 'code' ? codeTools(entries, names, most, settings.code) : searchTools(entries, names, most)
  const own = ours(Math.max(0, Math.min(OVERVIEW, budget - listTokens(ours(0)))))
  return [...own, ...pinned(surface, budget - listTokens(own))]
}

/** The tools that are always shown: in full, else compact, else not, by what the budget has left. */
function pinned({ entries, settings: { isPinned } }: Surface, tokens: number): CatalogEntry[] {
  let left = tokens
  return entries
    .filter(entry => isPinned(entry) || entry.marks?.pinned !== undefined)
    .flatMap(entry => {
      const form = [entry, compactTool(entry)].find(one => toolTokens(one) <= left)
      if (form === undefined) return []
      left -= toolTokens(form)
      return [form]
    })
}

const KNOWN = new WeakMap<JsonObject, number>()

/** Tokens that a tool takes in a list, as estimated. */
function toolTokens({ value, exposed }: Pick<CatalogEntry, 'value' | 'exposed'>): number {
  let tokens = KNOWN.get(value)
  if (tokens === undefined) KNOWN.set(value, (tokens = estimateTokens(JSON.stringify(value))))
  return value.name === exposed ? tokens : tokens + estimateTokens(exposed)
}

/** Tokens of a list. */
export function listTokens(entries: readonly CatalogEntry[]): number {
  return entries.reduce((all, entry) => all + toolTokens(entry), 0)
}
