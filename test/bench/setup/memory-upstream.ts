import {
  Payload,
  type Answer,
  type Call,
  type Plugin,
  type ServerSide,
  type Upstream,
  type UpstreamConfig,
} from '../../../src/plugin.ts'
import { Answers } from '../peers/answers.ts'

/** An upstream that answers from memory at once: what is left is the road. */
class MemoryUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly state = 'ready'
  readonly problem = undefined
  readonly pid = undefined
  readonly server: ServerSide
  readonly #answers = new Map<string, Promise<Answer>>()

  constructor(name: string, spec: UpstreamConfig, tools: number) {
    this.name = name
    this.spec = spec
    this.server = {
      era: 'legacy',
      version: '2025-11-25',
      info: { name, version: '1' },
      capabilities: { tools: {} },
      instructions: undefined,
    }
    const answers = new Answers(tools, '')
    for (const method of ['tools/list', 'tools/call']) {
      const text = answers.answer(JSON.stringify({ id: 1, method, params: { name: 'small' } })) ?? ''
      const result = JSON.stringify((JSON.parse(text) as { result: object }).result)
      this.#answers.set(method, Promise.resolve({ result: Payload.raw(Buffer.from(result), 'legacy') }))
    }
  }

  dispatch({ method }: Call): Promise<Answer> {
    return this.#answers.get(method) ?? Promise.resolve({ error: { code: -32601, message: method } })
  }

  async start(): Promise<void> {
    // This upstream is always there.
  }

  async stop(): Promise<void> {
    // There is nothing to end.
  }
}

/** Makes every `http` upstream one that answers from memory. */
export function inMemory(tools: number): Plugin<never> {
  return {
    name: 'in-memory',
    setup({ hooks }) {
      hooks.createUpstream
        .for('http')
        .tap({ stage: 'trace' }, (spec, { name }) => new MemoryUpstream(name, spec, tools))
    },
  }
}
