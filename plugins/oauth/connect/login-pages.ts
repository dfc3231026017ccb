import type { AuditEvent, HttpReply, HttpRequest, Log } from '../../../src/plugin.ts'
import { getErrorMessage } from '../../../src/plugin.ts'
import type { BrowserLogins } from '../flow/login.ts'
import type { BrowserState, ConnectState, LoginLink } from './login-state.ts'
import {
  renderAlreadyDone,
  renderConsentPage,
  parseForm,
  renderMessage,
  renderUnknownLogin,
  renderForbidden,
  redirect,
  renderUnknownLink,
  addCookie,
} from './pages.ts'
import type { IdentityProvider } from './identity-provider.ts'

interface LoginPagesDeps {
  readonly state: ConnectState
  readonly logins: Pick<BrowserLogins, 'beginLogin' | 'finishLogin'>
  readonly identityProvider: IdentityProvider | undefined
  readonly log: Log
  getBaseUrl(listener: string): string | undefined
  /** Previews a login: its host, issuer and scopes. */
  previewLogin(upstream: string, account: string): Promise<LoginPreview>
  record(event: AuditEvent): void
}

/** A login before it begins. */
export interface LoginPreview {
  readonly host: string
  readonly issuer: string
  readonly scopes: readonly string[]
}

/** A request with its link and browser. */
interface ConsentVisit {
  readonly request: HttpRequest
  readonly link: LoginLink
  readonly browser: BrowserState
}

export const CONNECT = '/oauth/connect/'
export const PERSON = '/oauth/person'
export const CALLBACK = '/oauth/callback'

/** A random id, or a sealed one that names its replica. */
const ID = /^[\w.-]{22,200}$/

/** Returns true for paths without authentication; the pages identify users themselves. */
export function isPagePath(path: string): boolean {
  return path === PERSON || path === CALLBACK || (path.startsWith(CONNECT) && ID.test(path.slice(CONNECT.length)))
}

/** Pages for upstream logins by callers. */
export class LoginPages {
  readonly #deps: LoginPagesDeps

  constructor(host: LoginPagesDeps) {
    this.#deps = host
  }

  async serveRequest(request: HttpRequest): Promise<HttpReply | undefined> {
    const { state, log, getBaseUrl } = this.#deps
    const base = getBaseUrl(request.listener)
    if (base === undefined || !isPagePath(request.path)) return renderUnknownLink()
    const { path, query, method } = request
    // Another replica may have the link and browser.
    const id = path.startsWith(CONNECT) ? path.slice(CONNECT.length) : (query.get('state') ?? '')
    const replicaId = state.findReplica(id)
    if (replicaId !== undefined) return { ...renderUnknownLink(), replicaId }
    const browser = state.browsers.findBrowser(request, base)
    try {
      if (path.startsWith(CONNECT)) return await this.#serveLink(request, id, base, browser)
      if (method !== 'GET') return undefined
      return await (path === PERSON
        ? this.#finishPersonLogin(request, base, browser)
        : this.#finishUpstreamLogin(request, base, browser))
    } catch (error) {
      log.warn('a login page failed', {
        path: path.slice(0, CONNECT.length),
        reason: getErrorMessage(error),
      })
      return renderMessage(502, 'Login failed', 'Login is currently not possible. See the gateway log.')
    }
  }

  #serveLink(
    request: HttpRequest,
    id: string,
    base: string,
    browser: BrowserState | undefined,
  ): HttpReply | undefined | Promise<HttpReply> {
    const { browsers, links } = this.#deps.state
    const link = links.findById(id)
    if (link === undefined || link.request.base !== base) return renderUnknownLink()
    if (link.isDone) return renderAlreadyDone()
    if (request.method === 'GET')
      return this.#showConsent({ request, link, browser: browser ?? browsers.openBrowser() })
    if (request.method !== 'POST') return undefined
    return browser === undefined ? renderForbidden() : this.#handleForm({ request, link, browser })
  }

  async #showConsent(consent: ConsentVisit): Promise<HttpReply> {
    const { link, browser } = consent
    const { base, proof, upstream, account } = link.request
    const { state, identityProvider, previewLogin } = this.#deps
    const cookie = state.browsers.formatCookie(browser, base)
    const given = checkProof(consent)
    if (given === 'other') return this.#refuseVisit(consent)
    if (given === 'none' && proof === 'person') {
      if (identityProvider === undefined) return renderForbidden()
      const { url, login } = await identityProvider.beginLogin(link.id, base, state.createName())
      browser.login = login
      return addCookie(redirect(url), cookie)
    }
    return addCookie(this.#renderConsent(consent, await previewLogin(upstream, account)), cookie)
  }

  #renderConsent(consent: ConsentVisit, look: LoginPreview, problem?: string): HttpReply {
    const { link, browser } = consent
    const { upstream, principal, client, proof } = link.request
    const { browsers } = this.#deps.state
    return renderConsentPage({
      ...{ upstream, host: look.host, scopes: look.scopes, server: new URL(look.issuer).host },
      ...{ subject: principal.subject, issuer: principal.issuer, client, problem },
      action: link.url,
      token: browsers.createFormToken(browser, link.id),
      access: browsers.createFormToken(browser, formatAccess(link, look)),
      wantsCode: proof === 'code' && checkProof(consent) !== 'shown',
    })
  }

  async #handleForm(consent: ConsentVisit): Promise<HttpReply> {
    const { link } = consent
    const form = await this.#readForm(consent)
    if (form === undefined) return renderForbidden()
    if (checkProof(consent) === 'other') return this.#refuseVisit(consent)
    if (form.get('answer') !== 'allow') {
      this.#recordOutcome(link, 'declined')
      return renderMessage(200, 'Access denied', 'You can close this page.')
    }
    const refused = link.code === undefined ? undefined : await this.#checkCode(consent, form.get('code') ?? '')
    if (refused !== undefined) return refused
    return checkProof(consent) === 'shown' ? this.#beginLogin(consent, form.get('access')) : renderForbidden()
  }

  /** Reads the form if its CSRF token and origin are valid. */
  async #readForm({ request, link, browser }: ConsentVisit): Promise<URLSearchParams | undefined> {
    const [site = 'same-origin'] = request.header('sec-fetch-site')
    const form = await parseForm(request)
    const isOurs = form !== undefined && this.#deps.state.browsers.isFormToken(browser, link.id, form.get('token'))
    return isOurs && site === 'same-origin' ? form : undefined
  }

  /** Checks the code; returns an error page, or undefined if it is correct. It is entered once per browser. */
  async #checkCode(consent: ConsentVisit, typed: string): Promise<HttpReply | undefined> {
    const { link, browser } = consent
    if (browser.proved.has(link.id)) return undefined
    if (link.isCode(typed)) {
      browser.proved.add(link.id)
      return undefined
    }
    this.#recordOutcome(link, 'wrong code')
    if (!link.isInTime) return renderUnknownLink()
    const look = await this.#deps.previewLogin(link.request.upstream, link.request.account)
    return { ...this.#renderConsent(consent, look, 'The code is wrong.'), status: 403 }
  }

  /** Redirects to the authorization server, if the login requests the access that the user has seen. */
  async #beginLogin(consent: ConsentVisit, access: string | null): Promise<HttpReply> {
    const { link, browser } = consent
    const { upstream, account, base, principal } = link.request
    const { state, logins, previewLogin } = this.#deps
    const { issuer, subject } = principal
    const begun = await logins.beginLogin({
      ...{ upstream, account, caller: { issuer, subject } },
      ...{ redirectUri: base + CALLBACK, state: state.createName() },
    })
    if (!state.browsers.isFormToken(browser, formatAccess(link, begun), access))
      return this.#renderConsent(consent, await previewLogin(upstream, account), 'The requested access has changed.')
    browser.begun.set(begun.state, link.id)
    return redirect(begun.url)
  }

  /** Identity provider callback. */
  async #finishPersonLogin(
    { query }: HttpRequest,
    base: string,
    browser: BrowserState | undefined,
  ): Promise<HttpReply> {
    const { identityProvider, state, log } = this.#deps
    const login = browser?.login
    if (browser === undefined || login === undefined || identityProvider === undefined) return renderForbidden()
    // Any site may send the browser here: an unknown state must not end a login.
    if (query.get('state') !== login.state) return renderForbidden()
    browser.login = undefined
    const link = state.links.findById(login.link)
    if (link === undefined) return renderUnknownLink()
    try {
      const person = await identityProvider.finishLogin(query, login, base)
      const renewed = state.browsers.renewCookie(browser, person)
      return addCookie(redirect(link.url), state.browsers.formatCookie(renewed, base))
    } catch (error) {
      log.warn('could not identify the user of a login', {
        upstream: link.request.upstream,
        reason: getErrorMessage(error),
      })
      this.#recordOutcome(link, 'unidentified')
      return renderMessage(403, 'Login failed', 'You could not be identified. Open the link again.')
    }
  }

  /** Callback of an upstream's authorization server. */
  async #finishUpstreamLogin(
    { query }: HttpRequest,
    base: string,
    browser: BrowserState | undefined,
  ): Promise<HttpReply> {
    const state = query.get('state') ?? ''
    const id = browser?.begun.get(state)
    if (browser === undefined || id === undefined) return renderUnknownLogin()
    browser.begun.delete(state)
    const link = this.#deps.state.links.findById(id)
    if (link === undefined) return renderUnknownLogin()
    if (link.isDone) return renderAlreadyDone()
    const { logins, log } = this.#deps
    try {
      const made = await logins.finishLogin(`${base}${CALLBACK}?${query.toString()}`)
      log.debug('a caller has logged in', { upstream: made.upstream })
      this.#recordOutcome(link, 'made')
      link.complete()
      return renderMessage(200, 'You are logged in', 'You can close this page and return to your client.')
    } catch (error) {
      log.warn('a login failed', { upstream: link.request.upstream, reason: getErrorMessage(error) })
      this.#recordOutcome(link, 'failed')
      return renderMessage(400, 'Login failed', 'Open the link in your client again. See the gateway log for details.')
    }
  }

  #refuseVisit({ link, browser }: ConsentVisit): HttpReply {
    const { person } = browser
    this.#deps.log.warn('a login link was opened by another user', {
      upstream: link.request.upstream,
      subject: person?.subject,
    })
    this.#recordOutcome(link, 'denied', person === undefined ? {} : { person: person.subject, at: person.issuer })
    return renderMessage(
      403,
      'This link is for another user',
      'Another user requested this login. No access was granted. The sender may be trying to use your account.',
    )
  }

  #recordOutcome({ request }: LoginLink, outcome: string, more: Record<string, string> = {}): void {
    const { upstream, principal } = request
    const { issuer, subject } = principal
    this.#deps.record({
      kind: 'login',
      name: 'oauth.connect',
      outcome,
      fields: { upstream, issuer, subject, ...more },
    })
  }
}

/** Compares the browser's user with the caller. */
function checkProof({ link, browser }: ConsentVisit): 'shown' | 'none' | 'other' {
  const { proof, principal } = link.request
  if (proof === 'code') return browser.proved.has(link.id) ? 'shown' : 'none'
  const { person } = browser
  if (person === undefined) return 'none'
  return person.issuer === principal.issuer && person.subject === principal.subject ? 'shown' : 'other'
}

/** Identifies the access that a link's login requests. */
function formatAccess({ id }: LoginLink, { issuer, scopes }: Pick<LoginPreview, 'issuer' | 'scopes'>): string {
  return JSON.stringify([id, issuer, [...scopes].sort()])
}
