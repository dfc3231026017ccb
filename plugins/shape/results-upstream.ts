import {
  type Answer,
  type Call,
  isObject,
  type JsonObject,
  Payload,
  refuse,
  RPC,
  type ServerSide,
  type Upstream,
  type UpstreamConfig,
  type UpstreamContext,
  type UpstreamState,
} from '../../src/plugin.ts'
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
  readonly isForAll = true
  readonly server: ServerSide
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
      this.#context.stateChanged(state)
    }
    return Promise.resolve()
  }
}
