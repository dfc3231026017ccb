import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Json, ToolDetail, ToolRow, Tools as Answer } from '../../types.ts'
import { postJson, formatApiUrl, runTool, toFailure } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, Badge, formatCount, Field, Page, Problem, Search, Snippet } from '../components.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { updateParams, formatHash, useQuery, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'
import type { ApiFailure } from '../api.ts'
import { NO_VALUES, readForm } from '../fields.ts'
import { Form } from '../form.ts'

const EVERY_MS = 10_000
const NO_TOOLS_TEXT = 'No matching tools. Idle servers are not started for this page.'

export function Tools({ me, route }: PageProps): ViewNode {
  const filter = { search: route.params.get('search') ?? '', server: route.params.get('server') ?? '' }
  const { data, problem, rows, loadMore, again } = useList<Answer, ToolRow>(formatApiUrl('tools', filter), {
    getRows: ({ tools }) => tools,
    getNextUrl: ({ total }, offset) => (offset < total ? formatApiUrl('tools', { ...filter, offset }) : undefined),
    every: EVERY_MS,
  })
  const name = route.params.get('name')
  const of = route.params.get('of') ?? ''
  return html`<${Page} title="Tools" lead=${formatLead(data)}>
    <${Problem} of=${problem} />
    <div class="filters" role="search">
      <${Search} label="Search" value=${filter.search} change=${(search: string) => updateParams(route, { search })} />
      <${Field} label="Server" value=${filter.server} options=${listServerOptions(data)} change=${(server: string) => updateParams(route, { server })} />
      ${me.acts ? html`<${ActionButton} label="Refresh" act=${() => postJson('refresh')} done=${again} />` : null}
    </div>
    ${name === null ? null : html`<${OpenedTool} name=${name} server=${of} route=${route} acts=${me.acts} key=${`${name} ${of}`} />`}
    <${List} label="Tools" columns=${createColumns(route)} rows=${rows} keyOf=${(row: ToolRow) => `${row.upstream} ${row.name}`} none=${NO_TOOLS_TEXT} />
    <${MoreButton} further=${loadMore} />
  </${Page}>`
}

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
    { head: 'Tool', cell: row => html`<a href=${formatToolLink(row)}>${row.name}</a>` },
    { head: 'Server', isMinor: true, cell: row => row.upstream },
    { head: 'Title', cell: row => html`<span class="soft">${row.title}</span>` },
    {
      head: 'Visible to all',
      isMinor: true,
      cell: row => html`<${Badge} of=${row.isShown ? 'shown' : 'hidden'} tone=${row.isShown ? 'good' : 'quiet'} />`,
    },
    { head: 'Tokens', isNumber: true, cell: row => `~${formatCount(row.tokens)}` },
  ]
}

interface OpenedToolProps {
  readonly name: string
  readonly server: string
  readonly route: PageLocation
  readonly acts: boolean
}

function OpenedTool({ name, server, route, acts }: OpenedToolProps): ViewNode {
  const { data, problem } = useQuery<ToolDetail>(formatApiUrl('tool', { name, server }))
  const closeTool = (): void => updateParams(route, { name: undefined, of: undefined })
  if (data === undefined)
    return html`<section class="detail">
      <${Problem} of=${problem} /><button type="button" onClick=${closeTool}>Close</button>
    </section>`
  const { value } = data
  return html`<section class="detail" aria-label=${`Tool ${name}`}>
    <div class="row">
      <h2>${name}</h2>
      <button type="button" onClick=${closeTool}>Close</button>
    </div>
    <p class="told" dir="auto">${typeof value.description === 'string' ? value.description : 'No description.'}</p>
    <p class="soft">
      “${data.original}” of ${data.upstream} · ~${formatCount(data.tokens)} tokens
      ${data.withheld === undefined ? null : html` · withheld: ${data.withheld}`}
    </p>
    <details>
      <summary>Definition</summary>
      <${Snippet} text=${JSON.stringify(value, undefined, 2)} label="Definition" />
    </details>
    <p class="soft"><code>gateway explain ${name}</code> shows who may call it.</p>
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

interface TrialEvent {
  readonly event: string
  readonly [key: string]: unknown
}

/** Calls a tool with form values, and shows its events. */
function TryTool({ tool, schema }: { tool: string; schema: Json | undefined }): ViewNode {
  const [values, setValues] = useState(NO_VALUES)
  const [events, setEvents] = useState<readonly TrialEvent[]>([])
  const [problem, setProblem] = useState<ApiFailure>()
  const [isRunning, setRunning] = useState(false)
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const callTool = async (signal: AbortSignal): Promise<void> =>
    runTool(
      { name: tool, arguments: readForm(schema, values) },
      one => setEvents(all => [...all.slice(-MAX_EVENTS), one as TrialEvent]),
      signal,
    )
  const submit = (event: Event): void => {
    event.preventDefault()
    if (isRunning) return
    stop.current = new AbortController()
    setProblem(undefined)
    setEvents([])
    setRunning(true)
    callTool(stop.current.signal)
      .catch((error: unknown) => setProblem(stop.current?.signal.aborted === true ? undefined : toFailure(error)))
      .finally(() => setRunning(false))
  }
  return html`<form onSubmit=${submit}>
      <${Form} schema=${schema} values=${values} change=${setValues} />
      <div class="row start">
        <button class="main" aria-busy=${isRunning}>${isRunning ? 'Running …' : 'Call'}</button>
        ${isRunning ? html`<button type="button" onClick=${() => stop.current?.abort()}>Stop</button>` : null}
      </div>
    </form>
    <${Problem} of=${problem} />
    <div aria-live="polite">
      ${events.map(one => html`<${TrialEventView} of=${one} key=${String(one.id ?? '')} />`)}
    </div>`
}

const MAX_EVENTS = 200

function TrialEventView({ of }: { of: TrialEvent }): ViewNode {
  if (of.event === 'progress') return html`<${TrialProgress} of=${of} />`
  if (of.event === 'log') return html`<p class="soft">${String(of.level ?? '')}: ${formatValue(of.data)}</p>`
  if (of.event === 'ask') return html`<${TrialQuestion} of=${of} />`
  if (of.event === 'error')
    return html`<p class="problem" role="alert">${String(of.code ?? '')} ${formatValue(of.message)}</p>`
  return html`<${TrialResult} of=${of} />`
}

function TrialProgress({ of }: { of: TrialEvent }): ViewNode {
  const { progress, total, message } = of
  const text = `${formatCount(Number(progress))}${typeof total === 'number' ? ` of ${formatCount(total)}` : ''} ${formatValue(message ?? '')}`
  return html`<p><progress value=${progress} max=${total} aria-label="Progress"></progress> ${text}</p>`
}

function TrialResult({ of }: { of: TrialEvent }): ViewNode {
  const { event: _, content, ...rest } = of
  const parts = Array.isArray(content) ? (content as Json[]) : []
  const isError = of.isError === true
  return html`<div class="result">
    <p><${Badge} of=${isError ? 'is_error' : 'ok'} /></p>
    ${parts.map(part => html`<${Snippet} label="Result" text=${typeof part.text === 'string' ? part.text : JSON.stringify(part, undefined, 2)} />`)}
    ${rest.structuredContent === undefined ? null : html`<${Snippet} label="Structured result" text=${JSON.stringify(rest.structuredContent, undefined, 2)} />`}
  </div>`
}

/** Input request from the server during the call. */
function TrialQuestion({ of }: { of: TrialEvent }): ViewNode {
  const schema = of.requestedSchema as Json | undefined
  const [values, setValues] = useState(NO_VALUES)
  const [isDone, setDone] = useState(false)
  const sendAnswer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? { content: readForm(schema, values) } : {}
    await postJson('answer', { id: of.id, action, ...content })
    setDone(true)
  }
  if (isDone) return html`<p class="soft">Answered: ${formatValue(of.message)}</p>`
  return html`<fieldset class="asked">
    <legend>Input required</legend>
    <p class="told" dir="auto">${formatValue(of.message)}</p>
    <${Form} schema=${schema} values=${values} change=${setValues} />
    <div class="row start">
      <${ActionButton} label="Answer" kind="main" act=${() => sendAnswer('accept')} />
      <${ActionButton} label="Decline" act=${() => sendAnswer('decline')} />
    </div>
  </fieldset>`
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}
