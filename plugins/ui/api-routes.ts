import type { Clock, JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, toOneLine } from '../../src/plugin.ts'
import type { ApiRequest, ApiRoutes } from './api.ts'
import { ApiError, EventStreamReply, throwNotFound, ROW_LIMITS } from './api.ts'
import type { Recorder } from './recorder.ts'
import { createToolRoutes } from './tool-routes.ts'
import type { ToolTrials } from './tool-trials.ts'
import type { ConfigValue, ConfigValues, HealthFinding, Overview, PagePart, ServerRow } from './types.ts'

export interface ApiRoutesDeps {
  readonly control: PluginApi['control']
  readonly clock: Clock
  readonly recorder: Recorder
  readonly trials: ToolTrials
  readonly parts: readonly PagePart[]
}

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
    ...createToolRoutes(deps.control),
    ...createTaskRoutes(deps),
    ...createConfigRoutes(deps),
    ...deps.trials.createRoutes(),
    ...(Object.assign({}, ...optional) as ApiRoutes),
  }
}

/** Maximum wait for a server action. */
const MAX_WAIT_MS = 4000

/** Routes for the overview page. */
function createOverviewRoutes(deps: ApiRoutesDeps): ApiRoutes {
  return {
    'GET overview': { run: () => readOverview(deps) },
    'GET figures': { run: ({ text }) => deps.recorder.figures.read(text('span'), text('server')) },
    'POST server': {
      changesState: true,
      body: { name: 'string', action: ['start', 'stop', 'restart'] },
      run: ({ body }) => runVerb(deps, `upstream.${String(body.action)}`, { upstream: body.name }),
    },
    'GET logs': {
      run: ({ text }) => deps.control('upstream.logs', { upstream: text('name'), lines: 200 }),
    },
  }
}

async function readOverview({ control }: ApiRoutesDeps): Promise<Overview> {
  const { gateway, listeners, upstreams, health } = (await control('ps')) as unknown as Pick<
    Overview,
    'gateway' | 'listeners'
  > & { upstreams: JsonObject[]; health: { level: string; findings: HealthFinding[] } }
  const { level, findings } = health
  return {
    ...{ gateway, listeners, level },
    servers: upstreams.map(row => toServerRow(row, findings)),
    findings: findings.filter(({ upstream }) => upstream === undefined),
  }
}

function toServerRow(row: JsonObject, all: readonly HealthFinding[]): ServerRow {
  const part = (name: string): JsonObject => (isObject(row[name]) ? row[name] : {})
  const [runtime, cache, queue, server] = [part('runtime'), part('cache'), part('queue'), part('server')]
  const findings = all.filter(({ upstream }) => upstream === row.name)
  const cells: Record<keyof ServerRow, unknown> = {
    ...{ name: row.name, type: row.type, state: row.state },
    problem: toLine(row.problem) ?? toLine(row.degraded),
    protocol: row.version === undefined ? undefined : joinWords(row.version, row.era),
    server: joinWords(server.name, server.version),
    ...{ pid: row.pid, rss: row.rss, restarts: runtime.restarts },
    inFlight: runtime.inFlight,
    waiting: queue.waiting,
    ...{ cacheHits: cache.hits, cacheMisses: cache.misses },
    ...{ lastError: toLine(runtime.lastError), lastErrorAt: runtime.lastErrorAt },
    findings: findings.length === 0 ? undefined : findings,
  }
  return cells as unknown as ServerRow
}

function joinWords(...values: readonly unknown[]): string | undefined {
  return values.flatMap(value => toLine(value) ?? []).join(' ') || undefined
}

function toLine(value: unknown): string | undefined {
  return typeof value === 'string' ? toOneLine(value) : undefined
}

/** Runs a verb; later failures appear as the server state. */
function runVerb({ control, clock }: ApiRoutesDeps, verb: string, params: JsonObject): Promise<JsonObject> {
  const done = control(verb, params)
  done.catch(() => undefined)
  const timeout = new Promise<JsonObject>(resolve => {
    clock.after(MAX_WAIT_MS, () => resolve({ isPending: true }))
  })
  return Promise.race([done, timeout])
}

function createRecordRoutes({ recorder: { calls, clients, streams } }: ApiRoutesDeps): ApiRoutes {
  return {
    'GET calls': {
      run({ text, count }) {
        const before = text('before') === undefined ? undefined : count('before')
        const [tool, caller, server, outcome] = [text('tool'), text('caller'), text('server'), text('outcome')]
        return calls.search({ tool, caller, server, outcome, before, limit: count('limit', ROW_LIMITS) })
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
        http.onDisconnect(() => streams.close(stream))
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
  return {
    'GET config': {
      async run(question) {
        described ??= control('config')
        described.catch(() => (described = undefined))
        return selectConfigValues(await described, question)
      },
    },
    'POST reload': { changesState: true, run: () => control('reload') },
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
