import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { formatBytes, formatDuration, gatewayError, isObject, toOneLine } from '../../src/plugin.ts'

const HEAD = ['upstream', 'method', 'state', 'age', 'size', 'hits', 'name']

export const commands: PluginCommands = {
  'cache ls': {
    summary: 'List the cache entries of a running gateway.',
    examples: ['gateway cache ls', 'gateway cache ls --upstream files --json'],
    gateway: 'running',
    flags: { upstream: { value: '<name>', summary: 'Only entries of this upstream.' } },
    async run(call) {
      const { upstream } = call.flags
      const params = upstream === undefined ? {} : { upstream }
      const listed = await call.withGateway('running', ask => ask('cache.ls', params))
      call.print(listed, () => formatEntries(listed, call))
    },
  },
  'cache purge': {
    summary: 'Purge cache entries of a running gateway.',
    description: 'Purges entries that match all flags; --all purges everything.',
    examples: [
      'gateway cache purge --upstream files',
      'gateway cache purge --name read_file',
      'gateway cache purge --all',
    ],
    gateway: 'running',
    flags: {
      upstream: { value: '<name>', summary: 'Entries of this upstream.' },
      name: { value: '<name>', summary: 'Entries of this tool, prompt or resource.' },
      all: { type: 'boolean', exclusive: ['upstream', 'name'], summary: 'Everything.' },
    },
    async run({ flags: { upstream, name, all }, withGateway, print }) {
      if (upstream === undefined && name === undefined && all !== true)
        throw gatewayError('GW_USAGE', { what: 'nothing selected: use --upstream, --name, or --all' })
      // JSON serialization omits undefined flags.
      const purged = await withGateway('running', ask => ask('cache.purge', { upstream, name, all }))
      print(purged, () => [formatPurge(purged)])
    },
  },
}

/** Formats the entries as a table. */
export function formatEntries(
  { entries, total, bytes }: JsonObject,
  { out, table }: Pick<CommandCall, 'out' | 'table'>,
): string[] {
  const rows = (Array.isArray(entries) ? entries : []).filter(isObject)
  const count = typeof total === 'number' ? total : rows.length
  const size = typeof bytes === 'number' ? `, ${formatBytes(bytes)}` : ''
  const sum = `${count} ${count === 1 ? 'entry' : 'entries'}${size}`
  if (rows.length === 0) return [sum]
  const head = HEAD.map(text => out.paint('dim', text))
  return [...table([head, ...rows.map(formatCells)]), sum]
}

/** Formats the purge count and the other replicas' state. */
export function formatPurge({ purged, peers, why }: JsonObject): string {
  const count = typeof purged === 'number' ? purged : 0
  const line = `${count} ${count === 1 ? 'entry' : 'entries'} purged`
  if (peers === undefined) return line
  if (peers === 'notified') return `${line} here; other replicas notified`
  return `${line} here; retrying to notify other replicas: ${formatCell(why)}`
}

function formatCells({ upstream, method, state, ageMs, bytes, hits, name }: JsonObject): string[] {
  return [
    formatCell(upstream),
    formatCell(method),
    formatCell(state),
    typeof ageMs === 'number' ? formatDuration(ageMs) : '-',
    typeof bytes === 'number' ? formatBytes(bytes) : '-',
    typeof hits === 'number' ? String(hits) : '-',
    typeof name === 'string' ? toOneLine(name) : '',
  ]
}

function formatCell(value: unknown): string {
  return typeof value === 'string' ? toOneLine(value) : '-'
}
