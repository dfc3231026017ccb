import type { Answer, CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { answer, estimateBytes, suggestName, isObject, estimateTokens, toolError } from '../../src/plugin.ts'
import { compactTool, formatSignature } from './tool-signature.ts'
import type { Surface } from './listing.ts'

const MAX_DESCRIBED = 5
const MAX_RESULTS = 20
/** Maximum further results listed by name, and tokens for their names. */
const MAX_OTHER_RESULTS = 15
const OTHER_NAMES_TOKENS = 120
/** Maximum tokens per description. */
const MAX_TOKENS = 4000

/** Answers `search_tools`. */
export async function answerSearch(surface: Surface, args: unknown): Promise<Answer> {
  const query = parseSearch(args, surface.settings.results)
  if (typeof query === 'string') return toolFailure(query)
  const matches = await findTools(surface, query, MAX_OTHER_RESULTS)
  if (matches.length === 0) return textAnswer(describeNoMatch(surface, query))
  const { names } = surface
  return textAnswer(
    [
      ...matches.slice(0, query.limit).map(formatSignature),
      ...listOtherNames(matches.slice(query.limit)),
      surface.runsCode
        ? `Call them in a script with ${names.code}: await tools.${matches[0]?.exposed ?? 'NAME'}({ … }).`
        : `Call one with ${names.call}, or with ${names.read} if it only reads.`,
    ].join('\n'),
  )
}

/** Lists further names, because models may recognize a tool by its name. */
function listOtherNames(entries: readonly CatalogEntry[]): string[] {
  let remainingBytes = estimateBytes(OTHER_NAMES_TOKENS)
  const names = entries.map(({ exposed }) => exposed).filter(name => (remainingBytes -= name.length + 2) > 0)
  return names.length === 0 ? [] : [`Other matches: ${names.join(', ')}.`]
}

function parseSearch(args: unknown, results: number): ToolSearch | string {
  const { query, server, limit = results } = isObject(args) ? args : {}
  if (typeof query !== 'string' || query.trim() === '') return '"query" must describe the task'
  if (server !== undefined && typeof server !== 'string') return '"server" must be a name'
  if (!isCount(limit)) return '"limit" must be a positive integer'
  return { query, server: server === '' ? undefined : server, limit: Math.min(limit, MAX_RESULTS) }
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1
}

function describeNoMatch({ entries }: Surface, { server }: ToolSearch): string {
  const servers = [...new Set(entries.map(({ upstream }) => upstream))]
  if (server !== undefined && !servers.includes(server)) {
    const hint = suggestName(server, servers)
    return `No server named "${server.slice(0, 64)}"${hint === undefined ? '' : ` – ${hint}`}.`
  }
  return 'No matching tool. Try other words, such as a verb and a noun.'
}

/** Answers `describe_tools`. */
export async function answerDescribe(surface: Surface, args: unknown): Promise<Answer> {
  const names = isObject(args) ? args.names : undefined
  const list = typeof names === 'string' ? [names] : names
  if (!Array.isArray(list) || list.length === 0 || !list.every(name => typeof name === 'string'))
    return toolFailure('"names" must be a list of tool names')
  if (list.length > MAX_DESCRIBED) return toolFailure(`"names" must have at most ${MAX_DESCRIBED} names`)
  const texts = await Promise.all(list.map(async name => describeTool(surface, name)))
  return textAnswer(texts.join('\n'))
}

async function describeTool(surface: Surface, name: string): Promise<string> {
  const entry = surface.find(name)
  return entry === undefined ? describeUnknownTool(surface, name) : formatDefinition(entry)
}

/** Serializes a definition; a very long one without schema texts. */
function formatDefinition(entry: CatalogEntry): string {
  const definition = serializeDefinition(entry, entry.value)
  if (estimateTokens(definition) <= MAX_TOKENS) return definition
  const compact = serializeDefinition(entry, compactTool(entry).value)
  if (estimateTokens(compact) <= MAX_TOKENS) return `${compact} (texts omitted)`
  return `${formatSignature(entry)} (schema omitted: ${estimateTokens(definition)} tokens)`
}

function serializeDefinition({ exposed }: CatalogEntry, value: JsonObject): string {
  const { title, description, inputSchema, outputSchema, annotations } = value
  return JSON.stringify({ name: exposed, title, description, inputSchema, outputSchema, annotations })
}

/** Describes an unknown tool, with similar names. */
export async function describeUnknownTool(surface: Surface, name: string): Promise<string> {
  const similar = (await surface.index()).search(name, 3).map(({ exposed }) => exposed)
  const shortName = name.slice(0, 128)
  return `Unknown tool: ${shortName}${similar.length === 0 ? '' : ` – similar: ${similar.join(', ')}`}`
}

/** Formats the argument schema for a failed call. */
export function formatArgumentSchema({ exposed, value }: CatalogEntry): string {
  const schemaText = JSON.stringify(value.inputSchema ?? {})
  const maxBytes = estimateBytes(MAX_TOKENS)
  if (Buffer.byteLength(schemaText) <= maxBytes) return `Arguments of ${exposed}: ${schemaText}`
  const { value: compact } = compactTool({ kind: 'tools', upstream: '', original: '', exposed, value })
  const text = JSON.stringify(compact.inputSchema)
  return Buffer.byteLength(text) <= maxBytes ? `Arguments of ${exposed}, without texts: ${text}` : ''
}

export function textAnswer(text: string): Answer {
  return answer({ content: [{ type: 'text', text }] })
}

export function toolFailure(text: string): Answer {
  return answer(toolError(text))
}

/** Validated search. */
interface ToolSearch {
  readonly query: string
  readonly server: string | undefined
  readonly limit: number
}

/** Finds matching tools, best first: `limit`, and up to `more` further ones. */
export async function findTools(
  surface: Surface,
  { query, server, limit }: ToolSearch,
  more = 0,
): Promise<readonly CatalogEntry[]> {
  const ranked = (await surface.index()).search(query, surface.entries.length)
  const fitting = server === undefined ? ranked : ranked.filter(({ upstream }) => isSameName(upstream, server))
  return fitting.slice(0, limit + more)
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.trim().toLowerCase()
}
