import { definePlugin } from '../../plugin.ts'

/** Upstreams of type `sse`: servers reached over HTTP+SSE (2024-11-05). */
export const callSse = definePlugin<undefined>({
  name: 'call-sse',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'sse')) return
    const [{ SseWire }, { McpUpstream }] = await Promise.all([
      import('./sse-transport.ts'),
      import('../mcp-upstream.ts'),
    ])
    hooks.createUpstream.for('sse').tap((spec, context) => {
      if (spec.type !== 'sse') return undefined
      return new McpUpstream(spec, context, events => new SseWire(spec, context, events))
    })
  },
})
