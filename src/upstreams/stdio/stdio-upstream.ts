import { definePlugin } from '../../plugin.ts'
import { StdioWire } from './stdio-transport.ts'
import { McpUpstream } from '../mcp-upstream.ts'
import { notKept } from '../../processes/resource-limits.ts'
import { ProcessTable } from '../../processes/cleanup/process-table.ts'
import { RecentLines } from '../../processes/recent-lines.ts'

/** Until then those who start a gateway have asked for its lists. */
const ORPHANS_MS = 50

/** Upstreams of type `stdio`: servers that run as processes of ours. */
export const callStdio = definePlugin<undefined>({
  name: 'call-stdio',
  claims: { always: true },
  setup({ hooks, log, clock, slot }) {
    // Servers that a reload keeps are in it still when their generation has gone.
    const table = slot.gateway(() => new ProcessTable(log, clock))
    table.owners++
    const directories = new Set<string>()
    hooks.createUpstream.for('stdio').tap((spec, context) => {
      if (spec.type !== 'stdio') return undefined
      directories.add(context.directory)
      const why = notKept(spec.ceilings, process.platform)
      if (why !== undefined) context.log.warn('not all ceilings hold on this machine', { why })
      const logs = new RecentLines()
      const around = { context, table, recent: logs }
      const upstream = new McpUpstream(
        spec,
        context,
        (events, cwd) => new StdioWire(spec, around, events, cwd),
      )
      return Object.assign(upstream, { logs })
    })
    hooks.ready.tap(() => {
      // Nobody waits for this: what is left of a dead gateway is in nobody's way, and a client may be.
      if (directories.size > 0) clock.after(ORPHANS_MS, () => void table.endOrphans(directories))
    })
    // Upstreams stop after the close hooks.
    hooks.close.tap(() => {
      if (--table.owners === 0) table.retire()
    })
  },
})
