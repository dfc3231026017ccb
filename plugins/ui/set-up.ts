import type { Config, HttpReply, PluginApi } from '../../src/plugin.ts'
import { STRANGER } from '../../src/plugin.ts'
import { Admission } from './admission.ts'
import { Browsers } from './browsers.ts'
import { listenersOfPage, listenersWithAuth } from './listeners.ts'
import { Recorder } from './recorder.ts'
import { apiRoutes } from './routes.ts'
import { Site } from './files.ts'
import { Trials } from './trials.ts'
import type { Part } from './types.ts'

type Options = NonNullable<Config['ui']>

const NOT_HERE: HttpReply = { status: 404, headers: { 'content-type': 'text/plain' }, body: 'not found' }

/** State that outlives a reload. */
interface State {
  readonly browsers: Browsers
  readonly trials: Trials
  readonly recorder: Recorder
  /** URLs of listeners, by name. */
  readonly urls: Map<string, string>
  /** Generations that use it. */
  generations: number
}

/** Records what the page shows, and serves it. */
export function setUp(api: PluginApi<Options>): void {
  const { options, config, hooks, clock, hide, slot } = api
  const { path } = options
  const state = slot.gateway<State>(() => ({
    browsers: new Browsers(() => clock.now()),
    trials: new Trials(hide),
    recorder: new Recorder(clock, hide, options.calls),
    urls: new Map(),
    generations: 0,
  }))
  state.recorder.tap(hooks, options, clock)
  follow(api, state)
  const site = siteOf(api, state)
  const listeners = listenersOfPage({ ...config, ui: options })
  for (const one of [path, `${path}/*`, `${path}/api/*`])
    hooks.http.for(one).tap(request => (listeners.has(request.listener) ? site.serve(request) : NOT_HERE))
  hooks.control.for('ui.link').tap(() => {
    const url = [...listeners].map(name => state.urls.get(name)).find(one => one !== undefined)
    if (url === undefined)
      return { problem: 'no listener serves the page: it needs one of this machine, or "auth"' }
    return { url: `${url}${path}/#token=${state.browsers.link()}` }
  })
}

function siteOf(api: PluginApi<Options>, { browsers, recorder, trials }: State): Site {
  const { options, config, hooks, clock, control, hide } = api
  const { path } = options
  const admission = new Admission(browsers, { ...config, ui: options }, () => clock.now())
  hooks.authenticate.tap({ stage: 'trace', listeners: listenersWithAuth(config) }, credentials => {
    const isOurs = credentials.path === path || credentials.path.startsWith(`${path}/`)
    return isOurs && admission.isForPage(credentials) ? STRANGER : undefined
  })
  const parts = partsOf(config)
  const routes = apiRoutes({ control, clock, recorder, trials, parts })
  const replica = config.cluster === undefined ? undefined : () => api.getReplicaId() ?? ''
  return new Site({ path, admission, browsers, routes, parts, hide, replica })
}

/** Parts that a configuration has. */
function partsOf({ approve, cache, agents, oauth, upstreams }: Config): Part[] {
  const hasLogins = oauth !== undefined || Object.values(upstreams).some(one => 'oauth' in one)
  const parts: readonly (readonly [Part, boolean])[] = [
    ['approvals', approve !== undefined],
    ['logins', hasLogins],
    ['cache', cache !== false],
    ['agents', agents !== undefined],
  ]
  return parts.flatMap(([part, isThere]) => (isThere ? [part] : []))
}

/** Follows servers and the life of the gateway. */
function follow({ hooks, options }: PluginApi<Options>, state: State): void {
  const { urls, recorder } = state
  const { streams } = recorder
  hooks.upstreamState.tap((name, now, problem) => {
    streams.emit({ type: 'server', name, state: now, ...(problem === undefined ? {} : { problem }) })
  })
  hooks.listening.tap(({ name, url }) => {
    if (url !== undefined) urls.set(name, new URL(url).origin)
  })
  hooks.ready.tap(() => {
    state.generations++
    recorder.calls.resize(options.calls)
    if (state.generations > 1) streams.emit({ type: 'changed', what: 'configuration' })
  })
  // An open stream would delay the stop.
  hooks.stopping.tap(() => streams.end())
  hooks.close.tap(() => {
    state.generations--
    if (state.generations === 0) streams.end()
  })
}
