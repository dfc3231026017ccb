import type { JsonObject } from '../../../src/plugin.ts'
import type { ApiHost } from './host.ts'
import { missing, type Route } from './route.ts'

const ROWS = { least: 1, most: 200, usual: 100 }

/** Routes over what goes on after its caller was answered: calls of tools, and tasks of agents. */
export function taskRoutes(host: ApiHost): Route[] {
  const { control } = host
  return [
    {
      method: 'GET',
      name: 'tasks',
      summary:
        'What goes on after its caller was answered, of all callers, the newest first: `calls` of tools that the gateway keeps as tasks, and `tasks` of agents. Nothing that was said in them.',
      query: {
        after: 'Only tasks of agents older than the one of this id.',
        limit: 'At most so many of each, up to 200.',
      },
      answer: 'Calls with tool, caller, state and size of the result; tasks of agents',
      async run({ text, count }) {
        const limit = count('limit', ROWS)
        const [calls, tasks] = await Promise.all([
          rowsOf(control('tasks.list', { limit })),
          hasAgents(host) ? rowsOf(control('agents.tasks', { after: text('after'), limit })) : [],
        ])
        return { calls, tasks }
      },
    },
    {
      method: 'POST',
      name: 'cancel',
      summary: 'Cancels a task: a call that goes on, or one of an agent.',
      acts: true,
      body: { task: { type: 'string' } },
      required: ['task'],
      answer: '`cancelled` is false where it had ended',
      async run({ body }) {
        const { found, cancelled } = await control('tasks.cancel', body)
        if (found !== 0) return { cancelled: cancelled !== 0 }
        return hasAgents(host) ? control('agents.cancel', body) : missing('this task is no longer kept')
      },
    },
  ]
}

function hasAgents({ parts }: ApiHost): boolean {
  return parts.includes('agents')
}

async function rowsOf(asked: Promise<JsonObject>): Promise<unknown> {
  return (await asked).tasks
}
