import type { Answer, CatalogEntry, JsonObject, PluginApi } from '../../src/plugin.ts'
import { answer, estimateBytes, suggestName, isObject, estimateTokens, toolError } from '../../src/plugin.ts'
import { compactTool, signature, stubOf } from './signature.ts'
import type { Surface } from './shown.ts'
import type { Ranked } from './search/ranking.ts'

const MAX_DESCRIBED = 5
const MAX_RESULTS = 20
/** Further tools of a search that are named, and the tokens of their names. */
const MAX_OTHER_RESULTS = 15
const OTHERS = 120
/** Tokens of the description of one tool. */
const MAX_TOKENS = 4000

/** Answers a search. */
export async function searched(surface: Surface, args: unknown, rank: PluginApi['rank']): Promise<Answer> {
  const wanted = wantedBy(args, surface.settings.results)
  if (typeof wanted === 'string') return failed(wanted)
  const found = await findTools(surface, wanted, rank, MAX_OTHER_RESULTS)
  if (found.length === 0) return said(nothingFound(surface, wanted))
  const { names } = surface
  return said(
    [
      ...found.slice(0, wanted.limit).map(signature),
      ...others(found.slice(wanted.limit)),
      surface.runsCode
        ? `Call them in a script with ${names.code}: await tools.${found[0]?.exposed ?? 'NAME'}({ … }).`
        : `Call one with ${names.call}, or with ${names.read} where it only reads.`,
    ].join('\n'),
  )
}

/** Names of what fits less well: a model often knows by a name what words alone do not find. */
function others(entries: readonly CatalogEntry[]): string[] {
  let left = estimateBytes(OTHERS)
  const names = entries.map(({ exposed }) => exposed).filter(name => (left -= name.length + 2) > 0)
  return names.length === 0 ? [] : [`Others that may fit: ${names.join(', ')}.`]
}

function wantedBy(args: unknown, results: number): ToolSearch | string {
  const { query, server, limit = results } = isObject(args) ? args : {}
  if (typeof query !== 'string' || query.trim() === '') return '"query" must say what is to be done'
  if (server !== undefined && typeof server !== 'string') return '"server" must be a name'
  if (!isCount(limit)) return '"limit" must be a whole number from 1 on'
  return { query, server: server === '' ? undefined : server, limit: Math.min(limit, MAX_RESULTS) }
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1
}

function nothingFound({ entries }: Surface, { server }: ToolSearch): string {
  const servers = [...new Set(entries.map(({ upstream }) => upstream))]
  if (server !== undefined && !servers.includes(server)) {
    const hint = suggestName(server, servers)
    return `No server is called "${server.slice(0, 64)}"${hint === undefined ? '' : ` – ${hint}`}.`
  }
  return 'No tool fits. Try other words, such as a verb and a thing.'
}

/** Answers a wish for full descriptions. */
export async function described(surface: Surface, args: unknown): Promise<Answer> {
  const names = isObject(args) ? args.names : undefined
  const list = typeof names === 'string' ? [names] : names
  if (!Array.isArray(list) || list.length === 0 || !list.every(name => typeof name === 'string'))
    return failed('"names" must be a list of names of tools')
  if (list.length > MAX_DESCRIBED) return failed(`"names" may have ${MAX_DESCRIBED} names at most`)
  const texts = await Promise.all(list.map(async name => describedTool(surface, name)))
  return said(texts.join('\n'))
}

async function describedTool(surface: Surface, name: string): Promise<string> {
  const entry = surface.find(name)
  if (entry === undefined) return unknownTool(surface, name)
  const stub = surface.runsCode ? stubOf(entry) : ''
  return stub !== '' && estimateTokens(stub) <= MAX_TOKENS ? stub : describedIn(entry)
}

/** The definition of a tool as text; one that is very long without the texts of its schema, and it says so. */
function describedIn(entry: CatalogEntry): string {
  const whole = definition(entry, entry.value)
  if (estimateTokens(whole) <= MAX_TOKENS) return whole
  const compact = definition(entry, compactTool(entry).value)
  if (estimateTokens(compact) <= MAX_TOKENS) return `${compact} (texts are left out)`
  return `${signature(entry)} (its schema has ${estimateTokens(whole)} tokens, which is too much to show)`
}

function definition({ exposed }: CatalogEntry, value: JsonObject): string {
  const { title, description, inputSchema, annotations } = value
  return JSON.stringify({ name: exposed, title, description, inputSchema, annotations })
}

/** Says that nobody knows a tool, and which may be meant. */
export async function unknownTool(surface: Surface, name: string): Promise<string> {
  const near = (await surface.index()).search(name, 3).map(({ entry }) => entry.exposed)
  const shown = name.slice(0, 128)
  return `Unknown tool: ${shown}${near.length === 0 ? '' : ` – similar ones: ${near.join(', ')}`}`
}

/** Text about the arguments of a tool, for who had them wrong. */
export function schemaOf({ exposed, value }: CatalogEntry): string {
  const whole = JSON.stringify(value.inputSchema ?? {})
  const most = estimateBytes(MAX_TOKENS)
  if (Buffer.byteLength(whole) <= most) return `Arguments of ${exposed}: ${whole}`
  const { value: compact } = compactTool({ kind: 'tools', upstream: '', original: '', exposed, value })
  const text = JSON.stringify(compact.inputSchema)
  return Buffer.byteLength(text) <= most ? `Arguments of ${exposed}, without texts: ${text}` : ''
}

/** A result of text. */
export function said(text: string): Answer {
  return answer({ content: [{ type: 'text', text }] })
}

/** A result that tells a model what it did wrong. */
export function failed(text: string): Answer {
  return answer(toolError(text))
}

/** A search, checked. */
interface ToolSearch {
  readonly query: string
  readonly server: string | undefined
  readonly limit: number
}

type Rank = PluginApi['rank']

/** Candidates that a `rank` tap is asked about. */
const CANDIDATES = 50
/** Softens the first places where two orders become one (reciprocal rank fusion). */
const SOFT = 60
/** Weight of the order of a tap, beside that of the words. */
const ASKED = 1.5

/** The tools that fit, the best first: as many as were asked for, and `more` behind them. */
export async function findTools(
  surface: Surface,
  { query, server, limit }: ToolSearch,
  rank: Rank,
  more = 0,
): Promise<readonly CatalogEntry[]> {
  const ranked = (await surface.index()).search(query, surface.entries.length)
  const fitting =
    server === undefined ? ranked : ranked.filter(({ entry }) => isSameName(entry.upstream, server))
  return (await reordered(fitting, query, rank)).slice(0, limit + more)
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.trim().toLowerCase()
}

async function reordered(ranked: readonly Ranked[], query: string, rank: Rank): Promise<CatalogEntry[]> {
  const entries = ranked.map(({ entry }) => entry)
  const candidates = entries.slice(0, CANDIDATES)
  const scores = candidates.length < 2 ? undefined : await rank(query, candidates)
  if (scores?.length !== candidates.length || !scores.every(Number.isFinite)) return entries
  const places = candidates.map((_, index) => index).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
  const fused = candidates.map((entry, index) => ({
    entry,
    score: 1 / (SOFT + index) + ASKED / (SOFT + places.indexOf(index)),
  }))
  fused.sort((one, other) => other.score - one.score)
  return [...fused.map(({ entry }) => entry), ...entries.slice(CANDIDATES)]
}
