import { definePlugin } from '../../plugin.ts'

/** Upstreams of type `sse`: servers reached over HTTP+SSE (2024-11-05). */
export const callSse = definePlugin<undefined>({
  name: 'call-sse',
  scope: 'shared',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'sse')) return
    const [{ SseTransport }, { McpUpstream }] = await Promise.all([
      import('./sse-transport.ts'),
      import('../mcp-upstream.ts'),
    ])
    hooks.createUpstream.for('sse').tap((spec, context) => {
      if (spec.type !== 'sse') return undefined
      return new McpUpstream(spec, context, events => new SseTransport(spec, context, events))
    })
  },
})

/** Upstreams of type `http`: servers reached by Streamable HTTP, of either era, or by what was before it. */
export const callHttp = definePlugin<undefined>({
  name: 'call-http',
  scope: 'shared',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'http')) return
    // An HTTP client takes a while to load, so only those who use it wait.
    const [{ openHttpOrSse }, { McpUpstream }] = await Promise.all([
      import('./http-or-sse-transport.ts'),
      import('../mcp-upstream.ts'),
    ])
    hooks.createUpstream.for('http').tap((spec, context) => {
      if (spec.type !== 'http') return undefined
      return new McpUpstream(spec, context, events => openHttpOrSse(spec, context, events))
    })
  },
})
