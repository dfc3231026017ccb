import type { ApiHost } from './host.ts'
import { ANY, type Route } from './route.ts'

/** Routes over agents and what is said in the tasks that they have, of all callers: that is for those who may act. */
export function agentRoutes({ control }: ApiHost): Route[] {
  return [
    {
      method: 'GET',
      name: 'agents',
      summary: 'Agents and how they do.',
      answer: 'Agents',
      run: () => control('agents.list'),
    },
    {
      method: 'GET',
      name: 'task',
      summary: 'One task: its state, what it asks, and what happened since an event.',
      acts: true,
      query: { id: 'Id of the task.', since: 'Only events after the one of this number.' },
      answer: 'The task and its events',
      run: ({ text, count }) =>
        control('agents.status', { task: text('id') ?? '', since: count('since', ANY) }),
    },
    {
      method: 'GET',
      name: 'output',
      summary: 'A piece of what a task has said, of its changes, or of its events.',
      acts: true,
      query: {
        id: 'Id of the task.',
        what: 'text, diff or log.',
        offset: 'Where it begins, in bytes; `end` of the piece before.',
      },
      answer: 'Text, where it ends, and whether there is more',
      run: ({ text, count }) =>
        control('agents.output', {
          ...{ task: text('id') ?? '', what: text('what') ?? 'text', offset: count('offset', ANY) },
        }),
    },
    ...steeringRoutes(control),
  ]
}

function steeringRoutes(control: ApiHost['control']): Route[] {
  return [
    {
      method: 'POST',
      name: 'reply',
      summary: 'Answers what a task asks.',
      acts: true,
      body: {
        task: { type: 'string' },
        question: { type: 'string', description: 'Id of the question.' },
        action: { type: 'string', enum: ['accept', 'decline', 'cancel'] },
        content: { type: 'object' },
      },
      required: ['task', 'question', 'action'],
      answer: 'The task after that',
      run: ({ body }) => control('agents.reply', body),
    },
  ]
}
