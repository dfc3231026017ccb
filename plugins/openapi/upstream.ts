import type {
  Answer,
  Call,
  JsonObject,
  ServerSide,
  Upstream,
  UpstreamContext,
  UpstreamHttp,
  UpstreamHttpReply,
  UpstreamRuntime,
  UpstreamState,
} from '../../src/plugin.ts'
import {
  gatewayError,
  tryParseJson,
  toOneLine,
  parseSize,
  sanitizeText,
  getErrorMessage,
  refuse,
  RPC,
  toolError,
  createUpstreamAnswer,
} from '../../src/plugin.ts'
import type { Api } from './api.ts'
import { apiOf } from './api.ts'
import { isJsonType } from './document/parts.ts'
import type { OpenApiSpec, Reading } from './source.ts'
import { openApiError, readSource, stampOf } from './source.ts'
import type { ToolRequest } from './request/request.ts'
import { BadArguments, argumentsIn, credentialsFor, requestOf } from './request/request.ts'
import type { Tool } from './tools/tool.ts'
import { structured } from './tools/tool.ts'

/** Most characters of a refusal that a model reads. */
const MAX_ERROR = 4000

const BINARY: Readonly<Record<string, string>> = { 'image/': 'image', 'audio/': 'audio' }

/** The answer of a call, from the reply to its request. */
function answerOf(tool: Tool, reply: UpstreamHttpReply, hide: (text: string) => string): Answer {
  return reply.status < 300 ? createUpstreamAnswer(resultOf(tool, reply)) : refusalOf(reply, hide)
}

/** A result that says what went wrong, where the model reads it. */
function failed(text: string): Answer {
  return createUpstreamAnswer(toolError(text))
}

function resultOf(tool: Tool, { body, status, contentType = '' }: UpstreamHttpReply): JsonObject {
  if (body.length === 0) return withStructure(tool, [text(`HTTP ${status}, without content`)], {})
  if (isJsonType(contentType) || contentType === '') {
    const value = tryParseJson(body.toString('utf8'))
    if (value !== undefined)
      return { content: [text(body.toString('utf8'))], structuredContent: structured(value) }
  }
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return withStructure(tool, [contentOf(tool, type, body)], {})
}

/** A tool that promised a structure gives one. */
function withStructure(tool: Tool, content: readonly JsonObject[], value: JsonObject): JsonObject {
  return tool.hasOutputSchema ? { content, structuredContent: value } : { content }
}

function contentOf(tool: Tool, type: string, body: Buffer): JsonObject {
  const binary = Object.entries(BINARY).find(([start]) => type.startsWith(start))?.[1]
  if (binary !== undefined && type !== 'image/svg+xml')
    return { type: binary, data: body.toString('base64'), mimeType: toOneLine(type).slice(0, 100) }
  const decoded = decodedText(type, body)
  if (decoded !== undefined) return text(decoded)
  const mimeType = type === '' ? 'application/octet-stream' : toOneLine(type).slice(0, 100)
  const resource = { uri: `openapi:${tool.name}`, mimeType, blob: body.toString('base64') }
  return { type: 'resource', resource }
}

/** The text of a body that is one; undefined for bytes. */
function decodedText(type: string, body: Buffer): string | undefined {
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return /^text\//.test(type) ? body.toString('latin1') : undefined
  }
}

function refusalOf(
  { status, body, retryAfterMs }: UpstreamHttpReply,
  hide: (text: string) => string,
): Answer {
  const said = sanitizeText(hide(body.toString('utf8'))).trim()
  const isCut = said.length > MAX_ERROR
  const parts = [
    status < 400 ? `HTTP ${status}: it redirects, and redirects are not followed` : `HTTP ${status}`,
    retryAfterMs === undefined ? '' : `It can be asked again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    isCut ? `${said.slice(0, MAX_ERROR)}…` : said,
  ]
  return failed(parts.filter(part => part !== '').join('\n'))
}

function text(words: string): JsonObject {
  return { type: 'text', text: words }
}

/** More tools than this are more than most models choose well from. */
const MANY_TOOLS = 100
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000
/** Reasons that a log line lists. */
const MAX_REASONS = 5

/** An API that has been read, with the way there. */
interface Open {
  readonly api: Api
  readonly http: UpstreamHttp
}

/** An HTTP API as one modern server inside this process. */
export class OpenApiUpstream implements Upstream {
  readonly name: string
  readonly spec: OpenApiSpec
  readonly pid = undefined
  state: UpstreamState = 'idle'
  problem: string | undefined
  server: ServerSide | undefined
  readonly #context: UpstreamContext
  readonly #reading: Reading
  readonly #headers: Readonly<Record<string, string>>
  #open: Open | undefined
  #opening: Promise<void> | undefined
  #stamp: string | undefined
  #failures = 0
  #takeBackRetry: (() => void) | undefined
  #inFlight = 0
  #lastErrorAt: number | undefined
  #startedAt: number | undefined

  constructor(spec: OpenApiSpec, context: UpstreamContext, reading: Reading) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#reading = reading
    this.#headers = Object.fromEntries(
      Object.entries(spec.headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
  }

  get degraded(): string | undefined {
    const [first, ...others] = this.#open?.api.leftOut ?? []
    if (first === undefined) return undefined
    const more = others.length === 0 ? '' : `, and ${others.length} more`
    return `operations of its document are left out: ${first}${more}`
  }

  get runtime(): UpstreamRuntime {
    const inFlight = this.#inFlight
    const instances = this.#startedAt === undefined ? [] : [{ startedAt: this.#startedAt, inFlight }]
    const failure =
      this.#lastErrorAt === undefined || this.problem === undefined
        ? {}
        : { lastError: this.problem, lastErrorAt: this.#lastErrorAt }
    return { instances, restarts: 0, inFlight, ...failure }
  }

  /** True once the file of the document is another one. */
  get isOutdated(): boolean {
    return this.#stamp !== undefined && this.#stamp !== stampOf(this.spec, this.#reading.directory)
  }

  start(): Promise<void> {
    if (this.state === 'stopped') this.state = 'idle'
    this.#opening ??= this.#begin().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async stop(): Promise<void> {
    this.#takeBackRetry?.()
    const open = this.#open
    this.#open = undefined
    this.#startedAt = undefined
    this.#become('stopped')
    await open?.http.close()
  }

  dispatch = async (call: Call): Promise<Answer> => {
    const { api, http } = await this.#ready()
    if (call.method === 'tools/list') return { result: api.list }
    if (call.method !== 'tools/call') return refuse(RPC.methodNotFound, `Method not found: ${call.method}`)
    const { name } = call.params ?? {}
    const tool = typeof name === 'string' ? api.tools.get(name) : undefined
    if (tool === undefined) return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
    return this.#call(call, tool, http, api)
  }

  async #call(call: Call, tool: Tool, http: UpstreamHttp, api: Api): Promise<Answer> {
    let request: ToolRequest
    try {
      const { schemes } = api.document
      const credentials = credentialsFor(tool.operation.security, { schemes, values: this.spec.security })
      const additions = { ...credentials, headers: this.#headers, parameters: this.spec.query }
      request = requestOf(tool, argumentsIn(call.params), additions)
    } catch (error) {
      if (error instanceof BadArguments) return failed(`Invalid arguments of ${tool.name}: ${error.message}`)
      throw error
    }
    this.#inFlight++
    try {
      const reply = await http.request({ ...request, call, maxBytes: parseSize(this.spec.maxReply) })
      return answerOf(tool, reply, text => this.#context.hide(text))
    } finally {
      this.#inFlight--
    }
  }

  /** The API, read if it is not yet. A document that could not be read is tried again after a pause. */
  async #ready(): Promise<Open> {
    if (this.state === 'stopped') throw this.#down('it was stopped')
    if (this.#open === undefined && this.#takeBackRetry === undefined) await this.start()
    if (this.#open === undefined) throw this.#down(this.problem ?? 'its document is not read yet')
    return this.#open
  }

  #down(why: string): Error {
    return gatewayError('GW_UPSTREAM_DOWN', { upstream: this.name, why })
  }

  async #begin(): Promise<void> {
    if (this.#open !== undefined) return
    this.#takeBackRetry?.()
    this.#takeBackRetry = undefined
    this.#become('starting')
    try {
      await this.#read()
    } catch (error) {
      this.#failed(error)
    }
  }

  async #read(): Promise<void> {
    const { spec, name } = this
    this.#stamp = stampOf(spec, this.#reading.directory)
    const api = await apiOf(spec, name, await readSource(spec, this.#reading))
    const { http: openHttp } = this.#context
    if (openHttp === undefined) throw new Error('nothing is reached over a network here')
    const { proxy, tls, http2 } = spec
    const http = await openHttp({ url: api.server.href, proxy, tls, http2 })
    // Somebody may have stopped it meanwhile.
    if (this.state !== 'starting') return http.close()
    this.#open = { api, http }
    this.#startedAt = Date.now()
    this.#failures = 0
    this.problem = undefined
    this.server = serverSide(api)
    this.#tell(api)
    this.#become('ready')
  }

  #tell({ tools, leftOut, server }: Api): void {
    const { log } = this.#context
    log.debug('read an OpenAPI document', { tools: tools.size, server: server.origin })
    if (leftOut.length > 0)
      log.warn('operations of an OpenAPI document are left out', {
        count: leftOut.length,
        first: leftOut.slice(0, MAX_REASONS),
      })
    if (tools.size > MANY_TOOLS)
      log.warn(`${tools.size} operations are tools now; "operations" chooses some of them`, {
        tools: tools.size,
      })
    if (tools.size === 0) log.warn('no operation of the OpenAPI document is a tool')
  }

  #failed(cause: unknown): void {
    if (this.state === 'stopped') return
    const why = readable(cause)
    const error = openApiError('GW_OPENAPI_DOCUMENT', { document: shown(this.spec.document), why, cause })
    this.problem = this.#context.hide(error.message)
    this.#lastErrorAt = Date.now()
    this.#become('failed')
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, MAX_PAUSE_MS)
    this.#takeBackRetry = this.#context.clock.after(pause, () => void this.start())
  }

  #become(state: UpstreamState): void {
    this.state = state
    this.#context.stateChanged(state, this.problem)
  }
}

/** Why a document could not be read, without its path once more. */
function readable(cause: unknown): string {
  const { code } = cause as { code?: unknown }
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this file may not be read'
  return getErrorMessage(cause).slice(0, 300)
}

/** Without what may be a secret: user, password and parameters. */
function shown(document: string): string {
  const url = URL.parse(document)
  return url === null || !/^https?:$/.test(url.protocol) ? document : `${url.origin}${url.pathname}`
}

function serverSide({ document, instructions }: Api): ServerSide {
  return {
    era: 'modern',
    version: '2026-07-28',
    info: { name: document.title, version: document.version },
    capabilities: { tools: {} },
    instructions,
  }
}
