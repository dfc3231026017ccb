/** What a bench server can be asked: hand-written and pre-serialised, so that it costs next to nothing. */

/** Sizes of the text that a tool returns. */
export const TOOL_BYTES: Readonly<Record<string, number>> = { small: 20, kb10: 10 * 1024, mb1: 1024 * 1024 }

type Era = 'legacy' | 'modern'

interface Params {
  readonly name?: string
  readonly protocolVersion?: string
  readonly _meta?: Readonly<Record<string, unknown>>
}

interface Request {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Params
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const INFO = { name: 'bench', version: '1.0.0' }
const CAPABILITIES = { tools: {} }
const UNKNOWN_METHOD = ',"error":{"code":-32601,"message":"Method not found"}}'

/** The answers of one server. `tools` is how many it lists; their names start with `group`. */
export class Answers {
  readonly #calls = new Map<string, string>()
  readonly #lists: Readonly<Record<Era, string>>

  constructor(tools: number, group: string) {
    for (const [name, bytes] of Object.entries(TOOL_BYTES)) {
      const content = [{ type: 'text', text: text(bytes) }]
      this.#calls.set(`legacy ${name}`, JSON.stringify({ content }))
      this.#calls.set(`modern ${name}`, JSON.stringify({ resultType: 'complete', content }))
    }
    const list = { tools: toolList(tools, group) }
    const fresh = { resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' }
    this.#lists = { legacy: JSON.stringify(list), modern: JSON.stringify({ ...fresh, ...list }) }
  }

  /** The message that answers `bytes`; undefined for what needs no answer. */
  answer(bytes: Buffer | string): string | undefined {
    const request = JSON.parse(bytes.toString()) as Request
    if (request.id === undefined || request.method === undefined) return undefined
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)}`
    const result = this.#result(request)
    return result === undefined ? head + UNKNOWN_METHOD : `${head},"result":${result}}`
  }

  #result({ method, params = {} }: Request): string | undefined {
    if (method === 'tools/call') return this.#calls.get(`${eraOf(params)} ${params.name ?? ''}`)
    if (method === 'tools/list') return this.#lists[eraOf(params)]
    if (method === 'ping') return '{}'
    if (method === 'initialize') return initialized(params.protocolVersion)
    return method === 'server/discover' ? DISCOVERED : undefined
  }
}

function eraOf({ _meta }: Params): Era {
  return _meta?.[VERSION] === undefined ? 'legacy' : 'modern'
}

function initialized(protocolVersion = '2025-11-25'): string {
  return JSON.stringify({ protocolVersion, capabilities: CAPABILITIES, serverInfo: INFO })
}

const DISCOVERED = JSON.stringify({
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: CAPABILITIES,
  ttlMs: 0,
  cacheScope: 'private',
  _meta: { 'io.modelcontextprotocol/serverInfo': INFO },
})

/** Text as tools return it: lines, now and then a quotation mark. */
function text(bytes: number): string {
  const line = 'The quick brown fox jumps over the lazy dog and reads "a file" of many lines. '
  return line
    .repeat(5)
    .replace(/"/g, (mark, at: number) => (at < line.length ? mark : "'"))
    .replaceAll('lines. ', 'lines.\n')
    .repeat(Math.ceil(bytes / (line.length * 5)))
    .slice(0, bytes)
}

function toolList(count: number, group: string): object[] {
  const tools = Array.from({ length: count }, (_, index) =>
    tool(`${group}tool_${String(index).padStart(3, '0')}`),
  )
  return [...Object.keys(TOOL_BYTES).map(tool), ...tools].slice(0, Math.max(count, 3))
}

function tool(name: string): object {
  const property = (description: string): object => ({ type: 'string', description })
  return {
    name,
    title: `The tool ${name}`,
    description:
      `Does what ${name} does. ${'It explains itself at some length, as tools do. '.repeat(6)}`.trim(),
    inputSchema: {
      type: 'object',
      properties: {
        path: property('Where to look, relative to the root of the project'),
        query: property('What to look for; plain text, not a pattern'),
        limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Most results' },
      },
      required: ['path'],
    },
  }
}
