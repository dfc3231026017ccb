import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import { estimateBytes, isOwnName, assignOwnNames } from '../../src/plugin.ts'

/** Lists the servers with their tool counts, the largest first; drops servers to stay within the tokens. */
function formatOverview(entries: readonly CatalogEntry[], maxTokens: number): string {
  const byServer = Map.groupBy(entries, ({ upstream }) => upstream)
  // Meta tools have no upstream.
  byServer.delete('')
  const servers = [...byServer]
    .sort(([name, own], [otherName, other]) => other.length - own.length || (name < otherName ? -1 : 1))
    .map(([name, { length }]) => `${name} (${length})`)
  for (let count = servers.length; count > 0; count--) {
    const more = count === servers.length ? '' : `, and ${servers.length - count} more servers`
    const text = servers.slice(0, count).join(', ') + more
    if (Buffer.byteLength(JSON.stringify(text)) <= estimateBytes(maxTokens)) return text
  }
  return ''
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
