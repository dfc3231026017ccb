/** All that a bench server can be asked: hand-written and pre-serialised, so that it costs next to nothing. */

import { textOf } from './payloads.ts'

const KB10 = 10 * 1024
const MB1 = 1024 * 1024

/** What a tool returns. A plain name returns JSON lines where it is large: each of them has escapes every few bytes. */
const TOOLS: Readonly<Record<string, object>> = {
  small: plain(20),
  kb10: { content: [{ type: 'text', text: textOf('jsonl', KB10) }] },
  mb1: { content: [{ type: 'text', text: textOf('jsonl', MB1) }] },
  progress: plain(21),
}

/** Number of times that a call speaks of its progress, where it was given a token for that. */
const STEPS = 3
/** Requests above this are not parsed: three short members are found in them. */
const LARGE_BYTES = 64 * 1024

type Era = 'legacy' | 'modern'

interface Params {
  readonly name?: string
  readonly protocolVersion?: string
  readonly _meta?: Readonly<Record<string, unknown>> & { readonly progressToken?: number | string }
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
    for (const [name, result] of Object.entries(TOOLS)) this.#keep(name, result)
    const list = { tools: toolList(tools, group) }
    const fresh = { resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' }
    this.#lists = { legacy: JSON.stringify(list), modern: JSON.stringify({ ...fresh, ...list }) }
  }

  /** The message that answers `bytes`; undefined for what needs no answer. */
  answer(bytes: Buffer | string): string | undefined {
    return this.answers(bytes).at(-1)
  }

  /** The messages that answer `bytes`: the last is the reply, before it comes what it says of its progress. */
  answers(bytes: Buffer | string): readonly string[] {
    const request = (bytes.length > LARGE_BYTES ? glimpse(bytes) : undefined) ?? parse(bytes)
    if (request.id === undefined || request.method === undefined) return []
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)}`
    const result = this.#result(request)
    if (result === undefined) return [head + UNKNOWN_METHOD]
    const reply = `${head},"result":${result}}`
    const token = request.params?._meta?.progressToken
    return token === undefined ? [reply] : [...progress(token), reply]
  }

  #keep(name: string, result: object): void {
    this.#calls.set(`legacy ${name}`, byteText(result))
    this.#calls.set(`modern ${name}`, byteText({ resultType: 'complete', ...result }))
  }

  #result({ method, params = {} }: Request): string | undefined {
    if (method === 'tools/call') return this.#calls.get(`${eraOf(params)} ${params.name ?? ''}`)
    if (method === 'tools/list') return this.#lists[eraOf(params)]
    if (method === 'ping') return '{}'
    if (method === 'initialize') return initialized(params.protocolVersion)
    return method === 'server/discover' ? DISCOVERED : undefined
  }
}

/** JSON with a character for each byte of its UTF-8, as servers write their answers in Latin-1: that is the cheapest. */
function byteText(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1')
}

/** A small result, without anything special in it. */
function plain(bytes: number): object {
  return { content: [{ type: 'text', text: 'The quick brown fox jumps over'.slice(0, bytes) }] }
}

function parse(bytes: Buffer | string): Request {
  return JSON.parse(bytes.toString()) as Request
}

/** All that counts of a large legacy call, wherever its sender has put it; undefined when something is not found. */
function glimpse(bytes: Buffer | string): Request | undefined {
  const text = bytes.toString('latin1')
  const ends = text.slice(0, 500) + text.slice(-500)
  const id = /"id":(\d+|"[^"]*")/.exec(ends)?.[1]
  const name = /"name":"(\w+)"/.exec(ends)?.[1]
  if (id === undefined || name === undefined || ends.includes(VERSION)) return undefined
  return { id: JSON.parse(id) as number | string, method: 'tools/call', params: { name } }
}

function progress(token: number | string): string[] {
  return Array.from({ length: STEPS }, (_, step) => {
    const params = { progressToken: token, progress: step + 1, total: STEPS }
    return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })
  })
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

function toolList(count: number, group: string): object[] {
  const tools = Array.from({ length: count }, (_, index) => tool(`${group}tool_${String(index).padStart(3, '0')}`))
  const own = Object.keys(TOOLS)
  return [...own.map(tool), ...tools].slice(0, Math.max(count, own.length))
}

function tool(name: string): object {
  const property = (description: string): object => ({ type: 'string', description })
  return {
    name,
    title: `The tool ${name}`,
    description: `Does what ${name} does. ${'It explains itself at some length, as tools do. '.repeat(6)}`.trim(),
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
