import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Kind } from '../protocol/methods.ts'
import { LISTS } from '../protocol/methods.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'

type OfferResult = { readonly result: JsonObject } | { readonly error: RpcError }

/** Test upstream features. The maps may be changed while it runs. */
export class Offer {
  readonly options: TestUpstreamOptions
  readonly tools: Map<string, TestTool>
  readonly prompts: Map<string, TestPrompt>
  readonly resources: Map<string, TestResource>
  readonly methods: Map<string, TestTool>

  constructor(options: TestUpstreamOptions) {
    this.options = options
    this.tools = new Map(Object.entries(options.tools ?? {}))
    this.prompts = new Map(Object.entries(options.prompts ?? {}))
    this.resources = new Map(Object.entries(options.resources ?? {}))
    this.methods = new Map(Object.entries(options.methods ?? {}))
  }

  get info(): JsonObject {
    return { name: this.options.name ?? 'test-upstream', version: this.options.version ?? '1.0.0' }
  }

  get capabilities(): JsonObject {
    const { tools, prompts, resources, resourceTemplates, capabilities } = this.options
    return {
      ...(tools === undefined ? {} : { tools: { listChanged: true } }),
      ...(prompts === undefined ? {} : { prompts: { listChanged: true } }),
      ...(resources === undefined && resourceTemplates === undefined ? {} : { resources: { listChanged: true } }),
      ...capabilities,
    }
  }

  /** Answers one request in neutral form. */
  async answer(method: string, params: JsonObject, context: TestContext): Promise<OfferResult> {
    const own = this.methods.get(method)
    if (own !== undefined) return createOutcome(await runHandler(own, params, context), text => ({ text }))
    const kind = (Object.keys(LISTS) as Kind[]).find(candidate => LISTS[candidate].method === method)
    if (kind !== undefined) return this.#list(kind, params)
    if (method === 'tools/call')
      return callOffered(this.tools, params, context, 'tool', text => ({ content: [{ type: 'text', text }] }))
    if (method === 'prompts/get') return callOffered(this.prompts, params, context, 'prompt', createUserMessage)
    if (method === 'resources/read') return this.#read(params)
    if (method === 'ping') return { result: {} }
    return { error: rpcError(RPC.methodNotFound, `Method not found: ${method}`) }
  }

  #list(kind: Kind, { cursor }: JsonObject): OfferResult {
    const { pageSize = Infinity } = this.options
    const entries = this.#entries(kind)
    const start = cursor === undefined ? 0 : Number(cursor)
    if (!Number.isInteger(start)) return { error: rpcError(RPC.invalidParams, 'bad cursor') }
    const end = start + pageSize
    return {
      result: {
        [LISTS[kind].member]: entries.slice(start, end),
        ...(end < entries.length ? { nextCursor: String(end) } : {}),
      },
    }
  }

  #entries(kind: Kind): JsonObject[] {
    if (kind === 'tools')
      return [...this.tools].map(([name, tool]) => ({
        name,
        inputSchema: { type: 'object' },
        ...pickFields(tool),
      }))
    if (kind === 'prompts') return [...this.prompts].map(([name, prompt]) => ({ name, ...pickFields(prompt) }))
    if (kind === 'resources')
      return [...this.resources].map(([uri, resource]) => ({ uri, name: uri, ...pickFields(resource) }))
    return [...(this.options.resourceTemplates ?? [])]
  }

  #read({ uri }: JsonObject): OfferResult {
    const resource = this.resources.get(String(uri))
    if (resource === undefined) return { error: rpcError(RPC.legacyNoResource, `Resource not found: ${String(uri)}`) }
    const text = typeof resource === 'string' ? resource : (resource.text ?? '')
    return { result: { contents: [{ uri, mimeType: 'text/plain', text }] } }
  }
}

async function callOffered(
  offered: ReadonlyMap<string, TestTool>,
  params: JsonObject,
  context: TestContext,
  label: string,
  fromText: (text: string) => JsonObject,
): Promise<OfferResult> {
  const offer = offered.get(String(params.name))
  if (offer === undefined) return { error: rpcError(RPC.invalidParams, `Unknown ${label}: ${String(params.name)}`) }
  return createOutcome(await runHandler(offer, isObject(params.arguments) ? params.arguments : {}, context), fromText)
}

async function runHandler(tool: TestTool, args: JsonObject, context: TestContext): Promise<unknown> {
  return typeof tool === 'function' ? tool(args, context) : (tool.run?.(args, context) ?? 'ok')
}

function createOutcome(returned: unknown, fromText: (text: string) => JsonObject): OfferResult {
  if (!isObject(returned)) return { result: fromText(String(returned)) }
  const isError = typeof returned.code === 'number' && typeof returned.message === 'string'
  return isError ? { error: returned as unknown as RpcError } : { result: returned }
}

function createUserMessage(text: string): JsonObject {
  return { messages: [{ role: 'user', content: { type: 'text', text } }] }
}

function pickFields(entry: TestTool | TestResource): JsonObject {
  if (!isObject(entry)) return {}
  const { run: _run, text: _text, ...fields } = entry as JsonObject
  return fields
}

/** Context for a test upstream's tool. */
export interface TestContext {
  /** All parameters, `_meta` included. */
  readonly params: JsonObject
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Aborted when the caller cancels. */
  readonly signal: AbortSignal
  /** Sends a notification for this request before its answer. */
  notify(method: string, params: JsonObject): void
}

type TestHandler = (args: JsonObject, context: TestContext) => unknown

/**
 * Function from arguments to result, or a list entry with a `run`. A string becomes a text result, an `RpcError` an
 * error.
 */
export type TestTool = TestHandler | (JsonObject & { readonly run?: TestHandler })

/** Like a tool, but a string becomes one user message. */
export type TestPrompt = TestTool

/** Resource text, or a list entry with a `text`. */
export type TestResource = string | (JsonObject & { readonly text?: string })

/** Test upstream options; all are optional. */
export interface TestUpstreamOptions {
  /** Supported handshake. Default: `dual`, which is both. */
  readonly era?: 'modern' | 'legacy' | 'dual'
  readonly name?: string
  readonly version?: string
  readonly instructions?: string
  /** Additional capabilities to declare. */
  readonly capabilities?: JsonObject
  /** Tools by name: a function from arguments to result, or a list entry with a `run`. */
  readonly tools?: Readonly<Record<string, TestTool>>
  readonly prompts?: Readonly<Record<string, TestPrompt>>
  /** Resources by URI: their text, or a list entry with a `text`. */
  readonly resources?: Readonly<Record<string, TestResource>>
  /** Entries for resources/templates/list. */
  readonly resourceTemplates?: readonly JsonObject[]
  /** Handlers for other methods, or overrides: a function from parameters to result. */
  readonly methods?: Readonly<Record<string, TestTool>>
  /** Entries per list page. Default: unlimited. */
  readonly pageSize?: number
  /** Delay before all answers except the handshake. */
  readonly delayMs?: number
  /** Modern list freshness. Default: 0. */
  readonly ttlMs?: number
  /** Default: `private`. */
  readonly cacheScope?: 'public' | 'private'
  /** Port to listen on, reused by `restart`. Default: any free port. */
  readonly port?: number
}
