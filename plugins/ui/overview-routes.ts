import type { Clock, JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, toOneLine } from '../../src/plugin.ts'
import type { ApiRoutes } from './api.ts'
import type { Recorder } from './figure-recorder.ts'
import type { ToolTrials } from './tool-trials.ts'
import type { HealthFinding, Overview, PagePart, ServerRow } from './types.ts'

/** Maximum wait for a server action. */
const MAX_WAIT_MS = 4000

/** Routes for the overview page. */
export function createOverviewRoutes(deps: ApiRoutesDeps): ApiRoutes {
  return {
    'GET overview': { run: () => readOverview(deps) },
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

async function readOverview({ control, recorder }: ApiRoutesDeps): Promise<Overview> {
  const { gateway, listeners, upstreams, health } = (await control('ps')) as unknown as Pick<
    Overview,
    'gateway' | 'listeners'
  > & { upstreams: JsonObject[]; health: { level: string; findings: HealthFinding[] } }
  const { level, findings } = health
  return {
    ...{ gateway, listeners, level },
    servers: upstreams.map(row => toServerRow(row, findings)),
    findings: findings.filter(({ upstream }) => upstream === undefined),
    figures: recorder.figures.read(Date.now()),
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

export interface ApiRoutesDeps {
  readonly control: PluginApi['control']
  readonly clock: Clock
  readonly recorder: Recorder
  readonly trials: ToolTrials
  readonly parts: readonly PagePart[]
}
