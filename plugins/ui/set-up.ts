import {
  type Config,
  type HttpReply,
  type JsonObject,
  type PluginApi,
  SharedMemory,
  STRANGER,
} from '../../src/plugin.ts'
import { Admission } from './access/admission.ts'
import { Browsers } from './access/browsers.ts'
import { actingRoutes } from './api/acting.ts'
import { configRoutes } from './api/config.ts'
import { type ApiHost, partsOf } from './api/host.ts'
import { lookingRoutes } from './api/looking.ts'
import { openApi } from './api/openapi.ts'
import { overviewRoutes } from './api/overview.ts'
import type { Route } from './api/route.ts'
import { taskRoutes } from './api/tasks.ts'
import { Trials } from './api/trials.ts'
import { coveredBy, servedBy } from './listeners.ts'
import { Clients } from './record/clients.ts'
import { Ledger } from './record/ledger.ts'
import { answerVerbs, ownRecords, type Records } from './record/records.ts'
import { recordCalls } from './record/recorder.ts'
import { Streams } from './record/streams.ts'
import { NAMELESS, Site } from './site.ts'
import type { Part } from './types.ts'

type Options = NonNullable<Config['ui']>

/** Parts of the page that are recorded for it alone. */
const RECORDED: readonly Part[] = ['calls', 'clients', 'trials']

const NOT_HERE: HttpReply = { status: 404, headers: { 'content-type': 'text/plain' }, body: 'not found' }

/** State that outlives a reload: browsers that are logged in, calls of late, streams that are open. */
interface State {
  readonly browsers: Browsers
  readonly clients: Clients
  readonly streams: Streams
  readonly trials: Trials
  readonly records: Records
  /** Calls of late. */
  readonly ledger: Ledger
  /** URLs of listeners, by name. */
  readonly urls: Map<string, string>
  /** Generations that use it. */
  owners: number
}

function stateOf({ clock, hide, options }: PluginApi<Options>): State {
  const clients = new Clients()
  const streams = new Streams(clock, hide)
  const ledger = new Ledger(clock, streams, options.calls)
  return {
    ...{ clients, streams, ledger, records: ownRecords(ledger, clients) },
    browsers: new Browsers(new SharedMemory({ now: () => clock.now() }).of({})),
    trials: new Trials(hide),
    urls: new Map(),
    owners: 0,
  }
}

/** Taps what the page shows, and serves it. */
export async function setUp(api: PluginApi<Options>): Promise<void> {
  const { options, config, hooks, clock, slot } = api
  const state = slot.gateway(() => stateOf(api))
  const { browsers, clients, ledger } = state
  await browsers.begin()
  follow(api, state)
  recordCalls(hooks, { ledger, clients }, { options, clock })
  answerVerbs(hooks, ledger, clients)
  const site = siteOf(api, state)
  const served = servedBy({ ...config, ui: options })
  for (const path of [options.path, `${options.path}/*`, `${options.path}/api/*`])
    hooks.http.for(path).tap(request => (served.has(request.listener) ? site.serve(request) : NOT_HERE))
  hooks.control.for('ui.link').tap(async () => {
    const url = [...served].map(name => state.urls.get(name)).find(one => one !== undefined)
    if (url === undefined)
      return { problem: 'no listener serves the page: it needs one of this machine, or "auth"' }
    return { url: `${url}${options.path}/#token=${await browsers.link()}` }
  })
}

function siteOf(api: PluginApi<Options>, state: State): Site {
  const { options, config, hooks, clock, control, hide } = api
  const { browsers, trials, records, streams } = state
  const admission = new Admission(browsers, { options, auth: config.auth, now: () => clock.now() })
  const parts = [...partsOf(config), ...RECORDED]
  const { path } = options
  const isOurs = (asked: string): boolean => asked === path || asked.startsWith(`${path}/`)
  // Without authentication there is nothing to leave out.
  hooks.authenticate.tap({ stage: 'trace', listeners: coveredBy(config) }, credentials =>
    isOurs(credentials.path) && admission.isForPage(credentials) ? STRANGER : undefined,
  )
  // It is the same for as long as this generation is in force.
  let described: Promise<JsonObject> | undefined
  const describedConfig = (): Promise<JsonObject> =>
    (described ??= control('config').catch((error: unknown) => {
      described = undefined
      throw error
    }))
  const host: ApiHost = { control, describedConfig, clock, records, streams, trials, parts }
  const routes = [
    ...overviewRoutes(host),
    ...lookingRoutes(host),
    ...actingRoutes(host),
    ...taskRoutes(host),
    ...configRoutes(host),
    ...trials.routes(),
  ]
  const site = { path, admission, browsers, routes: withDescription(routes), parts, hide }
  return new Site(config.cluster === undefined ? site : { ...site, replica: () => api.place() ?? '' })
}

function withDescription(routes: readonly Route[]): Route[] {
  const own: Route = {
    method: 'GET',
    name: 'openapi.json',
    summary: 'This description.',
    answer: 'An OpenAPI document',
    run: ({ http }) => openApi([...routes, own], http.gate?.info ?? NAMELESS),
  }
  return [...routes, own]
}

/** Hears of clients, of servers, and of the life of the gateway. */
function follow({ hooks, options }: PluginApi<Options>, state: State): void {
  const { clients, streams, urls } = state
  hooks.session.tap(session => clients.opened(session))
  hooks.sessionEnd.tap(session => clients.closed(session))
  hooks.upstreamState.tap((name, now, problem) => {
    streams.tell({ type: 'server', name, state: now, ...(problem === undefined ? {} : { problem }) })
  })
  hooks.listening.tap(({ name, url }) => {
    if (url !== undefined) urls.set(name, new URL(url).origin)
  })
  hooks.ready.tap(() => {
    state.owners++
    state.ledger.calls.resize(options.calls)
    if (state.owners > 1) streams.tell({ type: 'changed', what: 'configuration' })
  })
  // A stream that is open would hold the end up.
  hooks.stopping.tap(() => streams.end())
  hooks.close.tap(() => {
    state.owners--
    if (state.owners === 0) streams.end()
  })
}
