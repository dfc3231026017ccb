import { html } from 'htm/preact'
import type { AgentRow, TaskRow } from '../../types.ts'
import { urlOf } from '../api.ts'
import { Badge, Page, Problem, type View } from '../parts.ts'
import { hashOf, type PageProps, type Place, useAnswer, useList } from '../state.ts'
import { type Column, List, More } from '../table.ts'
import { ago, duration } from '../texts.ts'
import { OpenedTask, TASK_TONES } from './task.ts'

const EVERY_MS = 5000
const TASKS_EVERY_MS = 2000
const LIMIT = 100

/** Agents, and the tasks that callers gave them. */
export function Agents({ me, place }: PageProps): View {
  const agents = useAnswer<{ agents: AgentRow[] }>(urlOf('agents'), { every: EVERY_MS })
  const tasks = useList<{ tasks: TaskRow[] }, TaskRow>(urlOf('tasks', { limit: LIMIT }), {
    every: TASKS_EVERY_MS,
    rowsOf: answer => answer.tasks,
    nextOf: answer =>
      answer.tasks.length < LIMIT
        ? undefined
        : urlOf('tasks', { limit: LIMIT, after: answer.tasks.at(-1)?.id }),
  })
  const id = place.params.get('id')
  return html`<${Page} title="Agents">
    <${Problem} of=${agents.problem ?? tasks.problem} />
    ${id === null || !me.acts ? null : html`<${OpenedTask} id=${id} place=${place} key=${id} />`}
    <${List}
      label="Agents"
      columns=${AGENTS}
      rows=${agents.data?.agents}
      keyOf=${(row: AgentRow) => row.id}
      none="No agent is configured."
    />
    <h2>Tasks</h2>
    <${List}
      label="Tasks"
      columns=${taskColumns(me.acts, place)}
      rows=${tasks.rows}
      keyOf=${(row: TaskRow) => row.id}
      none="No caller has given an agent a task yet."
    />
    <${More} further=${tasks.further} />
  </${Page}>`
}

const HEALTH: Readonly<Record<string, string>> = { ready: 'good', unknown: 'quiet', idle: 'quiet' }

const AGENTS: readonly Column<AgentRow>[] = [
  { head: 'Agent', cell: row => row.id },
  { head: 'Health', cell: row => html`<${Badge} of=${row.health} tone=${HEALTH[row.health] ?? 'warn'} />` },
  { head: 'Says', isText: true, cell: row => row.why ?? row.description ?? row.title ?? '' },
  { head: 'Running', isNumber: true, cell: row => row.running },
  { head: 'Waiting', isNumber: true, isMinor: true, cell: row => row.queued },
  { head: 'Left today', isNumber: true, isMinor: true, cell: row => row.left_today ?? '' },
]

function taskColumns(acts: boolean, { params }: Place): Column<TaskRow>[] {
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
