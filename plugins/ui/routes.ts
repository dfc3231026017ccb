import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { Question, Routes } from './api.ts'
import { ApiError, EventReply, missing, ROWS } from './api.ts'
import type { RoutesDeps } from './overview.ts'
import { overviewRoutes } from './overview.ts'
import { toolRoutes } from './tools.ts'
import type { ConfigValue, ConfigValues, Part } from './types.ts'

const MAX_ENTRIES = 500
const TASK_ROWS = { min: 1, max: 200, usual: 100 }

/** All that the API answers, besides logging in and out. */
export function apiRoutes(deps: RoutesDeps): Routes {
  const byPart: Partial<Record<Part, (deps: RoutesDeps) => Routes>> = {
    approvals: approvalRoutes,
    logins: loginRoutes,
    cache: cacheRoutes,
    agents: agentRoutes,
  }
  const optional = deps.parts.map(part => byPart[part]?.(deps) ?? {})
  return {
    ...overviewRoutes(deps),
    ...recordRoutes(deps),
    ...toolRoutes(deps),
    ...taskRoutes(deps),
    ...configRoutes(deps),
    ...deps.trials.routes(),
    ...(Object.assign({}, ...optional) as Routes),
  }
}

function recordRoutes({ recorder: { calls, clients, streams } }: RoutesDeps): Routes {
  return {
    'GET calls': {
      run({ text, count }) {
        const before = text('before') === undefined ? undefined : count('before')
        const [tool, caller, server] = [text('tool'), text('caller'), text('server')]
        const limit = count('limit', ROWS)
        return calls.find({
          tool,
          caller,
          server,
          outcome: text('outcome'),
          before,
          after: count('after'),
          limit,
        })
      },
    },
    'GET call': { run: ({ count }) => calls.get(count('id')) ?? missing('this call is no longer kept') },
    'GET clients': {
      run({ count }) {
        const all = clients.list()
        return { clients: all.slice(0, count('limit', ROWS)), total: all.length }
      },
    },
    'GET events': {
      run({ reader, http }) {
        const stream = streams.open(reader)
        if (stream === undefined) throw new ApiError(429, 'too many pages are open')
        http.onDisconnect(() => stream.end())
        return new EventReply(stream)
      },
    },
  }
}

function approvalRoutes({ control }: RoutesDeps): Routes {
  return {
    'GET approvals': { run: () => control('approvals.list') },
    'POST approval': {
      acts: true,
      body: { id: 'string', decision: ['approve', 'deny'] },
      run: ({ body }) => control(`approvals.${String(body.decision)}`, { id: body.id }),
    },
  }
}

function loginRoutes({ control }: RoutesDeps): Routes {
  return {
    'GET logins': { run: () => control('login.list') },
    'POST forget-login': {
      acts: true,
      body: { upstream: 'string', account: 'string' },
      run: ({ body }) => control('login.logout', body),
    },
  }
}

function cacheRoutes({ control }: RoutesDeps): Routes {
  return {
    'GET cache': {
      run: ({ text }) =>
        control('cache.ls', { upstream: text('server'), name: text('name'), limit: MAX_ENTRIES }),
    },
    'POST purge': {
      acts: true,
      body: { upstream: 'string?', name: 'string?', all: 'boolean?' },
      run: ({ body }) => control('cache.purge', body),
    },
  }
}

/** Agents, and what is said in the tasks of all callers: that is for readers who may act. */
function agentRoutes({ control }: RoutesDeps): Routes {
  return {
    'GET agents': { run: () => control('agents.list') },
    'GET task': {
      acts: true,
      run: ({ text, count }) => control('agents.status', { task: text('id') ?? '', since: count('since') }),
    },
    'GET output': {
      acts: true,
      run({ text, count }) {
        const what = text('what') ?? 'text'
        return control('agents.output', { task: text('id') ?? '', what, offset: count('offset') })
      },
    },
    'POST reply': {
      acts: true,
      body: {
        task: 'string',
        question: 'string',
        action: ['accept', 'decline', 'cancel'],
        content: 'object?',
      },
      run: ({ body }) => control('agents.reply', body),
    },
  }
}

/** Calls of tools that continue as tasks, and tasks of agents, without what was said in them. */
function taskRoutes({ control, parts }: RoutesDeps): Routes {
  const hasAgents = parts.includes('agents')
  return {
    'GET tasks': {
      async run({ text, count }) {
        const limit = count('limit', TASK_ROWS)
        const calls = await control('tasks.list', { limit })
        const agents = hasAgents
          ? await control('agents.tasks', { after: text('after'), limit })
          : { tasks: [] }
        return { calls: calls.tasks, tasks: agents.tasks }
      },
    },
    'POST cancel': {
      acts: true,
      body: { task: 'string' },
      async run({ body }) {
        const { found, cancelled } = await control('tasks.cancel', body)
        if (found !== 0) return { cancelled: cancelled !== 0 }
        return hasAgents ? control('agents.cancel', body) : missing('this task is no longer kept')
      },
    },
  }
}

/** The configuration; no route writes it. */
function configRoutes({ control }: RoutesDeps): Routes {
  // Costly for a large one, and the same for as long as this generation is in force.
  let described: Promise<JsonObject> | undefined
  let isPlanning = false
  return {
    'GET config': {
      async run(question) {
        described ??= control('config')
        described.catch(() => (described = undefined))
        return configPage(await described, question)
      },
    },
    'POST reload': { acts: true, run: () => control('reload') },
    'POST plan': {
      acts: true,
      isForOwner: true,
      body: { yaml: 'string' },
      async run({ body }) {
        // A plan builds a whole gateway.
        if (isPlanning) throw new ApiError(429, 'another plan is being made')
        isPlanning = true
        return control('plan', { yaml: body.yaml }).finally(() => (isPlanning = false))
      },
    },
  }
}

function configPage({ file, origins }: JsonObject, { text, count }: Question): ConfigValues {
  const search = (text('search') ?? '').toLowerCase()
  const all = (Array.isArray(origins) ? origins.filter(isObject) : []) as unknown as ConfigValue[]
  const found = all.filter(
    ({ pointer, value, origin }) =>
      (text('defaults') === 'yes' || origin !== 'default') &&
      `${pointer} ${JSON.stringify(value)}`.toLowerCase().includes(search),
  )
  const offset = count('offset')
  return {
    ...(typeof file === 'string' ? { file } : {}),
    values: found.slice(offset, offset + count('limit', ROWS)),
    total: found.length,
  }
}
