import { html } from 'htm/preact'
import { useMemo } from 'preact/hooks'
import { post, urlOf } from '../api.ts'
import { Act, type Column, Empty, Field, Page, Problem, Table, type View } from '../parts.ts'
import { choose, type PageProps, useAnswer } from '../state.ts'
import { count } from '../texts.ts'

interface Value {
  readonly pointer: string
  readonly value: unknown
  readonly origin: string
}

interface Answer {
  readonly file?: string
  readonly origins: readonly Value[]
}

const MOST = 500

/** The configuration that is in force. The file is the truth: nothing here writes it. */
export function Config({ me, place }: PageProps): View {
  const { data, problem, again } = useAnswer<Answer>(urlOf('config'), { on: ['changed'] })
  const search = place.params.get('search') ?? ''
  const shown = place.params.get('defaults') === 'yes'
  const rows = useMemo(() => {
    const text = search.toLowerCase()
    return (data?.origins ?? []).filter(
      ({ pointer, value, origin }) =>
        (shown || origin !== 'default') && `${pointer} ${JSON.stringify(value)}`.toLowerCase().includes(text),
    )
  }, [data, search, shown])
  return html`<${Page} title="Configuration" lead=${data?.file === undefined ? '' : html`<code>${data.file}</code>`}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Field} label="Search" type="search" value=${search} change=${(text: string) => choose(place, { search: text })} />
      <label class="check"><input type="checkbox" checked=${shown} onChange=${() => choose(place, { defaults: shown ? undefined : 'yes' })} /> Defaults too</label>
      ${me.acts ? html`<${Act} label="Read the file again" act=${() => post('reload')} done=${again} />` : null}
    </div>
    ${
      rows.length === 0
        ? html`<${Empty}>${data === undefined ? 'Looking …' : 'Nothing fits.'}</${Empty}>`
        : html`<${Table}
            label="Values"
            columns=${COLUMNS}
            rows=${rows.slice(0, MOST)}
            keyOf=${(row: Value) => row.pointer}
          />`
    }
    ${rows.length > MOST ? html`<p class="soft">${count(rows.length - MOST)} more: search for them.</p>` : null}
  </${Page}>`
}

const COLUMNS: readonly Column<Value>[] = [
  { head: 'Key', cell: row => html`<code>${row.pointer.slice(1).replaceAll('/', ' › ')}</code>` },
  {
    head: 'Value',
    cell: row => html`<code>${typeof row.value === 'string' ? row.value : JSON.stringify(row.value)}</code>`,
  },
  { head: 'From', cell: row => html`<span class="soft">${row.origin}</span>` },
]
