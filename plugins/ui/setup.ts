import type { Config, HttpReply, PluginApi } from '../../src/plugin.ts'
import { readText, STRANGER } from '../../src/plugin.ts'
import { PageAccess } from './page-access.ts'
import { Browsers } from './browser-sessions.ts'
import { listPageListeners, listAuthListeners } from './page-listeners.ts'
import { Recorder } from './recorder.ts'
import { createApiRoutes } from './api-routes.ts'
import { PageSite } from './page-site.ts'
import { ToolTrials } from './tool-trials.ts'
import type { PagePart } from './types.ts'

type UiOptions = NonNullable<Config['ui']>

const NOT_FOUND: HttpReply = { status: 404, headers: { 'content-type': 'text/plain' }, body: 'not found' }

/** State that survives a reload. */
interface UiState {
  readonly browsers: Browsers
  readonly trials: ToolTrials
  readonly recorder: Recorder
  /** Generations that use it. */
  generations: number
}

/** Records calls, and serves the page. */
export function setUpUi(api: PluginApi<UiOptions>): void {
  const { options, config, hooks, clock, hide, slot } = api
  const { path } = options
  const state = slot.gateway<UiState>(() => ({
    browsers: new Browsers(() => clock.now()),
    trials: new ToolTrials(hide),
    recorder: new Recorder(clock, hide, options.calls),
    generations: 0,
  }))
  state.recorder.tap(hooks, options)
  followEvents(api, state)
  const site = createSite(api, state)
  const listeners = listPageListeners({ ...config, ui: options })
  for (const one of [path, `${path}/*`, `${path}/api/*`])
    hooks.http.for(one).tap(request => (listeners.has(request.listener) ? site.serve(request) : NOT_FOUND))
  hooks.control.for('ui.link').tap(() => {
    const url = [...listeners].map(name => api.getListenerUrl(name)).find(one => one !== undefined)
    if (url === undefined)
      return {
        problem: 'no listener can serve the dashboard: add a local one to gateway.yaml, or "auth"',
        add: ['listeners: { main: { type: http } }'],
      }
    return { url: `${new URL(url).origin}${path}/#token=${state.browsers.createLink()}` }
  })
}

function createSite(api: PluginApi<UiOptions>, { browsers, recorder, trials }: UiState): PageSite {
  const { options, config, hooks, clock, control, hide } = api
  const { path } = options
  const admission = new PageAccess(browsers, { ...config, ui: options }, () => clock.now())
  hooks.authenticate.tap({ stage: 'trace', listeners: listAuthListeners(config) }, credentials => {
    const isOurs = credentials.path === path || credentials.path.startsWith(`${path}/`)
    return isOurs && admission.isForPage(credentials) ? STRANGER : undefined
  })
  const parts = listParts(config)
  const routes = createApiRoutes({ control, clock, recorder, trials, parts })
  const replica = config.cluster === undefined ? undefined : () => api.getReplicaId() ?? ''
  // Read once: a gateway keeps its environment.
  let known: { readonly env: string | undefined } | undefined
  const env = async () => (known ??= { env: readText(await control('ps'), 'gateway', 'env') }).env
  return new PageSite({ path, admission, browsers, routes, parts, hide, replica, env })
}

/** Lists the optional parts that are configured. */
function listParts({ approve, cache, agents, oauth, upstreams }: Config): PagePart[] {
  const hasLogins = oauth !== undefined || Object.values(upstreams).some(one => 'oauth' in one)
  const parts: readonly (readonly [PagePart, boolean])[] = [
    ['approvals', approve !== undefined],
    ['logins', hasLogins],
    ['cache', cache !== false],
    ['agents', agents !== undefined],
  ]
  return parts.flatMap(([part, isThere]) => (isThere ? [part] : []))
}

/** Emits events about servers and reloads. */
function followEvents({ hooks, options }: PluginApi<UiOptions>, state: UiState): void {
  const { recorder } = state
  const { streams } = recorder
  hooks.upstreamState.tap((name, now, problem) => {
    streams.publish({ type: 'server', name, state: now, ...(problem === undefined ? {} : { problem }) })
  })
  hooks.ready.tap(() => {
    state.generations++
    recorder.calls.resize(options.calls)
    if (state.generations > 1) streams.publish({ type: 'changed', what: 'configuration' })
  })
  // An open stream would delay the shutdown.
  hooks.stopping.tap(() => streams.closeAll())
  hooks.close.tap(() => {
    state.generations--
    if (state.generations === 0) streams.closeAll()
  })
}
