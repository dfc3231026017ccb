import { html } from 'htm/preact'
import { postJson, formatApiUrl } from '../api.ts'
import type { ViewNode } from '../components.ts'
import { ActionButton, formatAge, Badge, formatBytes, formatDuration, Page, Problem } from '../components.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { formatHash, useQuery, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, MoreButton } from '../table.ts'
import { Missing } from './missing.ts'
import { OpenedTask, TASK_TONES } from './task.ts'

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
              opened=${id === null || !me.acts ? undefined : { isOf: (row: TaskRow) => row.id === id, view: html`<${OpenedTask} id=${id} route=${route} key=${id} />` }}
            />
            <${MoreButton} further=${loadMore} />`
        : html`<h2>Agents</h2>
            <${Missing} part="agents" />`
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
    { head: 'Tool', sortBy: 'tool', cell: row => row.tool },
    { head: 'State', sortBy: 'state', cell: row => html`<${Badge} of=${row.state} tone=${CALL_TONES[row.state]} />` },
    { head: 'Caller', sortBy: 'subject', cell: row => row.subject },
    { head: 'Server', sortBy: 'upstream', cell: row => row.upstream },
    {
      head: 'Message',
      isText: true,

      cell: row => html`<span class="soft">${row.message ?? (row.asks > 0 ? 'Waiting for client input.' : '')}</span>`,
    },
    { head: 'Started', isNumber: true, sortBy: 'createdAt', cell: row => formatAge(row.createdAt) },
    {
      head: 'Duration',
      isNumber: true,

      cell: row => formatDuration((ENDED.has(row.state) ? row.updatedAt : Date.now()) - row.createdAt),
    },
    {
      head: 'Result',
      isNumber: true,

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
  { head: 'Agent', sortBy: 'id', cell: row => row.id },
  {
    head: 'Health',
    sortBy: 'health',
    cell: row => html`<${Badge} of=${row.health} tone=${HEALTH[row.health] ?? 'warn'} />`,
  },
  { head: 'Message', isText: true, cell: row => row.why ?? row.description ?? row.title ?? '' },
  { head: 'Running', isNumber: true, sortBy: 'running', cell: row => row.running },
  { head: 'Queued', isNumber: true, sortBy: 'queued', cell: row => row.queued },
]

function taskColumns(acts: boolean, { params }: PageLocation): Column<TaskRow>[] {
  const formatTaskLink = ({ id }: TaskRow): string => formatHash('agents', { ...Object.fromEntries(params), id })
  return [
    {
      head: 'Task',
      cell: row => (acts ? html`<a href=${formatTaskLink(row)}>${shortenId(row.id)}</a>` : shortenId(row.id)),
    },
    {
      ...{ head: 'State', sortBy: 'state' },
      cell: row => html`<${Badge} of=${row.state} tone=${row.isError ? 'bad' : TASK_TONES[row.state]} />`,
    },
    { head: 'Agent', sortBy: 'agent', cell: row => row.agent ?? '' },
    { head: 'Caller', sortBy: 'subject', cell: row => row.subject },
    {
      head: 'Message',
      isText: true,

      cell: row => html`<span class="soft">${row.why ?? row.progress ?? ''}</span>`,
    },
    { head: 'Started', isNumber: true, sortBy: 'createdAt', cell: row => formatAge(row.createdAt) },
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
