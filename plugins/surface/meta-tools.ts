import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateBytes, isOwnName, assignOwnNames } from '../../src/plugin.ts'
import { stemOf } from './search/meanings.ts'

/** Words of tool names that say what is done, and not with what. */
const VERBS = new Set(
  'get set list find search add create new make delete remove update edit write read open close run start stop check by for to of and from in the with all is mcp server tool tools api v1 v2 info data use do show view fetch load save send put post copy move'.split(
    ' ',
  ),
)
const MAX_WORDS = 10

/**
 * Summary of the tools behind a search, server by server: how many tools, and the words that tell them from others. The same text for the same
 * tools; it gives up words, then servers, to stay within `most` tokens.
 */
function overview(entries: readonly CatalogEntry[], most: number): string {
  const servers = serversOf(entries)
  const bytes = estimateBytes(most)
  const fits = (text: string): boolean => Buffer.byteLength(JSON.stringify(text)) <= bytes
  for (let words = MAX_WORDS; words >= 0; words--) {
    const text = lines(servers, words)
    if (fits(text)) return text
  }
  for (let shown = servers.length - 1; shown > 0; shown--) {
    const text = `${lines(servers.slice(0, shown), 0)}; and ${servers.length - shown} more servers`
    if (fits(text)) return text
  }
  return ''
}

interface Server {
  readonly name: string
  readonly count: number
  readonly words: readonly string[]
}

function lines(servers: readonly Server[], most: number): string {
  return servers
    .map(({ name, count, words }) => {
      const nouns = words.slice(0, most).join(', ')
      return `${name} (${count}${nouns === '' ? '' : `: ${nouns}`})`
    })
    .join('; ')
}

/** Servers by the number of their tools, the largest first. */
function serversOf(entries: readonly CatalogEntry[]): Server[] {
  const byServer = Map.groupBy(entries, ({ upstream }) => upstream)
  // Tools of the gateway itself are shown beside it.
  byServer.delete('')
  const counts = new Map([...byServer].map(([name, own]) => [name, wordCounts(own)]))
  const spread = new Map<string, number>()
  for (const words of counts.values())
    for (const word of words.keys()) spread.set(word, (spread.get(word) ?? 0) + 1)
  return [...byServer]
    .map(([name, own]) => ({ name, count: own.length, words: tellingWords(counts.get(name), spread, name) }))
    .sort((one, other) => other.count - one.count || compare(one.name, other.name))
}

function wordCounts(entries: readonly CatalogEntry[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { original } of entries)
    for (const word of new Set(nameWords(original))) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

function nameWords(name: string): string[] {
  return name
    .split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u)
    .map(word => word.toLowerCase())
    .filter(word => word.length > 2 && !VERBS.has(word))
}

/** Words that many tools of this server have, and few other servers. */
function tellingWords(
  counts: ReadonlyMap<string, number> | undefined,
  spread: ReadonlyMap<string, number>,
  server: string,
): string[] {
  const own = new Set(nameWords(server))
  return [...(counts ?? [])]
    .filter(([word]) => !own.has(word))
    .map(([word, count]) => ({ word, weight: count / (spread.get(word) ?? 1) }))
    .sort((one, other) => other.weight - one.weight || compare(one.word, other.word))
    .filter(({ word }, index, all) => all.findIndex(one => stemOf(one.word) === stemOf(word)) === index)
    .map(({ word }) => word)
}

/** The same order on every machine. */
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

/** Tools of our own by what they do. */
export type Meta = 'search' | 'describe' | 'read' | 'call' | 'code'

export const NAMES: Readonly<Record<Meta, string>> = {
  search: 'search_tools',
  describe: 'describe_tools',
  read: 'call_read_tool',
  call: 'call_tool',
  code: 'run_code',
}

const TAILS = Object.values(NAMES)

/** Tells whether a name can be one of ours: a real tool of that name makes ours longer. */
export function mayBeMeta(name: unknown): name is string {
  return isOwnName(name, TAILS)
}

/** The names of our tools beside these: as they are or, where a real tool has one of them, behind a prefix. */
export function metaNames(entries: readonly CatalogEntry[]): Readonly<Record<Meta, string>> {
  return assignOwnNames(NAMES, entries)
}

/** Our tools in front of these; the description of the search says what stands behind, in `most` tokens. */
export function searchTools(
  entries: readonly CatalogEntry[],
  names: Readonly<Record<Meta, string>>,
  most: number,
): CatalogEntry[] {
  return [
    searchTool(entries, names.search, `with ${names.read} or ${names.call}`, most),
    describeTools(names.describe),
    own(names.read, {
      title: 'Call a tool that reads',
      description: `Call a tool that ${names.search} marks with "reads only".`,
      inputSchema: CALL,
      annotations: { ...READS, openWorldHint: true },
    }),
    own(names.call, {
      title: 'Call a tool',
      description: `Call any tool that ${names.search} found.`,
      inputSchema: CALL,
      annotations: WRITES,
    }),
  ]
}

/** Our tools in front of these where scripts call them. */
export function codeTools(
  entries: readonly CatalogEntry[],
  names: Readonly<Record<Meta, string>>,
  most: number,
  { timeoutMs, calls }: { readonly timeoutMs: number; readonly calls: number },
): CatalogEntry[] {
  return [
    searchTool(entries, names.search, `in a script with ${names.code}`, most),
    describeTools(names.describe),
    own(names.code, {
      title: 'Run a script',
      description: `Run the body of an async JavaScript function that calls tools which ${names.search} found: \`const a = await tools.NAME({ … }); return a.items.length\`. A call gives the data of the result and throws where the tool fails; \`Promise.all\` makes many at once. Only what is returned, as JSON, and what console.log prints comes back: filter and count in the script. No imports, files, network or timers; ${calls} calls and ${Math.round(timeoutMs / 1000)} s at most.`,
      inputSchema: {
        type: 'object',
        properties: { code: { type: 'string' } },
        required: ['code'],
      },
      annotations: WRITES,
    }),
  ]
}

function searchTool(entries: readonly CatalogEntry[], name: string, how: string, most: number): CatalogEntry {
  const behind = overview(entries, most - AROUND)
  return own(name, {
    title: 'Search tools',
    description: `Find tools among ${entries.length} that are not listed here. Say what is to be done, in a few words; then call what was found ${how}.${behind === '' ? '' : ` Servers: ${behind}.`}`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What is to be done, such as "create an issue".' },
        server: { type: 'string', description: 'Only tools of this server.' },
        limit: { type: 'integer', minimum: 1, maximum: 20 },
      },
      required: ['query'],
    },
    annotations: READS,
  })
}

/** The tool that gives descriptions in full. */
export function describeTools(name: string): CatalogEntry {
  return own(name, {
    title: 'Describe tools',
    description: 'Full descriptions and argument schemas of up to 5 tools.',
    inputSchema: {
      type: 'object',
      properties: { names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 5 } },
      required: ['names'],
    },
    annotations: READS,
  })
}

const READS = { readOnlyHint: true, openWorldHint: false }

const WRITES = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

const CALL = {
  type: 'object',
  properties: { name: { type: 'string' }, arguments: { type: 'object' } },
  required: ['name'],
}

/** Tokens of the words around an overview. */
const AROUND = 4

/** A tool that no server has. */
function own(name: string, value: JsonObject): CatalogEntry {
  return { kind: 'tools', upstream: '', original: name, exposed: name, value: { name, ...value } }
}
