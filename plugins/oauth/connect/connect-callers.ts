import { randomBytes } from 'node:crypto'
import type { Config, PluginApi, Principal } from '../../../src/plugin.ts'
import { STRANGER } from '../../../src/plugin.ts'
import type { OAuthService } from '../service.ts'
import { hasBrowserLogins } from '../oauth-upstreams.ts'
import type { LoginRedirectDeps } from './login-redirect.ts'
import { wrapWithLogins } from './login-redirect.ts'
import { RequestLimiter, BrowserStore, ReplicaNames } from './browsers.ts'
import type { Proof } from './login-links.ts'
import { LoginLinks } from './login-links.ts'
import { IdentityProvider } from './identity-provider.ts'
import type { LoginPreview } from './login-pages.ts'
import { CALLBACK, CONNECT, isPagePath, LoginPages, PERSON } from './login-pages.ts'

/** API key issuer. */
const KEYS_ISSUER = 'api-key'

/** Links and browsers, which outlive reloads. */
export class ConnectState {
  readonly links: LoginLinks
  readonly browsers: BrowserStore
  readonly requestLimiter: RequestLimiter
  /** Bound origins by listener name. */
  readonly bound = new Map<string, string>()
  readonly names: ReplicaNames

  constructor({ clock, shared, getReplicaId }: Pick<PluginApi, 'clock' | 'shared' | 'getReplicaId'>) {
    this.names = new ReplicaNames({ shared, getReplicaId })
    this.links = new LoginLinks(clock, () => this.names.createName('link'))
    // Each replica knows only its own browsers.
    this.browsers = new BrowserStore(clock, shared === undefined ? '' : `-${randomBytes(4).toString('hex')}`)
    this.requestLimiter = new RequestLimiter(clock)
  }
}

/** Redirects callers to login pages, and serves these pages. */
export function connectCallers(api: PluginApi<Config['oauth']>, service: OAuthService, state: ConnectState): void {
  const { clock, config, hooks, log, options } = api
  const person = options?.person
  const identityProvider = person === undefined ? undefined : new IdentityProvider(person, api)
  const deps: LoginRedirectDeps = {
    links: state.links,
    wait: ms => new Promise(resolve => void clock.after(ms, resolve)),
    hasLoggedIn: (account, upstream) => service.waiting.hasLoggedIn(upstream, service.flow(upstream).resource, account),
    getBaseUrl: listener => resolveBaseUrl(config, listener, state.bound.get(listener)),
    getProof: principal => selectProof(config, identityProvider, principal),
  }
  const pages = new LoginPages({
    ...deps,
    ...{ browsers: state.browsers, requestLimiter: state.requestLimiter, names: state.names },
    ...{ logins: service.logins, identityProvider, log },
    previewLogin: (upstream, account) => previewLogin(service, upstream, account),
    record: event => api.record(event),
  })
  hooks.listening.tap(({ name, url }) => {
    if (url !== undefined) state.bound.set(name, new URL(url).origin)
  })
  hooks.dispatch.tap({ phase: 'policy' }, (next, { name, spec }) =>
    hasBrowserLogins(spec) ? wrapWithLogins(name, next, deps) : undefined,
  )
  // Without `auth` there are no callers to log in.
  hooks.authenticate.tap({ stage: 'trace', listeners: listAuthListeners(config) }, ({ path }) =>
    isPagePath(path) ? STRANGER : undefined,
  )
  for (const path of [`${CONNECT}*`, PERSON, CALLBACK]) hooks.http.for(path).tap(request => pages.serveRequest(request))
}

async function previewLogin(service: OAuthService, upstream: string, account: string): Promise<LoginPreview> {
  const flow = service.flow(upstream)
  const { server, scopes } = await flow.prepareLogin(account, [])
  return { host: new URL(flow.spec.url).host, issuer: server.issuer, scopes }
}

function selectProof(
  { auth }: Config,
  identityProvider: IdentityProvider | undefined,
  { issuer }: Principal,
): Proof | undefined {
  if (issuer === identityProvider?.issuer) return 'person'
  const isOfMachine = issuer === KEYS_ISSUER || auth?.certificates?.some(one => one.issuer === issuer) === true
  return isOfMachine ? 'code' : undefined
}

/** Returns the gateway's URL as clients use it; undefined for a wildcard address. */
function resolveBaseUrl({ listeners }: Config, name: string, bound: string | undefined): string | undefined {
  const spec = listeners[name]
  if (spec?.type !== 'http') return undefined
  if (spec.publicUrl !== undefined) {
    const { origin, pathname } = new URL(spec.publicUrl)
    return origin + pathname.replace(/\/+$/, '')
  }
  return /^(0\.0\.0\.0|\[?::\]?)$/.test(spec.host) ? undefined : bound
}

function listAuthListeners({ auth, listeners }: Config): readonly string[] {
  if (auth === undefined) return []
  return auth.listeners ?? Object.keys(listeners).filter(name => listeners[name]?.type === 'http')
}
