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
import { uriOf } from './shape-result.ts'

/** A tool of the upstream: its description, and what it does. */
export interface OwnTool {
  readonly definition: JsonObject
  run(call: Call, given: JsonObject): Answer | Promise<Answer>
}

interface Parts {
  readonly tools: ReadonlyMap<string, OwnTool>
  readResource(call: Call): Answer
}

/** `resources/templates/list`. */
const TEMPLATES = Payload.of(
  {
    resultType: 'complete',
    resourceTemplates: [
      {
        uriTemplate: uriOf('{handle}'),
        name: 'result',
        description: 'A whole result that was too long for a model.',
        mimeType: 'application/json',
      },
    ],
    ttlMs: 300_000,
    cacheScope: 'public',
  },
  'modern',
)

/** Kept results as one modern server inside this process: each caller sees and reads its own. */
export class ResultsUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly pid = undefined
  readonly problem = undefined
  readonly isInAllProfiles = true
  readonly server: ServerDescription
  state: UpstreamState = 'idle'
  readonly #context: UpstreamContext
  readonly #parts: Parts
  readonly #list: Payload

  constructor(spec: UpstreamConfig, context: UpstreamContext, parts: Parts) {
    this.name = context.name
    this.spec = spec
    this.#context = context
    this.#parts = parts
    const tools = [...parts.tools.values()].map(({ definition }) => definition)
    this.#list = Payload.of({ resultType: 'complete', tools, ttlMs: 300_000, cacheScope: 'public' }, 'modern')
    this.server = {
      era: 'modern',
      version: '2026-07-28',
      info: { ...context.gateway, name: `${context.gateway.name}-results`, title: 'Results' },
      capabilities: { tools: {}, resources: {} },
      instructions: undefined,
    }
  }

  dispatch = async (call: Call): Promise<Answer> => {
    switch (call.method) {
      case 'tools/list':
        return { result: this.#list }
      case 'tools/call':
        return this.#tool(call)
      case 'resources/list':
        return {
          result: Payload.of(
            { resultType: 'complete', resources: [], ttlMs: 300_000, cacheScope: 'public' },
            'modern',
          ),
        }
      case 'resources/templates/list':
        return { result: TEMPLATES }
      case 'resources/read':
        return this.#parts.readResource(call)
      default:
        return refuse(RPC.methodNotFound, `Method not found: ${call.method}`)
    }
  }

  #tool(call: Call): Answer | Promise<Answer> {
    const { name, arguments: given } = call.params ?? {}
    const tool = this.#parts.tools.get(String(name))
    if (tool === undefined) return refuse(RPC.invalidParams, `Unknown tool: ${String(name)}`)
    return tool.run(call, isObject(given) ? given : {})
  }

  start(): Promise<void> {
    return this.#become('ready')
  }

  stop(): Promise<void> {
    return this.#become('stopped')
  }

  #become(state: UpstreamState): Promise<void> {
    if (this.state !== state && this.state !== 'stopped') {
      this.state = state
      this.#context.reportState(state)
    }
    return Promise.resolve()
  }
}

/** Tool that gives what was left out of results. */
export const READ_RESULT = {
  name: 'read_result',
  title: 'Read a result that was cut',
  description:
    'Reads on in a tool result that was too long: page by page from an offset, or what a JMESPath expression picks of it. An answer that was cut has the handle.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'The handle, as the answer that was cut says it.' },
      pick: { type: 'string', description: 'JMESPath expression, such as items[?price > `10`].name' },
      offset: { type: 'integer', minimum: 0, description: 'Character at which to begin; 0 by default.' },
    },
    required: ['handle'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
} as const

/** Tool that gives the answer of a call which took longer than its client waits. */
export const RESULT = {
  name: 'result',
  title: 'Result of a call that goes on',
  description:
    'Waits for a call that takes long and goes on by itself, and gives its answer. The answer that said so has the handle. With cancel it is ended.',
  inputSchema: {
    type: 'object',
    properties: {
      handle: { type: 'string', description: 'The handle, as the answer of the call says it.' },
      wait_ms: {
        type: 'integer',
        minimum: 0,
        description:
          'Longest wait in milliseconds; 0 only looks. By default as long as you wait for any call.',
      },
      cancel: { type: 'boolean', description: 'True to end the call.' },
    },
    required: ['handle'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const
