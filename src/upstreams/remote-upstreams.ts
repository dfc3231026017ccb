import type { UpstreamConfig, UpstreamContext } from '../api/index.ts'
import type { Plugin } from '../plugin.ts'
import { MemoryBudget } from '../net/backlog.ts'
import type { OpenTransport } from './connection-pool.ts'

type ConfigOf<Type> = Extract<UpstreamConfig, { readonly type: Type }>

/** Loads the client lazily, as it is slow to load; the result opens transports for an upstream. */
type LoadTransport<Type> = () => Promise<(spec: ConfigOf<Type>, context: UpstreamContext) => OpenTransport>

function defineUpstreams<Type extends 'ws' | 'sse' | 'http'>(type: Type, load: LoadTransport<Type>): Plugin<undefined> {
  return {
    name: `call-${type}`,
    claims: { always: true },
    async setup({ hooks, config }) {
      const isOfType = (spec: UpstreamConfig): spec is ConfigOf<Type> => spec.type === type
      if (!Object.values(config.upstreams).some(isOfType)) return
      const [createOpener, { McpUpstream }] = await Promise.all([load(), import('./mcp-upstream.ts')])
      hooks.createUpstream
        .for(type)
        .tap((spec, context) =>
          isOfType(spec) ? new McpUpstream(spec, context, createOpener(spec, context)) : undefined,
        )
    },
  }
}

/** Upstreams with type `ws`: WebSocket servers in either era. */
export const callWs = defineUpstreams('ws', async () => {
  const { WsTransport } = await import('./ws/ws-transport.ts')
  return spec => (events, own) => new WsTransport(spec, own, events)
})

/** Upstreams with type `sse`: HTTP+SSE servers (2024-11-05). */
export const callSse = defineUpstreams('sse', async () => {
  const { SseTransport } = await import('./http/sse-transport.ts')
  return spec => (events, own) => new SseTransport(spec, own, events)
})

/** Limit for one upstream's buffered reply bytes; above it, no call is sent. */
const MAX_HELD = 64 * 1024 * 1024

/** Upstreams with type `http`: Streamable HTTP servers in either era, with a fallback to HTTP+SSE. */
export const callHttp = defineUpstreams('http', async () => {
  const { openHttpOrSse } = await import('./http/http-or-sse-transport.ts')
  return spec => {
    const memory = new MemoryBudget(MAX_HELD)
    return (events, own) => openHttpOrSse(spec, own, events, memory)
  }
})
