import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { ClientRow, Json, Shown, ToolDetail, ToolRow, Tools as Answer } from '../../types.ts'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, Badge, count, Field, Page, Problem, Search, Snippet } from '../parts.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { choose, hashOf, useAnswer, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, More } from '../table.ts'
import { TryTool } from './try-tool.ts'

const NONE = 'No server has listed such a tool yet. Servers that sleep are not woken for this page.'

export function Tools({ me, place }: PageProps): View {
  const filter = { search: place.params.get('search') ?? '', server: place.params.get('server') ?? '' }
  const { data, problem, rows, further, again } = useList<Answer, ToolRow>(urlOf('tools', filter), {
    rowsOf: ({ tools }) => tools,
    nextOf: ({ total }, shown) => (shown < total ? urlOf('tools', { ...filter, offset: shown }) : undefined),
    on: ['server', 'changed'],
  })
  const name = place.params.get('name')
  const of = place.params.get('of') ?? ''
  return html`<${Page} title="Tools" lead=${leadOf(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Search" value=${filter.search} change=${(search: string) => choose(place, { search })} />
      <${Field} label="Server" value=${filter.server} options=${serversOf(data)} change=${(server: string) => choose(place, { server })} />
      ${me.acts ? html`<${Act} label="Ask all servers" act=${() => post('refresh')} done=${again} />` : null}
    </div>
    ${name === null ? null : html`<${Opened} name=${name} server=${of} place=${place} acts=${me.acts} key=${`${name} ${of}`} />`}
    <${List} label="Tools" columns=${columns(place)} rows=${rows} keyOf=${(row: ToolRow) => `${row.upstream} ${row.name}`} none=${NONE} />
    <${More} further=${further} />
  </${Page}>`
}

function leadOf(data: Answer | undefined): string {
  return data === undefined
    ? ''
    : `${count(data.total)} tools · ~${count(data.tokens)} tokens to describe them`
}

function serversOf(data: Answer | undefined): (readonly [string, string])[] {
  const servers = data?.servers ?? []
  const named = servers.map(
    one => [one.name, `${one.name} (${one.tools}, ~${count(one.tokens)} tokens)`] as const,
  )
  return [['', 'all'], ...named]
}

function columns({ params }: PageLocation): Column<ToolRow>[] {
  const open = ({ name, upstream }: ToolRow): string =>
    hashOf('tools', { ...Object.fromEntries(params), name, of: upstream })
  return [
    { head: 'Tool', cell: row => html`<a href=${open(row)}>${row.name}</a>` },
    { head: 'Server', isMinor: true, cell: row => row.upstream },
    { head: 'Does', cell: row => html`<span class="soft">${row.title}</span>` },
    {
      head: 'Seen by all',
      isMinor: true,
      cell: row =>
        html`<${Badge} of=${row.isShown ? 'shown' : 'hidden'} tone=${row.isShown ? 'good' : 'quiet'} />`,
    },
    { head: 'Tokens', isNumber: true, cell: row => `~${count(row.tokens)}` },
  ]
}

interface OpenedProps {
  readonly name: string
  readonly server: string
  readonly place: PageLocation
  readonly acts: boolean
}

function Opened({ name, server, place, acts }: OpenedProps): View {
  const { data, problem } = useAnswer<ToolDetail>(urlOf('tool', { name, server }))
  const close = (): void => choose(place, { name: undefined, of: undefined })
  if (data === undefined)
    return html`<section class="detail">
      <${Problem} of=${problem} /><button type="button" onClick=${close}>Close</button>
    </section>`
  const { value } = data
  return html`<section class="detail" aria-label=${`Tool ${name}`}>
    <div class="row">
      <h2>${name}</h2>
      <button type="button" onClick=${close}>Close</button>
    </div>
    <p class="told" dir="auto">
      ${typeof value.description === 'string' ? value.description : 'Its server does not describe it.'}
    </p>
    <p class="soft">
      “${data.original}” of ${data.upstream} · ~${count(data.tokens)} tokens
      ${data.withheld === undefined ? null : html` · withheld: ${data.withheld}`}
    </p>
    <details>
      <summary>Definition</summary>
      <${Snippet} text=${JSON.stringify(value, undefined, 2)} label="Definition" />
    </details>
    <details>
      <summary>Who sees it, by which name, and who may call it</summary>
      <${Why} tool=${name} server=${data.upstream} />
    </details>
    ${
      acts
        ? html`<details open>
            <summary>Try it</summary>
            <${TryTool} tool=${name} schema=${value.inputSchema as Json | undefined} />
          </details>`
        : null
    }
  </section>`
}

interface Explained {
  readonly outcome: { readonly what: string; readonly text: string }
  readonly steps: readonly {
    readonly by: string
    readonly at: string
    readonly does: string
    readonly text: string
  }[]
}

interface Explanation {
  readonly shown: Shown
  readonly explained: Explained
}

/** Name of a client that calls itself nothing. */
const UNKNOWN = 'unknown'

const FINE: ReadonlySet<string> = new Set(['server', 'answered'])

/** Explains how a client sees a tool, and a call of it by any caller. */
function Why({ tool, server }: { tool: string; server: string }): View {
  const [as, setAs] = useState('anonymous')
  const [client, setClient] = useState('')
  const [answer, setAnswer] = useState<Explanation>()
  const { data } = useAnswer<{ clients: ClientRow[] }>(urlOf('clients'))
  const names = [...new Set((data?.clients ?? []).map(one => one.client))].sort()
  const ask = async (): Promise<void> => {
    const named = client === '' ? UNKNOWN : client
    const [shown, explained] = await Promise.all([
      post<Shown>('shown', { tool, server, client: named }),
      post<Explained>('explain', { tool, as, client: named }),
    ])
    setAnswer({ shown, explained })
  }
  return html`<div class="filters">
      <${Field} label="Caller" value=${as} hint="key:ci" change=${setAs} />
      <${Field}
        label="Client"
        value=${client}
        options=${[['', 'any other'], ...names.map(name => [name, name])]}
        change=${setClient}
      />
      <${Act} label="Explain" act=${ask} />
    </div>
    ${answer === undefined ? null : html`<${Outcome} ...${answer} />`}`
}

function Outcome({ shown, explained: { outcome, steps } }: Explanation): View {
  return html`<p>
      <${Badge} of=${shown.isShown ? 'shown' : 'hidden'} tone=${shown.isShown ? 'good' : 'quiet'} />
      ${' '}${listed(shown)}
    </p>
    ${
      shown.notes.length === 0
        ? null
        : html`<ul class="steps">
            ${shown.notes.map(note => html`<li>${note}</li>`)}
          </ul>`
    }
    <p><${Badge} of=${outcome.what} tone=${FINE.has(outcome.what) ? 'good' : 'warn'} /> ${outcome.text}</p>
    <ol class="steps">
      ${steps.map(step => html`<li><span class="soft">${step.at} · ${step.by} ${step.does}</span> ${step.text}</li>`)}
    </ol>`
}

function listed({ client, isShown, name, why }: Shown): View {
  const whose = client === UNKNOWN ? 'a client that nobody knows' : client
  if (isShown) return html`in the list of ${whose} as <code>${name}</code>`
  return `not in the list of ${whose}${why === undefined ? '' : `: ${why}`}`
}
