import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type JsonObject } from '../../../../src/protocol/json/json.ts'
import { type Plugin } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { collector, type Collector, type Span } from './collector.ts'

export const TRACE = '0af7651916cd43dd8448eb211c80319c'
export const PARENT = `00-${TRACE}-b7ad6b7169203331-01`

export interface Bench {
  readonly web: TestUpstream
  readonly to: Collector
  readonly url: string
  call(name: string, meta?: JsonObject, headers?: Record<string, string>, args?: JsonObject): Promise<unknown>
  stop(): Promise<void>
}

interface BenchOptions {
  readonly tracing?: JsonObject
  readonly config?: JsonObject
  readonly environment?: Record<string, string>
  readonly plugins?: Plugin<never>[]
  readonly web?: TestUpstream
}

export async function bench(t: TestContext, options: BenchOptions = {}): Promise<Bench> {
  const { tracing = {}, config = {}, environment = {}, plugins = [] } = options
  const to = await collector(t)
  const web =
    options.web ??
    closeAfter(
      t,
      await testUpstream({
        tools: {
          search: args => `found ${JSON.stringify(args)}`,
          fails: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
        },
        resources: { 'file:///a': 'a' },
      }),
    )
  const section = { endpoint: to.url, every: 20, ...tracing }
  const running = await testGateway({
    upstreams: { web },
    environment,
    plugins,
    config: {
      tracing: 'endpoint' in tracing && tracing.endpoint === '' ? without(section) : section,
      ...config,
    },
  })
  cleanup(t, () => running.gateway.close())
  const client = closeAfter(t, await testClient(running))
  const call = (
    name: string,
    meta: JsonObject = {},
    headers: Record<string, string> = {},
    args: JsonObject = {},
  ): Promise<unknown> => client.request('tools/call', { name, arguments: args, _meta: meta }, { headers })
  return { web, to, url: running.url, call, stop: () => running.gateway.close() }
}

function without({ endpoint: _, ...rest }: JsonObject): JsonObject {
  return rest
}

export async function callSpans(to: Collector): Promise<{ server: Span; client: Span; all: Span[] }> {
  const all = await new Promise<Span[]>(resolve => {
    const look = async (): Promise<void> => {
      for (let count = 1; ; count++) {
        const spans = await to.got(count)
        const calls = spans.filter(span => span.name.startsWith('tools/call'))
        if (calls.some(({ kind }) => kind === 2)) return resolve(calls)
      }
    }
    void look()
  })
  const server = all.find(({ kind }) => kind === 2)
  const client = all.find(({ kind }) => kind === 3)
  assert.ok(server !== undefined && client !== undefined)
  return { server, client, all }
}
