import type { Config, HttpReply, PluginApi } from '../../src/plugin.ts'
import { STRANGER } from '../../src/plugin.ts'
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

/** Records calls, and serves the page. */
export function setUpUi(api: PluginApi<UiOptions>): void {
  const { options, config, hooks, slot } = api
  const { path } = options
  const state = slot.gateway(() => createState(api))
  state.recorder.tap(hooks, options)
  hooks.listening.tap(({ name, url }) => {
    if (url !== undefined) state.urls.set(name, new URL(url).origin)
  })
  hooks.ready.tap(() => state.recorder.calls.resize(options.calls))
  const site = createSite(api, state)
  const listeners = listPageListeners({ ...config, ui: options })
  for (const one of [path, `${path}/*`, `${path}/api/*`])
    hooks.http.for(one).tap(request => (listeners.has(request.listener) ? site.serve(request) : NOT_FOUND))
  hooks.control.for('ui.link').tap(() => {
    const url = [...listeners].map(name => state.urls.get(name)).find(one => one !== undefined)
    if (url === undefined)
      return { problem: 'no listener can serve the dashboard: add a local HTTP listener, or "auth"' }
    return { url: `${url}${path}/#token=${state.browsers.createLink()}` }
  })
}

/** State that survives a reload. */
function createState({ clock, hide, options }: PluginApi<UiOptions>) {
  return {
    browsers: new Browsers(() => clock.now()),
    trials: new ToolTrials(hide),
    recorder: new Recorder(options.calls),
    /** Listener URLs by name. */
    urls: new Map<string, string>(),
  }
}

function createSite(
  api: PluginApi<UiOptions>,
  { browsers, recorder, trials }: ReturnType<typeof createState>,
): PageSite {
  const { options, config, hooks, clock, control, hide } = api
  const { path } = options
  const admission = new PageAccess(browsers, { ...config, ui: options })
  hooks.authenticate.tap({ stage: 'trace', listeners: listAuthListeners(config) }, credentials => {
    const isOurs = credentials.path === path || credentials.path.startsWith(`${path}/`)
    return isOurs && admission.isForPage(credentials) ? STRANGER : undefined
  })
  const parts = listParts(config)
  const routes = createApiRoutes({ control, clock, recorder, trials, parts })
  const replica = config.cluster === undefined ? undefined : () => api.getReplicaId() ?? ''
  return new PageSite({ path, admission, browsers, routes, parts, hide, replica })
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
