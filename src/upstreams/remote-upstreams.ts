import type { Plugin } from '../plugin.ts'
import { MemoryBudget } from '../net/backlog.ts'

/** Upstreams with type `ws`: WebSocket servers in either era. */
export const callWs: Plugin<undefined> = {
  name: 'call-ws',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'ws')) return
    const [{ WsTransport }, { McpUpstream }] = await Promise.all([
      import('./ws/ws-transport.ts'),
      import('./mcp-upstream.ts'),
    ])
    hooks.createUpstream.for('ws').tap((spec, context) => {
      if (spec.type !== 'ws') return undefined
      return new McpUpstream(spec, context, (events, own) => new WsTransport(spec, own, events))
    })
  },
}

/** Limit for one upstream's buffered reply bytes; above it, no call is sent. */
const MAX_HELD = 64 * 1024 * 1024

/** Upstreams with type `sse`: HTTP+SSE servers (2024-11-05). */
export const callSse: Plugin<undefined> = {
  name: 'call-sse',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'sse')) return
    const [{ SseTransport }, { McpUpstream }] = await Promise.all([
      import('./http/sse-transport.ts'),
      import('./mcp-upstream.ts'),
    ])
    hooks.createUpstream.for('sse').tap((spec, context) => {
      if (spec.type !== 'sse') return undefined
      return new McpUpstream(spec, context, (events, own) => new SseTransport(spec, own, events))
    })
  },
}

/** Upstreams with type `http`: Streamable HTTP servers in either era, with a fallback to HTTP+SSE. */
export const callHttp: Plugin<undefined> = {
  name: 'call-http',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'http')) return
    // Load the HTTP client lazily, because it is slow to load.
    const [{ openHttpOrSse }, { McpUpstream }] = await Promise.all([
      import('./http/http-or-sse-transport.ts'),
      import('./mcp-upstream.ts'),
    ])
    hooks.createUpstream.for('http').tap((spec, context) => {
      if (spec.type !== 'http') return undefined
      const memory = new MemoryBudget(MAX_HELD)
      return new McpUpstream(spec, context, (events, own) => openHttpOrSse(spec, own, events, memory))
    })
  },
}
