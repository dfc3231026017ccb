import { html } from 'htm/preact'
import type { ConfigValue, ConfigValues } from '../../types.ts'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, formatCount, Page, Problem, Search } from '../components.ts'
import type { PageProps } from '../state.ts'
import { updateParams, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'

const EVERY_MS = 10_000

/** Active configuration, read-only. */
export function Config({ me, route }: PageProps): ViewNode {
  const search = route.params.get('search') ?? ''
  const defaults = route.params.get('defaults') ?? ''
  const query = { search, defaults }
  const { data, problem, rows, loadMore, again } = useList<ConfigValues, ConfigValue>(formatApiUrl('config', query), {
    getRows: ({ values }) => values,
    getNextUrl: ({ total }, offset) => (offset < total ? formatApiUrl('config', { ...query, offset }) : undefined),
    every: EVERY_MS,
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
  { head: 'Key', cell: row => html`<code>${row.pointer.slice(1).replaceAll('/', ' › ')}</code>` },
  {
    head: 'Value',
    cell: row => html`<code>${typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>`,
  },
  { head: 'Source', isMinor: true, cell: row => html`<span class="soft">${row.origin}</span>` },
]
