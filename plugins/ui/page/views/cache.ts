import { html } from 'htm/preact'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, formatBytes, formatCount, formatDuration, Page, Problem, Search } from '../components.ts'
import type { PageProps } from '../state.ts'
import { updateParams, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List } from '../table.ts'

const EVERY_MS = 10_000

interface CacheEntryRow {
  readonly upstream: string
  readonly method: string
  readonly name?: string
  readonly state: string
  readonly ageMs: number
  readonly ttlMs: number
  readonly bytes: number
  readonly hits: number
  readonly scope: string
}

interface CacheAnswer {
  readonly entries: readonly CacheEntryRow[]
  readonly total: number
  readonly bytes: number
  readonly maxEntries: number
  readonly maxBytes: number
}

export function Cache({ me, route }: PageProps): ViewNode {
  const filter = { server: route.params.get('server') ?? '', name: route.params.get('name') ?? '' }
  const { data, problem, again } = useQuery<CacheAnswer>(formatApiUrl('cache', filter), { every: EVERY_MS })
  return html`<${Page} title="Cache" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Server" value=${filter.server} change=${(server: string) => updateParams(route, { server })} />
      <${Search} label="Tool or URI" hint="* is a wildcard" value=${filter.name} change=${(name: string) => updateParams(route, { name })} />
      ${me.acts ? html`<${PurgeButton} ...${filter} again=${again} />` : null}
    </div>
    <${List} label="Entries" columns=${COLUMNS} rows=${data?.entries} keyOf=${getRowKey} none="No matching entries." />
  </${Page}>`
}

function formatLead(data: CacheAnswer | undefined): string {
  if (data === undefined) return ''
  const { total, maxEntries, maxBytes } = data
  return `${formatCount(total)} of ${formatCount(maxEntries)} entries · ${formatBytes(data.bytes)} of ${formatBytes(maxBytes)}`
}

/** Purges the filtered entries; without a filter, all. */
function PurgeButton({ server, name, again }: { server: string; name: string; again: () => void }): ViewNode {
  const isAll = server === '' && name === ''
  const selection = { ...(server === '' ? {} : { upstream: server }), ...(name === '' ? {} : { name }) }
  const label = isAll ? 'Purge all' : 'Purge matches'
  return html`<${ActionButton}
    label=${label}
    kind="danger"
    act=${() => postJson('purge', isAll ? { all: true } : selection)}
    done=${again}
  />`
}

function getRowKey({ upstream, method, name, scope, bytes: size, hits }: CacheEntryRow): string {
  return JSON.stringify([upstream, method, name, scope, size, hits])
}

const COLUMNS: readonly Column<CacheEntryRow>[] = [
  { head: 'Entry', cell: row => row.name ?? row.method },
  { head: 'Server', cell: row => row.upstream },
  { head: 'State', cell: row => html`<${Badge} of=${row.state} />` },
  { head: 'Method', isMinor: true, cell: row => row.method },
  { head: 'Scope', isMinor: true, cell: row => row.scope },
  { head: 'Age', isNumber: true, isMinor: true, cell: row => formatDuration(row.ageMs) },
  { head: 'TTL', isNumber: true, cell: row => (row.ttlMs === 0 ? '' : formatDuration(row.ttlMs)) },
  { head: 'Size', isNumber: true, isMinor: true, cell: row => formatBytes(row.bytes) },
  { head: 'Hits', isNumber: true, cell: row => formatCount(row.hits) },
]
