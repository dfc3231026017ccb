import {
  Payload,
  type Answer,
  type Call,
  type JsonObject,
  type Plugin,
  type ServerDescription,
  type Upstream,
  type UpstreamConfig,
} from '../../../src/plugin.ts'

/** Owner of a result: everything on which it may depend. */
export function ownerOf({ exchange }: Call): string {
  const { principal, id } = exchange.session
  return JSON.stringify([principal.subject, [...principal.scopes].sort(), id])
}

/** A server that says in every result for whom it was made, and by which configuration. */
class TellingUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly state = 'ready'
  readonly problem = undefined
  readonly pid = undefined
  readonly server: ServerDescription
  calls = 0
  readonly #generation: string
  readonly #isPublic: boolean

  constructor(name: string, spec: UpstreamConfig & { type: 'http' }) {
    this.name = name
    this.spec = spec
    const { searchParams } = new URL(spec.url)
    this.#generation = searchParams.get('generation') ?? ''
    this.#isPublic = searchParams.has('public')
    const capabilities = { tools: {}, resources: {}, prompts: {} }
    const info = { name, version: '1' }
    this.server = { era: 'modern', version: '2026-07-28', info, capabilities, instructions: undefined }
  }

  async dispatch(call: Call): Promise<Answer> {
    this.calls++
    // So that calls overlap.
    await new Promise(resolve => setImmediate(resolve))
    const owner = this.#isPublic && call.method !== 'tools/call' ? 'public' : ownerOf(call)
    const told = {
      owner,
      generation: this.#generation,
      apart: this.spec.isolation === 'session',
      asked: call.params?.arguments ?? '',
    }
    const freshness = { ttlMs: 60_000, cacheScope: this.#isPublic ? 'public' : 'private' }
    return {
      result: Payload.of({ ...resultOf(call.method, told), resultType: 'complete', ...freshness }, 'modern'),
    }
  }

  async start(): Promise<void> {
    // This upstream is always there.
  }

  async stop(): Promise<void> {
    // There is nothing to end.
  }
}

function resultOf(method: string, told: JsonObject): JsonObject {
  if (method !== 'tools/list') return { content: [], ...told }
  const names = ['get', 'get_secret', 'write']
  return {
    tools: names.map(name => ({ name, description: JSON.stringify(told), inputSchema: { type: 'object' } })),
  }
}

/** Makes every `http` upstream one that tells; `made` are those of all generations. */
export function telling(made: { calls: number }[]): Plugin<never> {
  return {
    name: 'telling',
    setup({ hooks }) {
      hooks.createUpstream.for('http').tap({ stage: 'trace' }, (spec, { name }) => {
        const upstream = new TellingUpstream(name, spec as UpstreamConfig & { type: 'http' })
        made.push(upstream)
        return upstream
      })
    },
  }
}
