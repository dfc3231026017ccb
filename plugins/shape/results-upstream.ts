import type {
  Answer,
  Call,
  JsonObject,
  ServerDescription,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
} from '../../src/plugin.ts'
import { isObject, Payload, refuse, RPC } from '../../src/plugin.ts'

/** Tool of this upstream: definition and handler. */
export interface BuiltInTool {
  readonly definition: JsonObject
  call(call: Call, args: JsonObject): Answer | Promise<Answer>
}

/** In-process modern server for stored results; a caller can read only its own. */
export class ResultsUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly pid = undefined
  readonly problem = undefined
  readonly isInAllProfiles = true
  readonly server: ServerDescription
  state: UpstreamState = 'idle'
  readonly #context: UpstreamContext
  readonly #tools: ReadonlyMap<string, BuiltInTool>
  readonly #list: Payload

  constructor(spec: UpstreamConfig, context: UpstreamContext, byName: ReadonlyMap<string, BuiltInTool>) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#tools = byName
    const tools = [...byName.values()].map(({ definition }) => definition)
    this.#list = Payload.of({ resultType: 'complete', tools, ttlMs: 300_000, cacheScope: 'public' }, 'modern')
    this.server = {
      era: 'modern',
      version: '2026-07-28',
      info: { ...context.gateway, name: `${context.gateway.name}-results`, title: 'Results' },
      capabilities: { tools: {} },
      instructions: undefined,
    }
  }

  dispatch = async (call: Call): Promise<Answer> => {
    if (call.method === 'tools/list') return { result: this.#list }
    if (call.method !== 'tools/call') return refuse(RPC.methodNotFound, `Method not found: ${call.method}`)
    const { name, arguments: args } = call.params ?? {}
    const tool = this.#tools.get(String(name))
    if (tool === undefined) return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
    return tool.call(call, isObject(args) ? args : {})
  }

  start(): Promise<void> {
    return this.#setState('ready')
  }

  stop(): Promise<void> {
    return this.#setState('stopped')
  }

  #setState(state: UpstreamState): Promise<void> {
    if (this.state !== state && this.state !== 'stopped') {
      this.state = state
      this.#context.reportState(state)
    }
    return Promise.resolve()
  }
}

/** Tool that reads a result's omitted part. */
export const READ_RESULT = {
  name: 'read_result',
  title: 'Read a truncated result',
  description:
    'Reads more of a truncated tool result: a page from an offset, or the matches of a JMESPath expression. The truncated answer contains the handle.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'Handle from the truncated answer.' },
      pick: { type: 'string', description: 'JMESPath expression, such as items[?price > `10`].name' },
      offset: { type: 'integer', minimum: 0, description: 'Character offset to start at; default 0.' },
    },
    required: ['handle'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
} as const

/** Tool that returns a slow call's answer. */
export const RESULT = {
  name: 'result',
  title: 'Result of a slow call',
  description:
    'Waits for a slow call that continues in the background, and returns its answer. The first answer of the call contains the handle. Set cancel to stop the call.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'Handle from the first answer of the call.' },
      wait_ms: {
        type: 'integer',
        minimum: 0,
        description: 'Maximum wait in milliseconds; 0 returns immediately. Default: the usual client timeout.',
      },
      cancel: { type: 'boolean', description: 'True to cancel the call.' },
    },
    required: ['handle'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const
