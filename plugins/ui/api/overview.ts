import { isObject, type JsonObject, oneLine } from '../../../src/plugin.ts'
import type { ApiHost } from './host.ts'
import type { Route } from './route.ts'
import type { Finding, Overview, ServerRow } from '../types.ts'

/** Time after which the answer to a button no longer waits for the server. */
const PATIENCE_MS = 4000

/** Routes of the first page: the gateway and its servers. */
export function overviewRoutes(host: ApiHost): Route[] {
  return [
    {
      method: 'GET',
      name: 'overview',
      summary: 'The gateway, its servers, what is wrong with them, and the figures of the last hour.',
      answer: 'Gateway, listeners, servers, health and figures',
      run: () => overview(host),
    },
    {
      method: 'POST',
      name: 'server',
      summary: 'Starts, stops or restarts a server.',
      acts: true,
      body: {
        name: { type: 'string', description: 'Name of the server.' },
        action: { type: 'string', enum: ['start', 'stop', 'restart'] },
      },
      required: ['name', 'action'],
      answer: 'The server after that; `isPending` where that takes longer',
      run: ({ body }) => steered(host, `upstream.${String(body.action)}`, { upstream: body.name }),
    },
    {
      method: 'GET',
      name: 'logs',
      summary: 'What the process of a server wrote on stderr of late.',
      query: { name: 'Name of the server.' },
      answer: 'Lines, the oldest first',
      run: ({ text }) => host.control('upstream.logs', { upstream: text('name'), lines: 200 }),
    },
  ]
}

async function overview({ control, records }: ApiHost): Promise<Overview> {
  const seen = await control('ps')
  const { gateway, listeners, upstreams, health } = seen as unknown as {
    gateway: Overview['gateway']
    listeners: Overview['listeners']
    upstreams: JsonObject[]
    health: { level: string; findings: Finding[] }
  }
  const { level, findings } = health
  return {
    gateway,
    listeners,
    level,
    servers: upstreams.map(row => serverOf(row, findings)),
    findings: findings.filter(({ upstream }) => upstream === undefined),
    figures: records.figures(),
  }
}

function serverOf(row: JsonObject, all: readonly Finding[]): ServerRow {
  const { name, type, state, problem, degraded, offers } = row
  const findings = all.filter(({ upstream }) => upstream === name)
  const found: Record<keyof ServerRow, unknown> = {
    ...{ name, type, state, ...runtimeOf(row), ...whatItIs(row) },
    problem: text(problem) ?? text(degraded),
    tools: isObject(offers) ? number(offers.tools) : undefined,
    findings: findings.length === 0 ? undefined : findings,
  }
  const known = Object.entries(found).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known) as unknown as ServerRow
}

function runtimeOf(
  row: JsonObject,
): Record<
  'restarts' | 'inFlight' | 'waiting' | 'cacheHits' | 'cacheMisses' | 'lastError' | 'lastErrorAt',
  unknown
> {
  const runtime = isObject(row.runtime) ? row.runtime : {}
  const { hits, misses } = isObject(row.cache) ? row.cache : {}
  const { waiting } = isObject(row.queue) ? row.queue : {}
  return {
    restarts: number(runtime.restarts),
    inFlight: number(runtime.inFlight),
    waiting: number(waiting),
    cacheHits: number(hits),
    cacheMisses: number(misses),
    lastError: text(runtime.lastError),
    lastErrorAt: number(runtime.lastErrorAt),
  }
}

function whatItIs({ version, era, server }: JsonObject): Record<'protocol' | 'server', unknown> {
  return {
    protocol: typeof version === 'string' ? words(version, era) : undefined,
    server: isObject(server) ? words(server.name, server.version) : undefined,
  }
}

function words(...values: readonly unknown[]): string {
  return values.flatMap(value => text(value) ?? []).join(' ')
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? oneLine(value) : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Runs a verb that may take long, and waits for it only so long: the page hears of the end by itself. */
async function steered({ control, clock }: ApiHost, verb: string, params: JsonObject): Promise<JsonObject> {
  const done = control(verb, params)
  const late = new Promise<JsonObject>(resolve => {
    clock.after(PATIENCE_MS, () => resolve({ isPending: true }))
  })
  // A failure that comes later is shown as the state of the server.
  done.catch(() => undefined)
  return Promise.race([done, late])
}
