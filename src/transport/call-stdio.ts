import { definePlugin } from '../plugin.ts'
import { StdioWire } from './call-stdio-wire.ts'
import { McpUpstream } from './mcp-upstream.ts'
import { ProcessTable } from './process-table.ts'

/** Upstreams of type `stdio`: servers that run as processes of ours. */
export const callStdio = definePlugin<undefined>({
  name: 'call-stdio',
  claims: { always: true },
  setup({ hooks }) {
    const table = new ProcessTable()
    const killAll = (): void => table.killAll()
    process.on('exit', killAll)
    hooks.createUpstream.for('stdio').tap((spec, context) => {
      if (spec.type !== 'stdio') return undefined
      return new McpUpstream(spec, context, (events, cwd) => new StdioWire(spec, context, table, events, cwd))
    })
    // Upstreams stop after the close hooks, so the last resort stays until their processes are gone.
    hooks.close.tap(() => table.whenEmpty(() => process.off('exit', killAll)))
  },
})
