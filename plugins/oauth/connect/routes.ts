import type { AuditEvent, HttpReply, HttpRequest, Log } from '../../../src/plugin.ts'
import { getErrorMessage } from '../../../src/plugin.ts'
import type { BegunLogin, Logins } from '../flow/login.ts'
import type { Arrivals, Browser, Browsers } from './browsers.ts'
import type { Consents, Places, Visits } from './visits.ts'
import {
  alreadyMade,
  askPage,
  formOf,
  messagePage,
  notBegunHere,
  notYours,
  redirect,
  unknownLink,
  withCookie,
} from './pages.ts'
import type { Link, Links } from './links.ts'
import type { People } from './person.ts'

/** Parts of the gateway that the pages need. */
interface PagesHost {
  readonly links: Links
  readonly browsers: Browsers
  readonly arrivals: Arrivals
  readonly places: Places
  readonly visits: Pick<Visits, 'made'>
  readonly consents: Consents
  readonly logins: Pick<Logins, 'begin' | 'finish'>
  readonly people: People | undefined
  readonly log: Log
  baseOf(listener: string): string | undefined
  /** Looks up what a login to an upstream would be asked for, and where. */
  look(upstream: string, account: string): Promise<Look>
  record(event: AuditEvent): void
}

/** A login as the person sees it before it begins. */
export interface Look {
  readonly host: string
  readonly issuer: string
  readonly scopes: readonly string[]
}

/** A request to a page, once it is known which link and browser it is of. */
interface ConsentVisit {
  readonly request: HttpRequest
  readonly link: Link
  readonly browser: Browser
  readonly isNew: boolean
}

export const CONNECT = '/oauth/connect/'
export const PERSON = '/oauth/person'
export const CALLBACK = '/oauth/callback'

/** One of this process, or one that says which replica it is of. */
const ID = /^[\w.-]{22,200}$/

/** True for paths that anybody may ask for without a credential: the pages find out who it is by themselves. */
export function isPagePath(path: string): boolean {
  return (
    path === PERSON || path === CALLBACK || (path.startsWith(CONNECT) && ID.test(path.slice(CONNECT.length)))
  )
}

/** The pages on which callers log in to upstreams. */
export class Pages {
  readonly #host: PagesHost

  constructor(host: PagesHost) {
    this.#host = host
  }

  async serve(request: HttpRequest): Promise<HttpReply | undefined> {
    const { browsers, arrivals, log, baseOf } = this.#host
    const base = baseOf(request.listener)
    if (base === undefined || !isPagePath(request.path)) return unknownLink()
    const at = this.#elsewhere(request)
    if (at !== undefined) return { ...unknownLink(), at }
    const browser = browsers.find(request, base)
    if (!arrivals.admit(this.#sender(request, browser)))
      return messagePage(429, 'Too many requests', 'Wait a minute, and then try again.')
    try {
      return await this.#answer(request, base, browser)
    } catch (error) {
      log.warn('a page for a login failed', {
        path: request.path.slice(0, CONNECT.length),
        reason: getErrorMessage(error),
      })
      return messagePage(
        502,
        'That did not work',
        'The login cannot be made now. The log of the gateway says why.',
      )
    }
  }

  /** The replica that has the link, and knows the browser. */
  #elsewhere({ path, query }: HttpRequest): string | undefined {
    const { places } = this.#host
    if (path.startsWith(CONNECT)) return places.elsewhere('link', path.slice(CONNECT.length))
    return places.elsewhere(path === PERSON ? 'person' : 'state', query.get('state') ?? '')
  }

  /** Browsers behind one proxy have one address: who brings a link that is open does not wait for those who try others. */
  #sender({ path, remoteAddress = '' }: HttpRequest, browser: Browser | undefined): string {
    if (browser !== undefined) return `browser ${browser.cookie}`
    const link = this.#host.links.find(path.slice(CONNECT.length))
    return link === undefined ? `address ${remoteAddress}` : `link ${link.id}`
  }

  #answer(
    request: HttpRequest,
    base: string,
    browser: Browser | undefined,
  ): HttpReply | undefined | Promise<HttpReply | undefined> {
    const { path, method } = request
    if (path === PERSON) return method === 'GET' ? this.#personCame(request, base, browser) : undefined
    if (path === CALLBACK) return method === 'GET' ? this.#cameBack(request, base, browser) : undefined
    return this.#onLink(request, base, browser)
  }

  #onLink(
    request: HttpRequest,
    base: string,
    browser: Browser | undefined,
  ): HttpReply | undefined | Promise<HttpReply> {
    const { path, method } = request
    const link = this.#host.links.find(path.slice(CONNECT.length))
    if (link === undefined || link.base !== base) return unknownLink()
    if (link.isDone) return alreadyMade()
    if (method === 'GET') {
      const own = browser ?? this.#host.browsers.open()
      return this.#look({ request, link, browser: own, isNew: browser === undefined })
    }
    if (method !== 'POST') return undefined
    return browser === undefined ? notYours() : this.#posted({ request, link, browser, isNew: false })
  }

  async #look(visit: ConsentVisit): Promise<HttpReply> {
    const { link, browser, request, isNew } = visit
    const cookie = this.#host.browsers.cookieFor(browser, link.base)
    const proof = proofIn(visit)
    if (proof === 'other') return this.#refuse(visit)
    if (proof === 'none' && link.proof === 'person') {
      const { people, places } = this.#host
      if (people === undefined) return notYours()
      const { url, login } = await people.begin(link.id, link.base, places.newName('person'))
      browser.login = login
      return withCookie(redirect(url), cookie)
    }
    const look = await this.#host.look(link.upstream, link.account)
    // Another page may have sent the browser here: then the person has not asked for anything yet.
    const mayGoOn = proof === 'shown' && isOfPerson(request)
    if (mayGoOn && (await this.#host.consents.has(consentKey(link, look)))) return this.#begin(visit, look)
    const page = this.#ask(visit, look)
    return isNew ? withCookie(page, cookie) : page
  }

  #ask(visit: ConsentVisit, look: Look, problem?: string): HttpReply {
    const { link, browser } = visit
    browser.shown.set(link.id, consentKey(link, look))
    const { issuer, subject } = link.principal
    return askPage({
      ...{ upstream: link.upstream, host: look.host, scopes: look.scopes },
      server: new URL(look.issuer).host,
      ...{ subject, issuer, client: link.client },
      action: link.url,
      token: this.#host.browsers.tokenOf(browser, link.id),
      wantsCode: link.proof === 'code' && proofIn(visit) !== 'shown',
      problem,
    })
  }

  async #posted(visit: ConsentVisit): Promise<HttpReply> {
    const { link } = visit
    const form = await this.#ownForm(visit)
    if (form === undefined) return notYours()
    if (proofIn(visit) === 'other') return this.#refuse(visit)
    if (form.get('answer') !== 'allow') {
      this.#record(link, 'declined')
      return messagePage(200, 'Nothing was allowed', 'You can close this page.')
    }
    const refused = link.proof === 'code' ? await this.#wrongCode(visit, form.get('code') ?? '') : undefined
    if (refused !== undefined) return refused
    return proofIn(visit) === 'shown' ? this.#begin(visit) : notYours()
  }

  /** Fields that were filled in, if the form is one that this browser got from us for this link. */
  async #ownForm({ request, link, browser }: ConsentVisit): Promise<URLSearchParams | undefined> {
    const [site = 'same-origin'] = request.header('sec-fetch-site')
    const form = await formOf(request)
    const isOurs =
      form !== undefined && this.#host.browsers.isToken(browser, link.id, form.get('token') ?? '')
    return isOurs && site === 'same-origin' ? form : undefined
  }

  /** Answer to a code that is wrong; undefined for the right one, which is typed once in a browser. */
  async #wrongCode(visit: ConsentVisit, typed: string): Promise<HttpReply | undefined> {
    const { link, browser } = visit
    if (browser.proved.has(link.id)) return undefined
    if (link.isCode(typed)) {
      browser.proved.add(link.id)
      return undefined
    }
    this.#record(link, 'wrong code')
    if (!link.isInTime) return unknownLink()
    const look = await this.#host.look(link.upstream, link.account)
    return { ...this.#ask(visit, look, 'That is not the code that your client shows.'), status: 403 }
  }

  /** Sends the browser to the authorization server; twice to the same place for who clicks twice. */
  async #begin(visit: ConsentVisit, look?: Look): Promise<HttpReply> {
    const { link, browser } = visit
    const shown = look === undefined ? browser.shown.get(link.id) : consentKey(link, look)
    const known = browser.starts.get(link.id)
    const start = known ?? this.#start(link)
    browser.starts.set(link.id, start)
    const begun = await start.catch((error: unknown) => {
      browser.starts.delete(link.id)
      throw error
    })
    const asked: Look = { host: '', issuer: begun.issuer, scopes: begun.scopes }
    if (shown !== consentKey(link, asked)) {
      browser.starts.delete(link.id)
      const now = await this.#host.look(link.upstream, link.account)
      return this.#ask(visit, now, 'What is asked for has changed meanwhile.')
    }
    this.#host.browsers.begin(browser, begun.state, link.id)
    return redirect(begun.url)
  }

  #start({ upstream, account, base, principal }: Link): Promise<BegunLogin> {
    const { issuer, subject } = principal
    const caller = { issuer, subject }
    const state = this.#host.places.newName('state')
    return this.#host.logins.begin({ upstream, account, caller, redirectUri: base + CALLBACK, state })
  }

  /** The identity provider has sent the browser back: now it is known who sits before it. */
  async #personCame({ query }: HttpRequest, base: string, browser: Browser | undefined): Promise<HttpReply> {
    const { people, browsers, links, log } = this.#host
    const login = browser?.login
    if (browser === undefined || login === undefined || people === undefined) return notYours()
    // Any page may send the browser here: what it makes up ends no login.
    if (query.get('state') !== login.state) return notYours()
    browser.login = undefined
    const link = links.find(login.link)
    if (link === undefined) return unknownLink()
    try {
      const person = await people.finish(query, login, base)
      return withCookie(redirect(link.url), browsers.cookieFor(browsers.renew(browser, person), base))
    } catch (error) {
      log.warn('nobody could be identified for a login', {
        upstream: link.upstream,
        reason: getErrorMessage(error),
      })
      this.#record(link, 'unidentified')
      return messagePage(
        403,
        'That did not work',
        'It could not be found out who you are. Open the link again.',
      )
    }
  }

  /** The authorization server of an upstream has sent the browser back. */
  async #cameBack({ query }: HttpRequest, base: string, browser: Browser | undefined): Promise<HttpReply> {
    const state = query.get('state') ?? ''
    const id = browser?.begun.get(state)
    if (browser === undefined || id === undefined) return notBegunHere()
    browser.begun.delete(state)
    browser.starts.delete(id)
    const link = this.#host.links.find(id)
    if (link === undefined) return notBegunHere()
    if (link.isDone) return alreadyMade()
    const { logins, consents, log } = this.#host
    try {
      const made = await logins.finish(
        `${base}${CALLBACK}?${query.toString()}`,
        ({ account }) => account === link.account,
      )
      const consent = browser.shown.get(link.id)
      if (consent !== undefined) consents.give(consent)
      log.debug('a caller has logged in', { upstream: made.upstream })
      this.#record(link, 'made')
      link.done()
      await this.#host.visits.made(link)
      return messagePage(200, 'You are logged in', 'You can close this page, and go on in your client.')
    } catch (error) {
      log.warn('a login failed', { upstream: link.upstream, reason: getErrorMessage(error) })
      this.#record(link, 'failed')
      return messagePage(
        400,
        'The login did not work',
        'Open the link in your client again. The log of the gateway says more.',
      )
    }
  }

  #refuse({ link, browser }: ConsentVisit): HttpReply {
    const { person } = browser
    this.#host.log.warn('somebody opened the login of somebody else', {
      upstream: link.upstream,
      subject: person?.subject,
    })
    this.#record(link, 'denied', person === undefined ? {} : { person: person.subject, at: person.issuer })
    return messagePage(
      403,
      'This link is not yours',
      'Somebody else asked for this login. Nothing was allowed. Who sent it to you may want to use your account.',
    )
  }

  #record({ upstream, principal }: Link, outcome: string, more: Record<string, string> = {}): void {
    const { issuer, subject } = principal
    this.#host.record({
      kind: 'login',
      name: 'oauth.connect',
      outcome,
      fields: { upstream, issuer, subject, ...more },
    })
  }
}

/** Tells whether the person before the browser is the one who asked. */
function proofIn({ link, browser }: ConsentVisit): 'shown' | 'none' | 'other' {
  if (link.proof === 'code') return browser.proved.has(link.id) ? 'shown' : 'none'
  const { person } = browser
  if (person === undefined) return 'none'
  const { issuer, subject } = link.principal
  return person.issuer === issuer && person.subject === subject ? 'shown' : 'other'
}

function consentKey({ account, upstream }: Link, { issuer, scopes }: Look): string {
  return JSON.stringify([account, upstream, issuer, [...scopes].sort()])
}

/** True for a navigation that a person began, by a click on this origin or by typing. */
function isOfPerson(request: HttpRequest): boolean {
  const [site] = request.header('sec-fetch-site')
  return site === 'none' || site === 'same-origin'
}
