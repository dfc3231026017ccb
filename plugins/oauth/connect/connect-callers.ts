import { randomUUID } from 'node:crypto'
import type { Answer, Call, ClientDescription, Config, Dispatch, PluginApi, Principal } from '../../../src/plugin.ts'
import { answer, GatewayError, isObject, refuse, RPC, STRANGER, toolError, toOneLine } from '../../../src/plugin.ts'
import { createWaitingKey, formatCaller, getAccount } from '../callers.ts'
import type { OAuthService } from '../service.ts'
import { hasBrowserLogins } from '../types.ts'
import type { ConnectState, LoginLink, LoginLinks, Proof } from './login-state.ts'
import { IdentityProvider } from './identity-provider.ts'
import type { LoginPreview } from './login-pages.ts'
import { CALLBACK, CONNECT, isPagePath, LoginPages, PERSON } from './login-pages.ts'

interface LoginRedirectDeps {
  readonly links: LoginLinks
  wait(ms: number): Promise<void>
  /** The gateway's URL for a listener's clients; undefined if browsers cannot reach it. */
  getBaseUrl(listener: string): string | undefined
  /** Returns true if a caller has logged in since it was asked to. */
  hasLoggedIn(account: string, upstream: string): boolean
  /** How a caller can prove its identity in a browser; undefined if it cannot. */
  getProof(principal: Principal): Proof | undefined
}

/** Methods called by a user; lists are fetched for other reasons too. */
const SENDS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** How long a call waits for a login after the user opened the page. */
const PATIENCE_MS = 5000
/** Longer than a connection's pause after a missing login. */
const AGAIN_MS = 1200
/** First protocol version with URL elicitation. */
const URLS_SINCE = '2025-11-25'
const NEEDED = 'GW_LOGIN_NEEDED'

/** Wraps dispatch: a caller without a login is sent to a login page, and its retry waits for the login. */
function wrapWithLogins(upstream: string, next: Dispatch, deps: LoginRedirectDeps): Dispatch {
  return async call => {
    if (!SENDS.has(call.method)) return next(call)
    const account = getAccount(call.exchange.principal)
    if (account === undefined) return next(call)
    const action = readVisitAction(call)
    if (action === 'gone') await deps.links.findByCaller(account, upstream)?.waitUntilDone(PATIENCE_MS)
    try {
      return await callAfterLogin(next, call, account, deps)
    } catch (error) {
      if (!isLoginNeeded(error, account)) throw error
      return action === 'refused'
        ? createTextAnswer(call, `The login to "${upstream}" was declined, so the call was not made.`)
        : redirectToPage(call, upstream, account, deps)
    }
  }
}

/** Calls again after a short wait if the caller has logged in meanwhile, as the connection may still pause. */
async function callAfterLogin(next: Dispatch, call: Call, account: string, deps: LoginRedirectDeps): Promise<Answer> {
  try {
    return await next(call)
  } catch (error) {
    // If only this call lacks scopes, waiting for a login is useless.
    if (!isLoginNeeded(error, account) || error.fields.ofCall === true) throw error
    if (!deps.hasLoggedIn(account, call.upstream)) throw error
    await deps.wait(AGAIN_MS)
    return next(call)
  }
}

function isLoginNeeded(error: unknown, account: string): error is GatewayError {
  return error instanceof GatewayError && error.code === NEEDED && error.fields.account === account
}

/** Reads the user's decision from a retry's input responses. */
function readVisitAction({ exchange }: Call): 'gone' | 'refused' | undefined {
  const responses = exchange.params?.inputResponses
  const actions = isObject(responses)
    ? Object.values(responses).map(one => (isObject(one) ? one.action : undefined))
    : []
  if (actions.length === 0) return undefined
  return actions.includes('decline') || actions.includes('cancel') ? 'refused' : 'gone'
}

function redirectToPage(call: Call, upstream: string, account: string, deps: LoginRedirectDeps): Answer {
  const { session, principal } = call.exchange
  const needs = `"${upstream}" requires you to log in.`
  const command = `gateway login ${upstream} --account ${quoteShellArgument(formatCaller(principal))}`
  const base = deps.getBaseUrl(session.listener)
  const proof = deps.getProof(principal)
  if (base === undefined || proof === undefined)
    return createTextAnswer(call, `${needs} Ask the owner of this gateway to run: ${command}`)
  const client = session.client.info.name
  const link = deps.links.openOrCreate({ principal, account, upstream, base, proof, client })
  const withCode = link.code === undefined ? '' : ` Enter this code there: ${link.code}`
  if (!canOpenPages(session.client))
    return createTextAnswer(
      call,
      `${needs} Open ${link.url} in a browser, then call again.${withCode} The owner of the gateway can also run: ${command}`,
    )
  return createUrlElicitation(call, link, `${needs}${withCode}`)
}

/** Creates a URL elicitation (2025-11-25); for a modern client it becomes an input request. */
function createUrlElicitation({ exchange }: Call, link: LoginLink, message: string): Answer {
  const elicitationId = randomUUID()
  if (exchange.session.client.era === 'legacy') link.notifyOnDone(elicitationId, exchange.session)
  const elicitation = { mode: 'url', elicitationId, url: link.url, message }
  return refuse(RPC.legacyUrlElicitation, message, { elicitations: [elicitation] })
}

function quoteShellArgument(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${toOneLine(text).replaceAll("'", "'\\''")}'`
}

function canOpenPages({ capabilities, version }: ClientDescription): boolean {
  const { elicitation } = capabilities
  return version >= URLS_SINCE && isObject(elicitation) && isObject(elicitation.url)
}

/** Creates a tool result for the model, or an error for other methods. */
function createTextAnswer({ method }: Call, text: string): Answer {
  if (method === 'tools/call') return answer(toolError(text))
  return refuse(RPC.internal, text, { code: NEEDED })
}

/** API key issuer. */
const KEYS_ISSUER = 'api-key'

/** Redirects callers to login pages, and serves these pages. */
export function connectCallers(api: PluginApi<Config['oauth']>, service: OAuthService, state: ConnectState): void {
  const { clock, config, hooks, log, options } = api
  const person = options?.person
  const identityProvider = person === undefined ? undefined : new IdentityProvider(person, api)
  const deps: LoginRedirectDeps = {
    links: state.links,
    wait: ms => new Promise(resolve => void clock.after(ms, resolve)),
    hasLoggedIn: (account, upstream) => {
      const at = service.vault.getGrantTime({ account, resource: service.flow(upstream).resource })
      return at !== undefined && at > (service.waiting.get(createWaitingKey(upstream, account))?.since ?? 0)
    },
    getBaseUrl: listener => resolveBaseUrl(config, listener, api.getListenerUrl(listener)),
    getProof: principal => selectProof(config, identityProvider, principal),
  }
  const pages = new LoginPages({
    ...deps,
    ...{ state, logins: service.logins, identityProvider, log },
    previewLogin: (upstream, account) => previewLogin(service, upstream, account),
    record: event => api.record(event),
  })
  hooks.dispatch.tap((next, { name, spec }) => (hasBrowserLogins(spec) ? wrapWithLogins(name, next, deps) : undefined))
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
  return /^(0\.0\.0\.0|\[?::\]?)$/.test(spec.host) ? undefined : bound && new URL(bound).origin
}

function listAuthListeners({ auth, listeners }: Config): readonly string[] {
  if (auth === undefined) return []
  return auth.listeners ?? Object.keys(listeners).filter(name => listeners[name]?.type === 'http')
}
