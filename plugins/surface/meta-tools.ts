import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateBytes, isOwnName, assignOwnNames } from '../../src/plugin.ts'
import { stemWord } from './search/terms.ts'

/** Generic words in tool names, which do not distinguish servers. */
const VERBS = new Set(
  'get set list find search add create new make delete remove update edit write read open close run start stop check by for to of and from in the with all is mcp server tool tools api v1 v2 info data use do show view fetch load save send put post copy move'.split(
    ' ',
  ),
)
const MAX_WORDS = 10

/**
 * Summarizes the hidden tools by server: count and frequent words. Deterministic; drops words, then servers, to
 * stay within `most` tokens.
 */
function formatOverview(entries: readonly CatalogEntry[], maxTokens: number): string {
  const servers = summarizeServers(entries)
  const bytes = estimateBytes(maxTokens)
  const fits = (text: string): boolean => Buffer.byteLength(JSON.stringify(text)) <= bytes
  for (let wordCount = MAX_WORDS; wordCount >= 0; wordCount--) {
    const text = formatServers(servers, wordCount)
    if (fits(text)) return text
  }
  for (let serverCount = servers.length - 1; serverCount > 0; serverCount--) {
    const text = `${formatServers(servers.slice(0, serverCount), 0)}; and ${servers.length - serverCount} more servers`
    if (fits(text)) return text
  }
  return ''
}

interface ServerSummary {
  readonly name: string
  readonly count: number
  readonly words: readonly string[]
}

function formatServers(servers: readonly ServerSummary[], maxWords: number): string {
  return servers
    .map(({ name, count, words }) => {
      const nouns = words.slice(0, maxWords).join(', ')
      return `${name} (${count}${nouns === '' ? '' : `: ${nouns}`})`
    })
    .join('; ')
}

/** Servers by tool count, largest first. */
function summarizeServers(entries: readonly CatalogEntry[]): ServerSummary[] {
  const byServer = Map.groupBy(entries, ({ upstream }) => upstream)
  // Meta tools have no upstream.
  byServer.delete('')
  return [...byServer]
    .map(([name, own]) => ({ name, count: own.length, words: listFrequentWords(name, own) }))
    .sort((one, other) => other.count - one.count || compareStrings(one.name, other.name))
}

/** Lists the words in a server's tool names, the most frequent first. */
function listFrequentWords(server: string, entries: readonly CatalogEntry[]): string[] {
  const serverWords = new Set(splitName(server))
  const words = entries.flatMap(({ original }) => splitName(original)).filter(word => !serverWords.has(word))
  return [...Map.groupBy(words, stemWord).values()]
    .map(([word = '', ...repeated]) => ({ word, count: repeated.length }))
    .sort((one, other) => other.count - one.count || compareStrings(one.word, other.word))
    .map(({ word }) => word)
}

function splitName(name: string): string[] {
  return name
    .split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u)
    .map(word => word.toLowerCase())
    .filter(word => word.length > 2 && !VERBS.has(word))
}

/** Compares independently of the locale. */
function compareStrings(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

/** Meta tools by purpose. */
export type MetaTool = 'search' | 'describe' | 'read' | 'call' | 'code'

export const META_TOOL_NAMES: Readonly<Record<MetaTool, string>> = {
  search: 'search_tools',
  describe: 'describe_tools',
  read: 'call_read_tool',
  call: 'call_tool',
  code: 'run_code',
}

const NAME_TAILS = Object.values(META_TOOL_NAMES)

/** True if a name may belong to a meta tool, with or without a prefix. */
export function isMetaToolName(name: unknown): name is string {
  return isOwnName(name, NAME_TAILS)
}

/** Meta tool names; prefixed if a real tool has one of them. */
export function assignMetaToolNames(entries: readonly CatalogEntry[]): Readonly<Record<MetaTool, string>> {
  return assignOwnNames(META_TOOL_NAMES, entries)
}

/** Creates the search and call tools; the search description summarizes the hidden tools in `most` tokens. */
export function createSearchTools(
  entries: readonly CatalogEntry[],
  names: Readonly<Record<MetaTool, string>>,
  maxTokens: number,
): CatalogEntry[] {
  return [
    createSearchTool(entries, names.search, `with ${names.read} or ${names.call}`, maxTokens),
    createDescribeTool(names.describe),
    createMetaTool(names.read, {
      title: 'Call a read-only tool',
      description: `Call a tool that ${names.search} marks with "reads only".`,
      inputSchema: CALL_SCHEMA,
      annotations: { ...READ_ANNOTATIONS, openWorldHint: true },
    }),
    createMetaTool(names.call, {
      title: 'Call a tool',
      description: `Call any tool that ${names.search} found.`,
      inputSchema: CALL_SCHEMA,
      annotations: WRITE_ANNOTATIONS,
    }),
  ]
}

/** Creates the search and script tools. */
export function createCodeTools(
  entries: readonly CatalogEntry[],
  names: Readonly<Record<MetaTool, string>>,
  maxTokens: number,
  { timeoutMs, calls }: { readonly timeoutMs: number; readonly calls: number },
): CatalogEntry[] {
  return [
    createSearchTool(entries, names.search, `in a script with ${names.code}`, maxTokens),
    createDescribeTool(names.describe),
    createMetaTool(names.code, {
      title: 'Run a script',
      description: `Run the body of an async JavaScript function that calls tools which ${names.search} found: \`const a = await tools.NAME({ … }); return a.items.length\`. A call returns the data of the result and throws if the tool fails; \`Promise.all\` runs several concurrently. You only get the return value, as JSON, and the console.log output: filter and count in the script. No imports, files, network or timers; ${calls} calls and ${Math.round(timeoutMs / 1000)} s at most.`,
      inputSchema: {
        type: 'object',
        properties: { code: { type: 'string' } },
        required: ['code'],
      },
      annotations: WRITE_ANNOTATIONS,
    }),
  ]
}

function createSearchTool(
  entries: readonly CatalogEntry[],
  name: string,
  usage: string,
  maxTokens: number,
): CatalogEntry {
  const behind = formatOverview(entries, maxTokens - OVERVIEW_MARGIN_TOKENS)
  return createMetaTool(name, {
    title: 'Search tools',
    description: `Find tools among ${entries.length} that are not listed here. Describe the task in a few words; then call the tools found ${usage}.${behind === '' ? '' : ` Servers: ${behind}.`}`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'The task, such as "create an issue".' },
        server: { type: 'string', description: 'Only tools of this server.' },
        limit: { type: 'integer', minimum: 1, maximum: 20 },
      },
      required: ['query'],
    },
    annotations: READ_ANNOTATIONS,
  })
}

/** Creates `describe_tools`. */
export function createDescribeTool(name: string): CatalogEntry {
  return createMetaTool(name, {
    title: 'Describe tools',
    description: 'Full descriptions and argument schemas of up to 5 tools.',
    inputSchema: {
      type: 'object',
      properties: { names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 5 } },
      required: ['names'],
    },
    annotations: READ_ANNOTATIONS,
  })
}

const READ_ANNOTATIONS = { readOnlyHint: true, openWorldHint: false }

const WRITE_ANNOTATIONS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
}

const CALL_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, arguments: { type: 'object' } },
  required: ['name'],
}

/** Reserve for the words around the overview. */
const OVERVIEW_MARGIN_TOKENS = 4

function createMetaTool(name: string, value: JsonObject): CatalogEntry {
  return { kind: 'tools', upstream: '', original: name, exposed: name, value: { name, ...value } }
}
