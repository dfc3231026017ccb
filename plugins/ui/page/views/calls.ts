import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { CallDetail, CallRow, Calls as Answer, Timing, ClientRow } from '../../types.ts'
import { formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import {
  Badge,
  formatBytes,
  CopyButton,
  Detail,
  formatCount,
  formatDuration,
  Field,
  Page,
  formatJson,
  Problem,
  quoteWord,
  Search,
  Snippet,
  formatTime,
  formatAge,
} from '../components.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { updateParams, formatHash, useQuery, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'

const OUTCOMES = [
  ['', 'any'],
  ['failed', 'all failures'],
  ['ok', 'ok'],
  ['is_error', 'is error'],
  ['error', 'error'],
  ['refused', 'refused'],
  ['cancelled', 'cancelled'],
  ['input_required', 'input required'],
  ['task', 'task'],
] as const

const FILTERS = ['tool', 'caller', 'server', 'outcome'] as const

export function Calls({ route }: PageProps): ViewNode {
  const { params } = route
  const filter = Object.fromEntries(FILTERS.map(name => [name, params.get(name) ?? '']))
  const id = params.get('id')
  const query = { ...filter, limit: params.has('sort') ? MAX_SORTED : MAX_SHOWN }
  const [isHeld, setHeld] = useState(false)
  const [isReading, setReading] = useState(false)
  const { data, problem, rows, loadMore, hasMore } = useList<Answer, CallRow>(formatApiUrl('calls', query), {
    getRows: ({ calls }) => calls,
    getNextUrl: ({ next }) => (next === undefined ? undefined : formatApiUrl('calls', { ...query, before: next })),
    // Pause updates while older pages or details are shown.
    on: isHeld || isReading || id !== null ? [] : ['call'],
  })
  if (hasMore !== isReading) setReading(hasMore)
  return html`<${Page} title="Calls" lead=${data === undefined ? '' : `${formatCount(data.kept)} recorded`}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Tool" value=${filter.tool} change=${(tool: string) => updateParams(route, { tool })} />
      <${Search} label="Caller" value=${filter.caller} change=${(caller: string) => updateParams(route, { caller })} />
      <${Search} label="Server" value=${filter.server} change=${(server: string) => updateParams(route, { server })} />
      <${Field} label="Outcome" value=${filter.outcome} options=${OUTCOMES} change=${(outcome: string) => updateParams(route, { outcome })} />
      <label class="check"><input type="checkbox" checked=${!isHeld} onChange=${() => setHeld(!isHeld)} /> Follow</label>
    </div>
    <${List}
      label="Calls"
      columns=${createColumns(route)}
      rows=${rows}
      keyOf=${(row: CallRow) => row.id}
      none="No matching calls."
      opened=${id === null ? undefined : { isOf: (row: CallRow) => String(row.id) === id, view: html`<${OpenedCall} id=${id} route=${route} key=${id} />` }}
    />
    <${MoreButton} further=${loadMore} />
  </${Page}>`
}

/** Calls per page; a busy gateway sends this many every second. */
const MAX_SHOWN = 50
/** Latest calls among which a sorted list starts. */
const MAX_SORTED = 500

function createColumns({ params }: PageLocation): Column<CallRow>[] {
  const formatCallLink = ({ id }: CallRow): string =>
    formatHash('calls', { ...Object.fromEntries(params), id: String(id) })
  return [
    {
      ...{ head: 'Time', sortBy: 'at' },
      cell: row => html`<time datetime=${new Date(row.at).toISOString()}>${formatTime(row.at)}</time>`,
    },
    { head: 'Outcome', sortBy: 'outcome', cell: row => html`<${Badge} of=${row.outcome} />` },
    {
      ...{ head: 'Target', sortBy: 'name' },
      cell: row => html`<a href=${formatCallLink(row)}>${row.name === '' ? row.method : row.name}</a>`,
    },
    { head: 'Server', sortBy: 'upstream', cell: row => row.upstream },
    { head: 'Caller', sortBy: 'subject', cell: row => row.subject },
    { head: 'Client', sortBy: 'client', cell: row => row.client },
    { head: 'Duration', isNumber: true, sortBy: 'ms', cell: row => formatDuration(row.ms) },
    {
      ...{ head: 'Size', isNumber: true, sortBy: 'bytesOut' },
      cell: row => `${formatBytes(row.bytesIn)} → ${formatBytes(row.bytesOut)}`,
    },
  ]
}

function OpenedCall({ id, route }: { id: string; route: PageLocation }): ViewNode {
  const { data, problem } = useQuery<CallDetail>(formatApiUrl('call', { id }))
  const copy =
    data?.method === 'tools/call' ? html`<${CopyButton} text=${formatCommand(data)} label="Copy as command" />` : null
  return html`<${Detail}
    label=${`Call ${data?.name ?? id}`}
    title=${data === undefined ? 'Call' : html`${data.name || data.method} <${Badge} of=${data.outcome} />`}
    actions=${copy}
    close=${() => updateParams(route, { id: undefined })}
  >
    <${Problem} of=${problem} />
    ${data === undefined ? null : html`<${CallFacts} of=${data} />`}
  </${Detail}>`
}

function CallFacts({ of: data }: { of: CallDetail }): ViewNode {
  return html`${data.timing === undefined ? null : html`<${TimingBars} of=${data.timing} ms=${data.ms} />`}
    <dl>
      ${listFacts(data).map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>
    <h3>Arguments</h3>
    <${Snippet} text=${formatJson(data.arguments ?? data.shape)} label="Arguments" />
    ${
      data.result === undefined
        ? html`<p class="soft">
            The result was not recorded. <code>ui.values</code> selects tools with recorded results.
          </p>`
        : html`<h3>Result</h3>
            <${Snippet} text=${formatJson(data.result)} label="Result" />`
    }`
}

function listFacts(call: CallDetail): (readonly [string, string])[] {
  const all: readonly (readonly [string, string])[] = [
    ['Method', call.method],
    ['Server', call.upstream],
    ['Caller', joinTexts(' of ', call.subject, call.issuer)],
    ['Client', `${call.client} (${call.era}, ${call.via})`],
    ['Profile', call.profile],
    ['Decided by', call.by],
    ['Error', joinTexts(' ', call.code === 0 ? '' : String(call.code), call.error)],
  ]
  return all.filter(([, text]) => text !== '')
}

function joinTexts(by: string, ...texts: readonly (string | undefined)[]): string {
  return texts.filter(Boolean).join(by)
}

/** Duration of each call step. */
function TimingBars({ of, ms }: { of: Timing; ms: number }): ViewNode {
  const total = Math.max(ms, 0.001)
  const steps = [
    ['gateway', 'gateway', Math.max(0, ms - of.upstream - of.client)],
    ['upstream', 'server', of.upstream],
    ...(of.client > 0 ? [['client', 'client requests', of.client] as const] : []),
  ] as const
  return html`<ul class="way" aria-label="Timing">
    ${steps.map(
      ([step, text, stepMs]) =>
        html`<li class=${step}>
          <span class="bar" style=${{ width: `${Math.max((100 * stepMs) / total, 0.5)}%` }}></span>
          <span>${text}</span> <strong>${formatDuration(stepMs)}</strong>
        </li>`,
    )}
    ${of.tries > 1 ? html`<li>${of.tries} attempts</li>` : null}
    ${of.tries === 0 ? html`<li>The server was not called.</li>` : null}
  </ul>`
}

/** The same call as a command line; unrecorded values are placeholders. */
function formatCommand({ name, arguments: args, shape }: CallDetail): string {
  const json = args ?? shape
  return `gateway call ${quoteWord(name)}${json === '' || json === '{}' ? '' : ` --args ${quoteWord(json)}`}`
}

const EVERY_MS = 5000

export function Clients(_: PageProps): ViewNode {
  const { data, problem } = useQuery<{ clients: ClientRow[]; total: number }>(formatApiUrl('clients'), {
    every: EVERY_MS,
  })
  return html`<${Page} title="Clients" lead=${data === undefined ? '' : `${formatCount(data.total)} since the gateway started`}>
    <${Problem} of=${problem} />
    <${List}
      label="Clients"
      columns=${COLUMNS}
      rows=${data?.clients}
      keyOf=${(row: ClientRow) => JSON.stringify([row.client, row.version, row.protocol, row.subject, row.issuer, row.listener, row.profile])}
      none="No clients yet."
    />
  </${Page}>`
}

const COLUMNS: readonly Column<ClientRow>[] = [
  { head: 'Client', sortBy: 'client', cell: row => html`${row.client} <span class="soft">${row.version}</span>` },
  {
    ...{ head: 'Status', sortBy: 'open' },
    cell: row =>
      html`<${Badge}
        of=${row.open > 0 ? `${row.open} connected` : 'offline'}
        tone=${row.open > 0 ? 'good' : 'quiet'}
      />`,
  },
  { head: 'Protocol', sortBy: 'protocol', cell: row => `${row.protocol} ${row.era}` },
  {
    ...{ head: 'Caller', sortBy: 'subject' },
    cell: row => html`<a href=${formatHash('calls', { caller: row.subject })}>${row.subject}</a>`,
  },
  {
    head: 'Listener',

    cell: row => [row.listener, row.profile].filter(Boolean).join(' / '),
  },
  { head: 'Calls', isNumber: true, sortBy: 'calls', cell: row => formatCount(row.calls) },
  { head: 'Last seen', isNumber: true, sortBy: 'seenAt', cell: row => formatAge(row.seenAt) },
]
