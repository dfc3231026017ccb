import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { ClientRow, Json, ToolVisibility, ToolDetail, ToolRow, Tools as Answer } from '../../types.ts'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, Detail, formatCount, Field, Page, Problem, Search, Snippet } from '../components.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { updateParams, formatHash, useQuery, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'
import { TryTool } from './try-tool.ts'

const NO_TOOLS_TEXT = 'No matching tools. Idle servers are not started for this page.'

export function Tools({ me, route }: PageProps): ViewNode {
  const filter = { search: route.params.get('search') ?? '', server: route.params.get('server') ?? '' }
  const query = { ...filter, limit: route.params.has('sort') ? MAX_SORTED : undefined }
  const { data, problem, rows, loadMore, again } = useList<Answer, ToolRow>(formatApiUrl('tools', query), {
    getRows: ({ tools }) => tools,
    getNextUrl: ({ total }, offset) => (offset < total ? formatApiUrl('tools', { ...query, offset }) : undefined),
    on: ['server', 'changed'],
  })
  const name = route.params.get('name')
  const of = route.params.get('of') ?? ''
  const isOf = (row: ToolRow): boolean => row.name === name && (of === '' || row.upstream === of)
  return html`<${Page} title="Tools" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Search" value=${filter.search} change=${(search: string) => updateParams(route, { search })} />
      <${Field} label="Server" value=${filter.server} options=${listServerOptions(data)} change=${(server: string) => updateParams(route, { server })} />
      ${me.acts ? html`<${ActionButton} label="Refresh" act=${() => postJson('refresh')} done=${again} />` : null}
    </div>
    <${List}
      label="Tools"
      columns=${createColumns(route)}
      rows=${rows}
      keyOf=${(row: ToolRow) => `${row.upstream} ${row.name}`}
      none=${NO_TOOLS_TEXT}
      opened=${name === null ? undefined : { isOf, view: html`<${OpenedTool} name=${name} server=${of} route=${route} acts=${me.acts} key=${`${name} ${of}`} />` }}
    />
    <${MoreButton} further=${loadMore} />
  </${Page}>`
}

/** Tools among which a sorted list starts. */
const MAX_SORTED = 500

function formatLead(data: Answer | undefined): string {
  return data === undefined
    ? ''
    : `${formatCount(data.total)} tools · ~${formatCount(data.tokens)} tokens for their definitions`
}

function listServerOptions(data: Answer | undefined): (readonly [string, string])[] {
  const servers = data?.servers ?? []
  const named = servers.map(
    one => [one.name, `${one.name} (${one.tools}, ~${formatCount(one.tokens)} tokens)`] as const,
  )
  return [['', 'all'], ...named]
}

function createColumns({ params }: PageLocation): Column<ToolRow>[] {
  const formatToolLink = ({ name, upstream }: ToolRow): string =>
    formatHash('tools', { ...Object.fromEntries(params), name, of: upstream })
  return [
    { head: 'Tool', sortBy: 'name', cell: row => html`<a href=${formatToolLink(row)}>${row.name}</a>` },
    { head: 'Server', sortBy: 'upstream', cell: row => row.upstream },
    { head: 'Description', isText: true, sortBy: 'summary', cell: row => html`<${ToolSummary} row=${row} />` },
    {
      ...{ head: 'Visible to all', sortBy: 'isShown' },
      cell: row => html`<${Badge} of=${row.isShown ? 'shown' : 'hidden'} tone=${row.isShown ? 'good' : 'quiet'} />`,
    },
    { head: 'Tokens', isNumber: true, sortBy: 'tokens', cell: row => `~${formatCount(row.tokens)}` },
  ]
}

function ToolSummary({ row: { summary, title, isReadOnly, isDestructive } }: { row: ToolRow }): ViewNode {
  return html`${isReadOnly ? html`<${Badge} of="read-only" tone="quiet" /> ` : null}
    ${isDestructive ? html`<${Badge} of="destructive" tone="bad" /> ` : null}
    <span class="soft">${summary || title}</span>`
}

interface OpenedToolProps {
  readonly name: string
  readonly server: string
  readonly route: PageLocation
  readonly acts: boolean
}

function OpenedTool({ name, server, route, acts }: OpenedToolProps): ViewNode {
  const { data, problem } = useQuery<ToolDetail>(formatApiUrl('tool', { name, server }))
  return html`<${Detail}
    label=${`Tool ${name}`}
    title=${name}
    close=${() => updateParams(route, { name: undefined, of: undefined })}
  >
    <${Problem} of=${problem} />
    ${data === undefined ? null : html`<${ToolFacts} of=${data} acts=${acts} />`}
  </${Detail}>`
}

function ToolFacts({ of: data, acts }: { of: ToolDetail; acts: boolean }): ViewNode {
  const { name, value } = data
  return html`<p class="told" dir="auto">
      ${typeof value.description === 'string' ? value.description : 'No description.'}
    </p>
    <p class="soft">
      “${data.original}” of ${data.upstream} · ~${formatCount(data.tokens)} tokens
      ${data.withheld === undefined ? null : html` · withheld: ${data.withheld}`}
    </p>
    <details>
      <summary>Definition</summary>
      <${Snippet} text=${JSON.stringify(value, undefined, 2)} label="Definition" />
    </details>
    <details>
      <summary>Visibility and permissions</summary>
      <${VisibilityForm} tool=${name} server=${data.upstream} />
    </details>
    ${
      acts
        ? html`<details open>
            <summary>Try it</summary>
            <${TryTool} tool=${name} schema=${value.inputSchema as Json | undefined} />
          </details>`
        : null
    }`
}

interface CallExplanation {
  readonly outcome: { readonly what: string; readonly text: string }
  readonly steps: readonly {
    readonly by: string
    readonly at: string
    readonly does: string
    readonly text: string
  }[]
}

interface ToolExplanation {
  readonly shown: ToolVisibility
  readonly explained: CallExplanation
}

/** Name for clients without a name. */
const UNKNOWN = 'unknown'

const GOOD_OUTCOMES: ReadonlySet<string> = new Set(['server', 'answered'])

/** Explains a tool's visibility for a client, and a caller's permission. */
function VisibilityForm({ tool, server }: { tool: string; server: string }): ViewNode {
  const [as, setAs] = useState('anonymous')
  const [client, setClient] = useState('')
  const [answer, setAnswer] = useState<ToolExplanation>()
  const { data } = useQuery<{ clients: ClientRow[] }>(formatApiUrl('clients'))
  const names = [...new Set((data?.clients ?? []).map(one => one.client))].sort()
  const explain = async (): Promise<void> => {
    const named = client === '' ? UNKNOWN : client
    const [shown, explained] = await Promise.all([
      postJson<ToolVisibility>('shown', { tool, server, client: named }),
      postJson<CallExplanation>('explain', { tool, as, client: named }),
    ])
    setAnswer({ shown, explained })
  }
  return html`<div class="filters">
      <${Field} label="Caller" value=${as} hint="key:ci" change=${setAs} />
      <${Field}
        label="Client"
        value=${client}
        options=${[['', 'other'], ...names.map(name => [name, name])]}
        change=${setClient}
      />
      <${ActionButton} label="Explain" act=${explain} />
    </div>
    ${answer === undefined ? null : html`<${VisibilityOutcome} ...${answer} />`}`
}

function VisibilityOutcome({ shown, explained: { outcome, steps } }: ToolExplanation): ViewNode {
  return html`<p>
      <${Badge} of=${shown.isShown ? 'shown' : 'hidden'} tone=${shown.isShown ? 'good' : 'quiet'} />
      ${' '}${describeVisibility(shown)}
    </p>
    ${
      shown.notes.length === 0
        ? null
        : html`<ul class="steps">
            ${shown.notes.map(note => html`<li>${note}</li>`)}
          </ul>`
    }
    <p>
      <${Badge} of=${outcome.what} tone=${GOOD_OUTCOMES.has(outcome.what) ? 'good' : 'warn'} />
      ${outcome.text}
    </p>
    <ol class="steps">
      ${steps.map(step => html`<li><span class="soft">${step.at} · ${step.by} ${step.does}</span> ${step.text}</li>`)}
    </ol>`
}

function describeVisibility({ client, isShown, name, why }: ToolVisibility): ViewNode {
  const clientName = client === UNKNOWN ? 'an unknown client' : client
  if (isShown) return html`in the list of ${clientName} as <code>${name}</code>`
  return `not in the list of ${clientName}${why === undefined ? '' : `: ${why}`}`
}
