import { html } from 'htm/preact'
import type { ConfigValue, ConfigValues } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import { Act, Page, Problem, Search, type View } from '../parts.ts'
import { choose, type PageProps, useList } from '../state.ts'
import { type Column, List, More } from '../table.ts'
import { count } from '../texts.ts'
import { Plan } from './plan.ts'

/** The configuration that is in force. The file is the truth: nothing here writes it. */
export function Config({ me, place }: PageProps): View {
  const search = place.params.get('search') ?? ''
  const defaults = place.params.get('defaults') ?? ''
  const asked = { search, defaults }
  const { data, problem, rows, further, again } = useList<ConfigValues, ConfigValue>(urlOf('config', asked), {
    rowsOf: ({ values }) => values,
    nextOf: ({ total }, shown) => (shown < total ? urlOf('config', { ...asked, offset: shown }) : undefined),
    on: ['changed'],
  })
  return html`<${Page} title="Configuration" lead=${leadOf(data)}>
    <${Problem} of=${problem} />
    ${me.isOwner ? html`<${Plan} />` : null}
    <div class="filters" role="search">
      <${Search} label="Search" value=${search} change=${(text: string) => choose(place, { search: text })} />
      <label class="check"><input type="checkbox" checked=${defaults === 'yes'} onChange=${() => choose(place, { defaults: defaults === 'yes' ? undefined : 'yes' })} /> Defaults too</label>
      ${me.acts ? html`<${Act} label="Read the file again" act=${() => post('reload')} done=${again} />` : null}
    </div>
    <${List} label="Values" columns=${COLUMNS} rows=${rows} keyOf=${(row: ConfigValue) => row.pointer} none="Nothing fits." />
    <${More} further=${further} />
  </${Page}>`
}

function leadOf(data: ConfigValues | undefined): View {
  if (data === undefined) return ''
  const values = `${count(data.total)} values`
  return data.file === undefined ? values : html`<span><code>${data.file}</code> · ${values}</span>`
}

const COLUMNS: readonly Column<ConfigValue>[] = [
  { head: 'Key', cell: row => html`<code>${row.pointer.slice(1).replaceAll('/', ' › ')}</code>` },
  {
    head: 'Value',
    cell: row => html`<code>${typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>`,
  },
  { head: 'From', isMinor: true, cell: row => html`<span class="soft">${row.origin}</span>` },
]
