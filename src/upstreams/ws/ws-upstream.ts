import { definePlugin } from '../../plugin.ts'

/** Upstreams of type `ws`: servers reached over a WebSocket, of either era. */
export const callWs = definePlugin<undefined>({
  name: 'call-ws',
  claims: { always: true },
  async setup({ hooks, config }) {
    if (!Object.values(config.upstreams).some(spec => spec.type === 'ws')) return
    const [{ WsTransport }, { McpUpstream }, { upstreamOf }] = await Promise.all([
      import('./ws-transport.ts'),
      import('../mcp-upstream.ts'),
      import('../accounts.ts'),
    ])
    hooks.createUpstream.for('ws').tap((spec, context) => {
      if (spec.type !== 'ws') return undefined
      return upstreamOf(spec, context, own => {
        return new McpUpstream(spec, own, events => new WsTransport(spec, own, events))
      })
    })
  },
})
