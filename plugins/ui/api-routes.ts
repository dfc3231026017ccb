import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { ApiRequest, ApiRoutes } from './api.ts'
import { ApiError, EventStreamReply, throwNotFound, ROW_LIMITS } from './api.ts'
import type { ApiRoutesDeps } from './overview-routes.ts'
import { createOverviewRoutes } from './overview-routes.ts'
import { createToolRoutes } from './tool-routes.ts'
import type { ConfigValue, ConfigValues, PagePart } from './types.ts'

const MAX_ENTRIES = 500
const TASK_ROWS = { min: 1, max: 200, usual: 100 }

/** All API routes except login and logout. */
export function createApiRoutes(deps: ApiRoutesDeps): ApiRoutes {
  const byPart: Partial<Record<PagePart, (deps: ApiRoutesDeps) => ApiRoutes>> = {
    approvals: createApprovalRoutes,
    logins: createLoginRoutes,
    cache: createCacheRoutes,
    agents: createAgentRoutes,
  }
  const optional = deps.parts.map(part => byPart[part]?.(deps) ?? {})
  return {
    ...createOverviewRoutes(deps),
    ...createRecordRoutes(deps),
    ...createToolRoutes(deps),
    ...createTaskRoutes(deps),
    ...createConfigRoutes(deps),
    ...deps.trials.createRoutes(),
    ...(Object.assign({}, ...optional) as ApiRoutes),
  }
}

function createRecordRoutes({ recorder: { calls, clients, streams } }: ApiRoutesDeps): ApiRoutes {
  return {
    'GET calls': {
      run({ text, count }) {
        const before = text('before') === undefined ? undefined : count('before')
        const [tool, caller, server] = [text('tool'), text('caller'), text('server')]
        const limit = count('limit', ROW_LIMITS)
        return calls.search({
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
    'GET call': {
      run: ({ count }) => calls.findCall(count('id')) ?? throwNotFound('call not found: it is no longer in memory'),
    },
    'GET clients': {
      run({ count }) {
        const all = clients.list()
        return { clients: all.slice(0, count('limit', ROW_LIMITS)), total: all.length }
      },
    },
    'GET events': {
      run({ user, http }) {
        const stream = streams.openStream(user)
        if (stream === undefined) throw new ApiError(429, 'too many open pages')
        http.onDisconnect(() => stream.end())
        return new EventStreamReply(stream)
      },
    },
  }
}

function createApprovalRoutes({ control }: ApiRoutesDeps): ApiRoutes {
  return {
    'GET approvals': { run: () => control('approvals.list') },
    'POST approval': {
      changesState: true,
      body: { id: 'string', decision: ['approve', 'deny'] },
      run: ({ body }) => control(`approvals.${String(body.decision)}`, { id: body.id }),
    },
  }
}

function createLoginRoutes({ control }: ApiRoutesDeps): ApiRoutes {
  return {
    'GET logins': { run: () => control('login.list') },
    'POST forget-login': {
      changesState: true,
      body: { upstream: 'string', account: 'string' },
      run: ({ body }) => control('login.logout', body),
    },
  }
}

function createCacheRoutes({ control }: ApiRoutesDeps): ApiRoutes {
  return {
    'GET cache': {
      run: ({ text }) => control('cache.ls', { upstream: text('server'), name: text('name'), limit: MAX_ENTRIES }),
    },
    'POST purge': {
      changesState: true,
      body: { upstream: 'string?', name: 'string?', all: 'boolean?' },
      run: ({ body }) => control('cache.purge', body),
    },
  }
}

/** All callers' agents and task content; requires permission to act. */
function createAgentRoutes({ control }: ApiRoutesDeps): ApiRoutes {
  return {
    'GET agents': { run: () => control('agents.list') },
    'GET task': {
      changesState: true,
      run: ({ text, count }) => control('agents.status', { task: text('id') ?? '', since: count('since') }),
    },
    'GET output': {
      changesState: true,
      run({ text, count }) {
        const part = text('what') ?? 'text'
        return control('agents.output', { task: text('id') ?? '', what: part, offset: count('offset') })
      },
    },
    'POST reply': {
      changesState: true,
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

/** Running tool calls and agent tasks, without their content. */
function createTaskRoutes({ control, parts }: ApiRoutesDeps): ApiRoutes {
  const hasAgents = parts.includes('agents')
  return {
    'GET tasks': {
      async run({ text, count }) {
        const limit = count('limit', TASK_ROWS)
        const calls = await control('tasks.list', { limit })
        const agents = hasAgents ? await control('agents.tasks', { after: text('after'), limit }) : { tasks: [] }
        return { calls: calls.tasks, tasks: agents.tasks }
      },
    },
    'POST cancel': {
      changesState: true,
      body: { task: 'string' },
      async run({ body }) {
        const { found, cancelled } = await control('tasks.cancel', body)
        if (found !== 0) return { cancelled: cancelled !== 0 }
        return hasAgents ? control('agents.cancel', body) : throwNotFound('task not found')
      },
    },
  }
}

/** Read-only configuration. */
function createConfigRoutes({ control }: ApiRoutesDeps): ApiRoutes {
  // Cached, because it is costly and constant within a generation.
  let described: Promise<JsonObject> | undefined
  let isPlanning = false
  return {
    'GET config': {
      async run(question) {
        described ??= control('config')
        described.catch(() => (described = undefined))
        return selectConfigValues(await described, question)
      },
    },
    'POST reload': { changesState: true, run: () => control('reload') },
    'POST plan': {
      changesState: true,
      isForOwner: true,
      body: { yaml: 'string' },
      async run({ body }) {
        // A plan builds a complete gateway, so run one at a time.
        if (isPlanning) throw new ApiError(429, 'another plan is running')
        isPlanning = true
        return control('plan', { yaml: body.yaml }).finally(() => (isPlanning = false))
      },
    },
  }
}

function selectConfigValues({ file, origins }: JsonObject, { text, count }: ApiRequest): ConfigValues {
  const search = (text('search') ?? '').toLowerCase()
  const all = (Array.isArray(origins) ? origins.filter(isObject) : []) as unknown as ConfigValue[]
  const matching = all.filter(
    ({ pointer, value, origin }) =>
      (text('defaults') === 'yes' || origin !== 'default') &&
      `${pointer} ${JSON.stringify(value)}`.toLowerCase().includes(search),
  )
  const offset = count('offset')
  return {
    ...(typeof file === 'string' ? { file } : {}),
    values: matching.slice(offset, offset + count('limit', ROW_LIMITS)),
    total: matching.length,
  }
}
