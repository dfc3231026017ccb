import type { Config, Credentials, HttpRequest, Principal } from '../../src/plugin.ts'
import { ANONYMOUS, getCredentialType, parseDuration, principalKey } from '../../src/plugin.ts'
import type { BrowserSession, Browsers, LoginSecrets } from './browser-sessions.ts'

type UiOptions = NonNullable<Config['ui']>

/** Authorized page or API user. */
export interface PageUser {
  readonly principal: Principal
  readonly canAct: boolean
  /** Key for per-user limits. */
  readonly share: string
  readonly browser: BrowserSession | undefined
}

export interface PageRefusal {
  readonly status: 401 | 403
  readonly why: string
}

/** Decides which callers may view the page or act. */
export class PageAccess {
  readonly #browsers: Browsers
  readonly #options: UiOptions
  readonly #keyHeader: string
  readonly sessionMs: number

  constructor(browsers: Browsers, { ui, auth }: Config & { ui: UiOptions }) {
    this.#browsers = browsers
    this.#options = ui
    this.#keyHeader = auth?.keyHeader ?? 'authorization'
    this.sessionMs = parseDuration(ui.session)
  }

  /** True for requests without credentials for `auth`, which the page identifies by cookie. */
  isForPage(credentials: Credentials): boolean {
    const { header, certificate } = credentials
    if (header('authorization').length > 0 || header(this.#keyHeader).length > 0) return false
    return certificate === undefined || this.#browsers.hasCookie(credentials)
  }

  /** Identifies an API request's user, or returns a refusal. */
  async identify(request: HttpRequest): Promise<PageUser | PageRefusal> {
    if (!isSameOrigin(request)) return { status: 403, why: 'cross-origin request refused' }
    const browser = this.#browsers.findSession(request)
    if (browser === undefined) {
      if (getCredentialType(request.caller) === 'nobody')
        return { status: 401, why: 'authentication required: log in with a link from "gateway ui"' }
      return this.#authorize(request.caller, undefined)
    }
    if (browser.principal === undefined) return { principal: ANONYMOUS, canAct: true, share: 'owner', browser }
    const principal = await this.#checkAgain(browser, request)
    if (principal !== undefined) return this.#authorize(principal, browser)
    this.#browsers.closeSession(browser)
    return { status: 401, why: 'credential expired or revoked: log in again' }
  }

  /** Logs in with a link token, or with credentials that `auth` accepts. */
  logIn(request: HttpRequest, token: unknown): LoginSecrets | PageRefusal {
    if (!isSameOrigin(request)) return { status: 403, why: 'cross-origin login refused' }
    const { caller: principal, listener } = request
    if (typeof token === 'string')
      return (
        this.#browsers.openSessionByLink(token, listener, this.sessionMs) ?? {
          status: 401,
          why: 'login link used or expired: get a new one with "gateway ui"',
        }
      )
    const [credential] = request.header('authorization')
    if (getCredentialType(principal) === 'nobody' || credential === undefined)
      return { status: 401, why: 'a login link, API key or access token is required' }
    const authorization = this.#authorize(principal, undefined)
    if ('status' in authorization) return authorization
    return this.#browsers.openSession({ principal, credential, listener }, this.sessionMs, authorization.share)
  }

  #authorize(principal: Principal, browser: BrowserSession | undefined): PageUser | PageRefusal {
    const { readScope, actScope } = this.#options
    if (!principal.scopes.includes(readScope)) return { status: 403, why: `scope "${readScope}" is required` }
    return {
      principal,
      canAct: principal.scopes.includes(actScope),
      share: principalKey(principal),
      browser,
    }
  }

  /** Verifies the login credential again; undefined if it is no longer valid. */
  async #checkAgain(browser: BrowserSession, request: HttpRequest): Promise<Principal | undefined> {
    const { credential = '', principal = ANONYMOUS } = browser
    const header = (name: string): string[] => (name.toLowerCase() === 'authorization' ? [credential] : [])
    const credentialRequest = { ...request, certificate: undefined, header }
    const result = await request.gate.authenticate(credentialRequest)
    // A server error is no rejection.
    const identity = 'status' in result ? (result.status >= 500 ? principal : undefined) : result
    return identity !== undefined && principalKey(identity) === principalKey(principal) ? identity : undefined
  }
}

/**
 * False for cross-origin requests. Uses Sec-Fetch-Site, which pages cannot set, otherwise Origin. Another port is
 * another origin.
 */
function isSameOrigin({ header, endpoint }: HttpRequest): boolean {
  const [site] = header('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  const [origin] = header('origin')
  if (origin === undefined) return true
  const [host = ''] = header('host')
  const own = [`http://${host}`, `https://${host}`, URL.parse(endpoint)?.origin ?? '']
  return own.some(one => one.toLowerCase() === origin.toLowerCase())
}
