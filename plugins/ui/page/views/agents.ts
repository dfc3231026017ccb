import { html } from 'htm/preact'
import { post, urlOf } from '../api.ts'
import type { View } from '../parts.ts'
import { Act, ago, Badge, bytes, duration, Page, Problem } from '../parts.ts'
import type { PageProps, PageLocation } from '../state.ts'
import { hashOf, useAnswer, useList } from '../state.ts'
import type { Column } from '../table.ts'
import { List, More } from '../table.ts'
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

/** A call that continues after its caller was answered. */
interface CallTaskRow {
  readonly id: string
  readonly tool: string
  readonly upstream: string
  readonly subject: string
  readonly state: string
  readonly message?: string
  /** Requests that wait for its client. */
  readonly asks: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly resultBytes?: number
}

/** A task of an agent. */
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

/** Answer of `GET tasks`. */
interface Tasks {
  readonly calls: readonly CallTaskRow[]
  readonly tasks: readonly TaskRow[]
}

const EVERY_MS = 5000
const TASKS_EVERY_MS = 2000
const LIMIT = 100

/** Shows what goes on after its caller was answered: calls of tools, and tasks that callers gave agents. */
export function Agents({ me, place }: PageProps): View {
  const { data, rows, problem, further, again } = useList<Tasks, TaskRow>(urlOf('tasks', { limit: LIMIT }), {
    every: TASKS_EVERY_MS,
    rowsOf: answer => answer.tasks,
    nextOf: answer =>
      answer.tasks.length < LIMIT
        ? undefined
        : urlOf('tasks', { limit: LIMIT, after: answer.tasks.at(-1)?.id }),
  })
  const id = place.params.get('id')
  return html`<${Page} title="Tasks and agents">
    <${Problem} of=${problem} />
    ${id === null || !me.acts ? null : html`<${OpenedTask} id=${id} place=${place} key=${id} />`}
    <h2>Calls that go on</h2>
    <${List}
      label="Calls that go on"
      columns=${callColumns(me.acts, again)}
      rows=${data?.calls}
      keyOf=${(row: CallTaskRow) => row.id}
      none="No call of a tool goes on after its caller was answered."
    />
    ${
      me.parts.includes('agents')
        ? html`<${AgentList} />
            <h2>Tasks of agents</h2>
            <${List}
              label="Tasks"
              columns=${taskColumns(me.acts, place)}
              rows=${rows}
              keyOf=${(row: TaskRow) => row.id}
              none="No caller has given an agent a task yet."
            />
            <${More} further=${further} />`
        : null
    }
  </${Page}>`
}

function AgentList(_: object): View {
  const { data, problem } = useAnswer<{ agents: AgentRow[] }>(urlOf('agents'), { every: EVERY_MS })
  return html`<h2>Agents</h2>
    <${Problem} of=${problem} />
    <${List}
      label="Agents"
      columns=${AGENTS}
      rows=${data?.agents}
      keyOf=${(row: AgentRow) => row.id}
      none="No agent is configured."
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
      head: 'Says',
      isText: true,
      isMinor: true,
      cell: row =>
        html`<span class="soft">${row.message ?? (row.asks > 0 ? 'It asks its client.' : '')}</span>`,
    },
    { head: 'Begun', isNumber: true, cell: row => ago(row.createdAt) },
    {
      head: 'Took',
      isNumber: true,
      isMinor: true,
      cell: row => duration((ENDED.has(row.state) ? row.updatedAt : Date.now()) - row.createdAt),
    },
    {
      head: 'Result',
      isNumber: true,
      isMinor: true,
      cell: row => (row.resultBytes === undefined ? '' : bytes(row.resultBytes)),
    },
  ]
  if (!acts) return columns
  const cancel = (row: CallTaskRow): View =>
    html`<${Act}
      label="Cancel"
      about=${row.tool}
      kind="danger"
      act=${() => post('cancel', { task: row.id })}
      done=${again}
    />`
  return [...columns, { head: 'Action', cell: row => (ENDED.has(row.state) ? '' : cancel(row)) }]
}

const HEALTH: Readonly<Record<string, string>> = { ready: 'good', unknown: 'quiet', idle: 'quiet' }

const AGENTS: readonly Column<AgentRow>[] = [
  { head: 'Agent', cell: row => row.id },
  { head: 'Health', cell: row => html`<${Badge} of=${row.health} tone=${HEALTH[row.health] ?? 'warn'} />` },
  { head: 'Says', isText: true, cell: row => row.why ?? row.description ?? row.title ?? '' },
  { head: 'Running', isNumber: true, cell: row => row.running },
  { head: 'Waiting', isNumber: true, isMinor: true, cell: row => row.queued },
]

function taskColumns(acts: boolean, { params }: PageLocation): Column<TaskRow>[] {
  const open = ({ id }: TaskRow): string => hashOf('agents', { ...Object.fromEntries(params), id })
  return [
    {
      head: 'Task',
      cell: row => (acts ? html`<a href=${open(row)}>${shortened(row.id)}</a>` : shortened(row.id)),
    },
    {
      head: 'State',
      cell: row => html`<${Badge} of=${row.state} tone=${row.isError ? 'bad' : TASK_TONES[row.state]} />`,
    },
    { head: 'Agent', cell: row => row.agent ?? '' },
    { head: 'Caller', cell: row => row.subject },
    {
      head: 'Says',
      isText: true,
      isMinor: true,
      cell: row => html`<span class="soft">${row.why ?? row.progress ?? ''}</span>`,
    },
    { head: 'Begun', isNumber: true, isMinor: true, cell: row => ago(row.createdAt) },
    { head: 'Took', isNumber: true, cell: row => duration((row.endedAt ?? Date.now()) - row.createdAt) },
  ]
}

function shortened(id: string): string {
  return id.length > 12 ? `${id.slice(0, 12)}…` : id
}
