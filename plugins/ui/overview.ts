import type { Clock, JsonObject, PluginApi } from '../../src/plugin.ts'
import { isObject, toOneLine } from '../../src/plugin.ts'
import type { Routes } from './api.ts'
import type { Recorder } from './recorder.ts'
import type { Trials } from './trials.ts'
import type { Finding, Overview, Part, ServerRow } from './types.ts'

/** The answer to a button waits so long for its server. */
const MAX_WAIT_MS = 4000

/** Routes of the first page: the gateway and its servers. */
export function overviewRoutes(deps: RoutesDeps): Routes {
  return {
    'GET overview': { run: () => overview(deps) },
    'POST server': {
      acts: true,
      body: { name: 'string', action: ['start', 'stop', 'restart'] },
      run: ({ body }) => steer(deps, `upstream.${String(body.action)}`, { upstream: body.name }),
    },
    'GET logs': {
      run: ({ text }) => deps.control('upstream.logs', { upstream: text('name'), lines: 200 }),
    },
  }
}

async function overview({ control, recorder }: RoutesDeps): Promise<Overview> {
  const { gateway, listeners, upstreams, health } = (await control('ps')) as unknown as Pick<
    Overview,
    'gateway' | 'listeners'
  > & { upstreams: JsonObject[]; health: { level: string; findings: Finding[] } }
  const { level, findings } = health
  return {
    ...{ gateway, listeners, level },
    servers: upstreams.map(row => serverOf(row, findings)),
    findings: findings.filter(({ upstream }) => upstream === undefined),
    figures: recorder.figures.read(Date.now()),
  }
}

function serverOf(row: JsonObject, all: readonly Finding[]): ServerRow {
  const part = (name: string): JsonObject => (isObject(row[name]) ? row[name] : {})
  const [runtime, cache, queue, server] = [part('runtime'), part('cache'), part('queue'), part('server')]
  const findings = all.filter(({ upstream }) => upstream === row.name)
  const found: Record<keyof ServerRow, unknown> = {
    ...{ name: row.name, type: row.type, state: row.state },
    problem: text(row.problem) ?? text(row.degraded),
    protocol: row.version === undefined ? undefined : words(row.version, row.era),
    server: words(server.name, server.version),
    inFlight: runtime.inFlight,
    waiting: queue.waiting,
    ...{ cacheHits: cache.hits, cacheMisses: cache.misses },
    ...{ lastError: text(runtime.lastError), lastErrorAt: runtime.lastErrorAt },
    findings: findings.length === 0 ? undefined : findings,
  }
  return found as unknown as ServerRow
}

function words(...values: readonly unknown[]): string | undefined {
  return values.flatMap(value => text(value) ?? []).join(' ') || undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? toOneLine(value) : undefined
}

/** Runs a verb that may take long. A failure that comes later is shown as the state of the server. */
function steer({ control, clock }: RoutesDeps, verb: string, params: JsonObject): Promise<JsonObject> {
  const done = control(verb, params)
  done.catch(() => undefined)
  const late = new Promise<JsonObject>(resolve => {
    clock.after(MAX_WAIT_MS, () => resolve({ isPending: true }))
  })
  return Promise.race([done, late])
}

/** What the routes of the API answer from. */
export interface RoutesDeps {
  readonly control: PluginApi['control']
  readonly clock: Clock
  readonly recorder: Recorder
  readonly trials: Trials
  readonly parts: readonly Part[]
}
