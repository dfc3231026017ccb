import { html } from 'htm/preact'
import type { ConfigValue, ConfigValues } from '../../types.ts'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, formatCount, Page, Problem, Search, formatBytes, formatDuration } from '../components.ts'
import type { PageProps } from '../state.ts'
import { updateParams, useList, useQuery } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'

/** Active configuration, read-only. */
export function Config({ me, route }: PageProps): ViewNode {
  const search = route.params.get('search') ?? ''
  const defaults = route.params.get('defaults') ?? ''
  const query = { search, defaults }
  const { data, problem, rows, loadMore, again } = useList<ConfigValues, ConfigValue>(formatApiUrl('config', query), {
    getRows: ({ values }) => values,
    getNextUrl: ({ total }, offset) => (offset < total ? formatApiUrl('config', { ...query, offset }) : undefined),
    on: ['changed'],
  })
  return html`<${Page} title="Configuration" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Search" value=${search} change=${(text: string) => updateParams(route, { search: text })} />
      <label class="check"><input type="checkbox" checked=${defaults === 'yes'} onChange=${() => updateParams(route, { defaults: defaults === 'yes' ? undefined : 'yes' })} /> Show defaults</label>
      ${me.acts ? html`<${ActionButton} label="Reload" act=${() => postJson('reload')} done=${again} />` : null}
    </div>
    <${List} label="Values" columns=${COLUMNS} rows=${rows} keyOf=${(row: ConfigValue) => row.pointer} none="No matches." />
    <${MoreButton} further=${loadMore} />
  </${Page}>`
}

function formatLead(data: ConfigValues | undefined): ViewNode {
  if (data === undefined) return ''
  const values = `${formatCount(data.total)} values`
  return data.file === undefined ? values : html`<span><code>${data.file}</code> · ${values}</span>`
}

const COLUMNS: readonly Column<ConfigValue>[] = [
  { head: 'Key', sortBy: 'pointer', cell: row => html`<code>${row.pointer.slice(1).replaceAll('/', ' › ')}</code>` },
  {
    head: 'Value',
    cell: row => html`<code>${typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>`,
  },
  { head: 'Source', sortBy: 'origin', cell: row => html`<span class="soft">${row.origin}</span>` },
]

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
  return html`<${Page} title="Cache" lead=${formatCacheLead(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Server" value=${filter.server} change=${(server: string) => updateParams(route, { server })} />
      <${Search} label="Tool or URI" hint="* is a wildcard" value=${filter.name} change=${(name: string) => updateParams(route, { name })} />
      ${me.acts ? html`<${PurgeButton} ...${filter} again=${again} />` : null}
    </div>
    <${List} label="Entries" columns=${CACHE_COLUMNS} rows=${data?.entries} keyOf=${getRowKey} none="No matching entries." />
  </${Page}>`
}

function formatCacheLead(data: CacheAnswer | undefined): string {
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

const CACHE_COLUMNS: readonly Column<CacheEntryRow>[] = [
  { head: 'Entry', sortBy: 'name', cell: row => row.name ?? row.method },
  { head: 'Server', sortBy: 'upstream', cell: row => row.upstream },
  { head: 'State', sortBy: 'state', cell: row => html`<${Badge} of=${row.state} />` },
  { head: 'Method', sortBy: 'method', cell: row => row.method },
  { head: 'Scope', sortBy: 'scope', cell: row => row.scope },
  { head: 'Age', isNumber: true, sortBy: 'ageMs', cell: row => formatDuration(row.ageMs) },
  { head: 'TTL', isNumber: true, sortBy: 'ttlMs', cell: row => (row.ttlMs === 0 ? '' : formatDuration(row.ttlMs)) },
  { head: 'Size', isNumber: true, sortBy: 'bytes', cell: row => formatBytes(row.bytes) },
  { head: 'Hits', isNumber: true, sortBy: 'hits', cell: row => formatCount(row.hits) },
]
