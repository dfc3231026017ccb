import { type CatalogEntry, type JsonObject, isOwnName, ownNamesBeside } from '../../src/plugin.ts'
import { overview } from './overview.ts'

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
  return ownNamesBeside(NAMES, entries)
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
