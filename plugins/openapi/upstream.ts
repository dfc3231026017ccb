import type {
  Answer,
  Call,
  JsonObject,
  ServerDescription,
  Upstream,
  UpstreamContext,
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
import { createApi } from './api.ts'
import { isJsonType } from './document/operation-parts.ts'
import type { OpenApiSpec, SourceDeps } from './load-document.ts'
import { openApiError, readSource, readFileStamp } from './load-document.ts'
import type { ToolRequest } from './request/request.ts'
import { InvalidArguments, parseArguments, selectCredentials, buildRequest } from './request/request.ts'
import type { OpenApiTool } from './tools/tool.ts'
import { toStructuredContent } from './tools/tool.ts'

type UpstreamHttp = Awaited<ReturnType<NonNullable<UpstreamContext['http']>>>
type UpstreamHttpReply = Awaited<ReturnType<UpstreamHttp['request']>>

/** Maximum error length for a model, in characters. */
const MAX_ERROR = 4000

function toAnswer(tool: OpenApiTool, reply: UpstreamHttpReply, hide: (text: string) => string): Answer {
  return reply.status < 300 ? createUpstreamAnswer(createResult(tool, reply)) : convertFailure(reply, hide)
}

function createResult(tool: OpenApiTool, { body, status, contentType = '' }: UpstreamHttpReply): JsonObject {
  if (body.length === 0) return createStructuredResult(tool, [createTextContent(`HTTP ${status}, without content`)], {})
  if (isJsonType(contentType) || contentType === '') {
    const text = body.toString('utf8')
    const value = tryParseJson(text)
    if (value !== undefined)
      return { content: [createTextContent(text)], structuredContent: toStructuredContent(value) }
  }
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return createStructuredResult(tool, [createContent(tool, type, body)], {})
}

/** A tool with an output schema must return structured content. */
function createStructuredResult(tool: OpenApiTool, content: readonly JsonObject[], value: JsonObject): JsonObject {
  return tool.hasOutputSchema ? { content, structuredContent: value } : { content }
}

function createContent(tool: OpenApiTool, type: string, body: Buffer): JsonObject {
  const mimeType = type === '' ? 'application/octet-stream' : toOneLine(type).slice(0, 100)
  const [, media] = /^(image|audio)\//.exec(type) ?? []
  if (media !== undefined && type !== 'image/svg+xml') return { type: media, data: body.toString('base64'), mimeType }
  const decoded = decodeText(type, body)
  if (decoded !== undefined) return createTextContent(decoded)
  const resource = { uri: `openapi:${tool.name}`, mimeType, blob: body.toString('base64') }
  return { type: 'resource', resource }
}

/** Decodes a text body; undefined for binary data. */
function decodeText(type: string, body: Buffer): string | undefined {
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return /^text\//.test(type) ? body.toString('latin1') : undefined
  }
}

function convertFailure({ status, body, retryAfterMs }: UpstreamHttpReply, hide: (text: string) => string): Answer {
  const text = sanitizeText(hide(body.toString('utf8'))).trim()
  const isCut = text.length > MAX_ERROR
  const parts = [
    status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`,
    retryAfterMs === undefined ? '' : `Retry in ${Math.ceil(retryAfterMs / 1000)} s.`,
    isCut ? `${text.slice(0, MAX_ERROR)}…` : text,
  ]
  return createUpstreamAnswer(toolError(parts.filter(part => part !== '').join('\n')))
}

function createTextContent(text: string): JsonObject {
  return { type: 'text', text }
}

/** Most models choose poorly among more tools. */
const MANY_TOOLS = 100
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000

/** A loaded API with its HTTP client. */
interface OpenedApi {
  readonly api: Api
  readonly http: UpstreamHttp
}

/** An HTTP API as a modern MCP server in this process. */
export class OpenApiUpstream implements Upstream {
  readonly name: string
  readonly spec: OpenApiSpec
  readonly pid = undefined
  state: UpstreamState = 'idle'
  problem: string | undefined
  server: ServerDescription | undefined
  readonly #context: UpstreamContext
  readonly #sourceDeps: SourceDeps
  readonly #headers: Readonly<Record<string, string>>
  #open: OpenedApi | undefined
  #opening: Promise<void> | undefined
  #stamp: string | undefined
  #failures = 0
  #cancelRetry: (() => void) | undefined
  #inFlight = 0
  #lastErrorAt: number | undefined
  #startedAt: number | undefined

  constructor(spec: OpenApiSpec, context: UpstreamContext, reading: SourceDeps) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#sourceDeps = reading
    this.#headers = Object.fromEntries(Object.entries(spec.headers).map(([name, value]) => [name.toLowerCase(), value]))
  }

  get degraded(): string | undefined {
    const [first, ...remaining] = this.#open?.api.skipped ?? []
    if (first === undefined) return undefined
    const more = remaining.length === 0 ? '' : `, and ${remaining.length} more`
    return `skipped operations: ${first}${more}`
  }

  get runtime(): NonNullable<Upstream['runtime']> {
    const inFlight = this.#inFlight
    const instances = this.#startedAt === undefined ? [] : [{ startedAt: this.#startedAt, inFlight }]
    const failure =
      this.#lastErrorAt === undefined || this.problem === undefined
        ? {}
        : { lastError: this.problem, lastErrorAt: this.#lastErrorAt }
    return { instances, restarts: 0, inFlight, ...failure }
  }

  /** True if the document's file has changed. */
  get isOutdated(): boolean {
    return this.#stamp !== undefined && this.#stamp !== readFileStamp(this.spec, this.#sourceDeps.directory)
  }

  start(): Promise<void> {
    if (this.state === 'stopped') this.state = 'idle'
    this.#opening ??= this.#startOnce().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async stop(): Promise<void> {
    this.#cancelRetry?.()
    const open = this.#open
    this.#open = undefined
    this.#startedAt = undefined
    this.#setState('stopped')
    await open?.http.close()
  }

  dispatch = async (call: Call): Promise<Answer> => {
    const { api, http } = await this.#ensureOpen()
    if (call.method === 'tools/list') return { result: api.list }
    if (call.method !== 'tools/call') return refuse(RPC.methodNotFound, `Method not found: ${call.method}`)
    const { name } = call.params ?? {}
    const tool = typeof name === 'string' ? api.tools.get(name) : undefined
    if (tool === undefined) return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
    return this.#callOperation(call, tool, http, api)
  }

  async #callOperation(call: Call, tool: OpenApiTool, http: UpstreamHttp, api: Api): Promise<Answer> {
    let request: ToolRequest
    try {
      const credentials = selectCredentials(tool.operation.security, api.document.schemes, this.spec.security)
      const additions = { ...credentials, headers: this.#headers, parameters: this.spec.query }
      request = buildRequest(tool, parseArguments(call.params), additions)
    } catch (error) {
      if (error instanceof InvalidArguments)
        return createUpstreamAnswer(toolError(`Invalid arguments for ${tool.name}: ${error.message}`))
      throw error
    }
    this.#inFlight++
    try {
      const reply = await http.request({ ...request, call, maxBytes: parseSize(this.spec.maxReply) })
      return toAnswer(tool, reply, text => this.#context.hide(text))
    } finally {
      this.#inFlight--
    }
  }

  /** Returns the API, loading it if necessary. A failed load is retried after a pause. */
  async #ensureOpen(): Promise<OpenedApi> {
    if (this.state === 'stopped') throw this.#createDownError('stopped')
    if (this.#open === undefined && this.#cancelRetry === undefined) await this.start()
    if (this.#open === undefined) throw this.#createDownError(this.problem ?? 'the document is not loaded yet')
    return this.#open
  }

  #createDownError(why: string): Error {
    return gatewayError('GW_UPSTREAM_DOWN', { upstream: this.name, why })
  }

  async #startOnce(): Promise<void> {
    if (this.#open !== undefined) return
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.#setState('starting')
    try {
      await this.#loadDocument()
    } catch (error) {
      this.#handleFailure(error)
    }
  }

  async #loadDocument(): Promise<void> {
    const { spec, name } = this
    this.#stamp = readFileStamp(spec, this.#sourceDeps.directory)
    const api = await createApi(spec, name, await readSource(spec, this.#sourceDeps))
    const { http: openHttp } = this.#context
    if (openHttp === undefined) throw new Error('network access is not available')
    const { proxy, tls, http2 } = spec
    const http = await openHttp({ url: api.server.href, proxy, tls, http2 })
    // It may have been stopped while loading.
    if (this.state !== 'starting') return http.close()
    this.#open = { api, http }
    this.#startedAt = Date.now()
    this.#failures = 0
    this.problem = undefined
    this.server = createServerSide(api)
    this.#logApi(api)
    this.#setState('ready')
  }

  #logApi({ tools, skipped, server }: Api): void {
    const { log } = this.#context
    log.debug('loaded OpenAPI document', { tools: tools.size, server: server.origin })
    if (skipped.length > 0)
      log.warn('skipped operations of an OpenAPI document', { count: skipped.length, first: skipped.slice(0, 5) })
    if (tools.size > MANY_TOOLS)
      log.warn(`${tools.size} operations became tools; select some with "operations"`, { tools: tools.size })
    if (tools.size === 0) log.warn('no operation of the OpenAPI document became a tool')
  }

  #handleFailure(cause: unknown): void {
    if (this.state === 'stopped') return
    const document = hideCredentials(this.spec.document)
    const error = openApiError('GW_OPENAPI_DOCUMENT', { document, why: formatReason(cause), cause })
    this.problem = this.#context.hide(error.message)
    this.#lastErrorAt = Date.now()
    this.#setState('failed')
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, MAX_PAUSE_MS)
    this.#cancelRetry = this.#context.clock.after(pause, () => void this.start())
  }

  #setState(state: UpstreamState): void {
    this.state = state
    this.#context.reportState(state, this.problem)
  }
}

/** Formats the reason without repeating the path. */
function formatReason(cause: unknown): string {
  const { code } = cause as { code?: unknown }
  if (code === 'ENOENT') return 'file not found'
  if (code === 'EACCES') return 'permission denied'
  return getErrorMessage(cause).slice(0, 300)
}

/** Removes user, password and parameters, which may be secret. */
function hideCredentials(document: string): string {
  const url = URL.parse(document)
  return url === null || !/^https?:$/.test(url.protocol) ? document : `${url.origin}${url.pathname}`
}

function createServerSide({ document, instructions }: Api): ServerDescription {
  return {
    era: 'modern',
    version: '2026-07-28',
    info: { name: document.title, version: document.version },
    capabilities: { tools: {} },
    instructions,
  }
}
