import type { Config, Plugin } from '../../src/plugin.ts'
import { checkOAuth } from './config-check.ts'
import { ERRORS } from './errors.ts'
import { hasCallerLogins, hasOAuth, isPerCaller } from './types.ts'

/** Logs in to upstreams with OAuth, and adds the tokens to their requests. */
export const oauth: Plugin<Config['oauth']> = {
  name: 'oauth',
  sharesState: true,
  claims: { section: 'oauth', upstream: ['oauth'], makesUpstreams: true },
  errors: ERRORS,
  check: checkOAuth,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { hooks, slot, config, clock } = api
    // Load the login code only if an upstream needs it.
    const [{ OAuthService }, { watchLogins }, { documentUrl, serveDocument }, { answerVerbs }] = await Promise.all([
      import('./service.ts'),
      import('./login-watch.ts'),
      import('./flow/client-identity.ts'),
      import('./control-verbs.ts'),
    ])
    const service = slot.gateway(() => new OAuthService(api))
    const document = documentUrl(config)
    service.addGeneration(api, document)
    if (document !== undefined) serveDocument(hooks, document)
    hooks.configure.tap(isolateCallers)
    hooks.authorize.tap((spec, { name }) => (hasOAuth(spec) ? service.createAuthorizer(name, spec) : undefined))
    answerVerbs(hooks, service, config)
    watchLogins(hooks, service, clock)
    hooks.close.tap(() => service.removeGeneration())
    if (!hasCallerLogins(config)) return
    const [{ connectCallers }, { ConnectState }] = await Promise.all([
      import('./connect/connect-callers.ts'),
      import('./connect/login-state.ts'),
    ])
    const state = slot.gateway(() => new ConnectState(api))
    connectCallers(api, service, state)
  },
}

/** Isolates sessions and caches per caller, as each login may get different answers. */
function isolateCallers(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, spec]) => {
    const isShared = hasOAuth(spec) && isPerCaller(spec) && spec.isolation === 'shared'
    return [name, isShared ? { ...spec, isolation: 'principal' as const } : spec] as const
  })
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}
