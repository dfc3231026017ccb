import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import type { Json } from '../../types.ts'
import { postJson, formatApiUrl, ApiFailure, getJson } from '../api.ts'
import type { ViewNode } from '../components.ts'
import {
  ActionButton,
  formatAge,
  Badge,
  formatBytes,
  formatDuration,
  Page,
  Problem,
  Snippet,
  formatTime,
} from '../components.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { formatHash, useQuery, useList, updateParams } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'
import { NO_VALUES, readForm } from '../fields.ts'
import { Form } from '../form.ts'

interface AgentRow {
  readonly id: string
  readonly title?: string
  readonly description?: string
  readonly health: string
  readonly why?: string
  readonly running: number
  readonly queued: number
}

/** Call that continues after its first answer. */
interface CallTaskRow {
  readonly id: string
  readonly tool: string
  readonly upstream: string
  readonly subject: string
  readonly state: string
  readonly message?: string
  /** Pending client requests. */
  readonly asks: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly resultBytes?: number
}

/** Agent task. */
interface TaskRow {
  readonly id: string
  readonly state: string
  readonly why?: string
  readonly agent?: string
  readonly subject: string
  readonly progress?: string
  readonly isError: boolean
  readonly createdAt: number
  readonly endedAt?: number
}

/** `GET tasks` answer. */
interface Tasks {
  readonly calls: readonly CallTaskRow[]
  readonly tasks: readonly TaskRow[]
}

const EVERY_MS = 5000
const TASKS_EVERY_MS = 2000
const LIMIT = 100

/** Running tool calls and agent tasks. */
export function Agents({ me, route }: PageProps): ViewNode {
  const { data, rows, problem, loadMore, again } = useList<Tasks, TaskRow>(formatApiUrl('tasks', { limit: LIMIT }), {
    every: TASKS_EVERY_MS,
    getRows: answer => answer.tasks,
    getNextUrl: answer =>
      answer.tasks.length < LIMIT ? undefined : formatApiUrl('tasks', { limit: LIMIT, after: answer.tasks.at(-1)?.id }),
  })
  const id = route.params.get('id')
  return html`<${Page} title="Tasks and agents">
    <${Problem} of=${problem} />
    ${id === null || !me.acts ? null : html`<${OpenedTask} id=${id} route=${route} key=${id} />`}
    <h2>Running calls</h2>
    <${List}
      label="Running calls"
      columns=${callColumns(me.acts, again)}
      rows=${data?.calls}
      keyOf=${(row: CallTaskRow) => row.id}
      none="No running calls."
    />
    ${
      me.parts.includes('agents')
        ? html`<${AgentList} />
            <h2>Agent tasks</h2>
            <${List}
              label="Tasks"
              columns=${taskColumns(me.acts, route)}
              rows=${rows}
              keyOf=${(row: TaskRow) => row.id}
              none="No agent tasks yet."
            />
            <${MoreButton} further=${loadMore} />`
        : null
    }
  </${Page}>`
}

function AgentList(_: object): ViewNode {
  const { data, problem } = useQuery<{ agents: AgentRow[] }>(formatApiUrl('agents'), { every: EVERY_MS })
  return html`<h2>Agents</h2>
    <${Problem} of=${problem} />
    <${List}
      label="Agents"
      columns=${AGENTS}
      rows=${data?.agents}
      keyOf=${(row: AgentRow) => row.id}
      none="No agents configured."
    />`
}

const CALL_TONES: Readonly<Record<string, string>> = {
  working: 'busy',
  input_required: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
}
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])

function callColumns(acts: boolean, again: () => void): Column<CallTaskRow>[] {
  const columns: Column<CallTaskRow>[] = [
    { head: 'Tool', cell: row => row.tool },
    { head: 'State', cell: row => html`<${Badge} of=${row.state} tone=${CALL_TONES[row.state]} />` },
    { head: 'Caller', cell: row => row.subject },
    { head: 'Server', isMinor: true, cell: row => row.upstream },
    {
      head: 'Message',
      isText: true,
      isMinor: true,
      cell: row => html`<span class="soft">${row.message ?? (row.asks > 0 ? 'Waiting for client input.' : '')}</span>`,
    },
    { head: 'Started', isNumber: true, cell: row => formatAge(row.createdAt) },
    {
      head: 'Duration',
      isNumber: true,
      isMinor: true,
      cell: row => formatDuration((ENDED.has(row.state) ? row.updatedAt : Date.now()) - row.createdAt),
    },
    {
      head: 'Result',
      isNumber: true,
      isMinor: true,
      cell: row => (row.resultBytes === undefined ? '' : formatBytes(row.resultBytes)),
    },
  ]
  if (!acts) return columns
  const createCancelButton = (row: CallTaskRow): ViewNode =>
    html`<${ActionButton}
      label="Cancel"
      about=${row.tool}
      kind="danger"
      act=${() => postJson('cancel', { task: row.id })}
      done=${again}
    />`
  return [...columns, { head: 'Action', cell: row => (ENDED.has(row.state) ? '' : createCancelButton(row)) }]
}

const HEALTH: Readonly<Record<string, string>> = { ready: 'good', unknown: 'quiet', idle: 'quiet' }

const AGENTS: readonly Column<AgentRow>[] = [
  { head: 'Agent', cell: row => row.id },
  { head: 'Health', cell: row => html`<${Badge} of=${row.health} tone=${HEALTH[row.health] ?? 'warn'} />` },
  { head: 'Message', isText: true, cell: row => row.why ?? row.description ?? row.title ?? '' },
  { head: 'Running', isNumber: true, cell: row => row.running },
  { head: 'Queued', isNumber: true, isMinor: true, cell: row => row.queued },
]

function taskColumns(acts: boolean, { params }: PageLocation): Column<TaskRow>[] {
  const formatTaskLink = ({ id }: TaskRow): string => formatHash('agents', { ...Object.fromEntries(params), id })
  return [
    {
      head: 'Task',
      cell: row => (acts ? html`<a href=${formatTaskLink(row)}>${shortenId(row.id)}</a>` : shortenId(row.id)),
    },
    {
      head: 'State',
      cell: row => html`<${Badge} of=${row.state} tone=${row.isError ? 'bad' : TASK_TONES[row.state]} />`,
    },
    { head: 'Agent', cell: row => row.agent ?? '' },
    { head: 'Caller', cell: row => row.subject },
    {
      head: 'Message',
      isText: true,
      isMinor: true,
      cell: row => html`<span class="soft">${row.why ?? row.progress ?? ''}</span>`,
    },
    { head: 'Started', isNumber: true, isMinor: true, cell: row => formatAge(row.createdAt) },
    {
      head: 'Duration',
      isNumber: true,
      cell: row => formatDuration((row.endedAt ?? Date.now()) - row.createdAt),
    },
  ]
}

function shortenId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 12)}…` : id
}

/** `GET task` answer. */
interface TaskDetail {
  readonly state: string
  readonly is_error: boolean
  readonly why?: string
  readonly agent?: string
  readonly routed_by: string
  readonly cwd: string
  readonly progress?: string
  readonly files_changed: readonly string[]
  readonly has_diff: boolean
  readonly denied: readonly string[]
  readonly warnings: readonly string[]
  readonly attempts: readonly { readonly agent: string; readonly failure?: string }[]
  readonly questions: readonly {
    readonly question_id: string
    readonly message: string
    readonly schema: Json
  }[]
  readonly duration_ms: number
  readonly events: readonly {
    readonly seq: number
    readonly at: number
    readonly kind: string
    readonly text: string
  }[]
}

/** `GET output` answer. */
interface OutputChunk {
  readonly text: string
  /** Next chunk's offset. */
  readonly end: number
  readonly hasMore: boolean
}

const TASK_TONES: Readonly<Record<string, string>> = {
  queued: 'quiet',
  starting: 'busy',
  running: 'busy',
  input_required: 'warn',
  interrupted: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
}

const TASK_EVERY_MS = 1500
/** Only the end of a longer text is shown. */
const MAX_TEXT = 256 * 1024
const MAX_EVENTS = 100

/** Agent task: output, changes and questions. */
function OpenedTask({ id, route }: { id: string; route: PageLocation }): ViewNode {
  const { data, problem, again } = useQuery<TaskDetail>(formatApiUrl('task', { id }), { every: TASK_EVERY_MS })
  const close = html`<button type="button" onClick=${() => updateParams(route, { id: undefined })}>Close</button>`
  if (data === undefined) return html`<section class="detail"><${Problem} of=${problem} />${close}</section>`
  const isOver = ENDED.has(data.state)
  return html`<section class="detail" aria-label=${`Task ${id}`}>
    <div class="row">
      <h2>
        ${`${data.agent ?? 'No agent yet'} `}<${Badge}
          of=${data.state}
          tone=${data.is_error ? 'bad' : TASK_TONES[data.state]}
        />
      </h2>
      <span class="row">
        ${isOver ? null : html`<${ActionButton} label="Cancel task" kind="danger" act=${() => postJson('cancel', { task: id })} done=${again} />`}
        ${close}
      </span>
    </div>
    <${Problem} of=${problem} />
    ${data.questions.map(one => html`<${TaskQuestion} task=${id} of=${one} again=${again} key=${one.question_id} />`)}
    <dl>
      ${listFacts(id, data).map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>
    <h3>Output</h3>
    <${TaskOutput} id=${id} what="text" isOver=${isOver} none=${isOver ? 'No output.' : 'Nothing yet.'} />
    ${
      data.has_diff
        ? html`<h3>Changes</h3>
            <${TaskOutput} id=${id} what="diff" isOver=${isOver} none="" />`
        : null
    }
    <details>
      <summary>Events</summary>
      <ol class="steps">
        ${data.events
          .slice(-MAX_EVENTS)
          .map(
            ({ seq, at, kind, text }) =>
              html`<li key=${seq}><span class="soft">${formatTime(at)} · ${kind}</span> ${text}</li>`,
          )}
      </ol>
    </details>
  </section>`
}

function listFacts(id: string, task: TaskDetail): (readonly [string, string])[] {
  const tried = task.attempts.flatMap(({ agent, failure }) => (failure === undefined ? [] : [`${agent}: ${failure}`]))
  const all: readonly (readonly [string, string])[] = [
    ['ID', id],
    ['Reason', task.why ?? ''],
    ['Progress', task.progress ?? ''],
    ['Chosen by', task.routed_by],
    ['Directory', task.cwd],
    ['Duration', formatDuration(task.duration_ms)],
    ['Changed files', task.files_changed.join(', ')],
    ['Previous attempts', tried.join('; ')],
    ['Denied', task.denied.join('; ')],
    ['Warnings', task.warnings.join('; ')],
  ]
  return all.filter(([, text]) => text !== '')
}

interface OutputProps {
  readonly id: string
  readonly what: 'text' | 'diff'
  readonly isOver: boolean
  readonly none: string
}

/** Growing text, fetched incrementally. */
function TaskOutput({ id, what, isOver, none }: OutputProps): ViewNode {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<ApiFailure>()
  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    // A diff changes completely, so read it from the start.
    let offset = 0
    setText('')
    const readNext = async (): Promise<void> => {
      try {
        const piece = await getJson<OutputChunk>(formatApiUrl('output', { id, what, offset }))
        if (isGone) return
        offset = piece.end
        if (piece.text !== '') setText(previous => `${previous}${piece.text}`.slice(-MAX_TEXT))
        setProblem(undefined)
        if (piece.hasMore) return void readNext()
      } catch (error) {
        if (!isGone && error instanceof ApiFailure) setProblem(error)
      }
      if (!isGone && !isOver) timer = setTimeout(() => void readNext(), TASK_EVERY_MS)
    }
    void readNext()
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [id, what, isOver])
  return html`<${Problem} of=${problem} />
    ${text === '' ? html`<p class="soft">${none}</p>` : html`<${Snippet} text=${text} label=${what === 'text' ? 'Output' : 'Changes'} />`}`
}

interface TaskQuestionProps {
  readonly task: string
  readonly of: TaskDetail['questions'][number]
  readonly again: () => void
}

/** Question from the agent, or from the gateway about it. */
function TaskQuestion({ task, of, again }: TaskQuestionProps): ViewNode {
  const [values, setValues] = useState(NO_VALUES)
  const sendAnswer = async (action: string): Promise<void> => {
    const content = action === 'accept' ? { content: readForm(of.schema, values) } : {}
    await postJson('reply', { task, question: of.question_id, action, ...content })
  }
  return html`<fieldset class="asked">
    <legend>Input required</legend>
    <p class="told" dir="auto">${of.message}</p>
    <${Form} schema=${of.schema} values=${values} change=${setValues} />
    <div class="row start">
      <${ActionButton} label="Answer" kind="main" act=${() => sendAnswer('accept')} done=${again} />
      <${ActionButton} label="Decline" act=${() => sendAnswer('decline')} done=${again} />
    </div>
  </fieldset>`
}
