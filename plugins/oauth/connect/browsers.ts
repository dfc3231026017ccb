import { createHmac, randomBytes } from 'node:crypto'
import type { Clock, HttpRequest } from '../../../src/plugin.ts'
import { BoundedMap, parseCookie, hashSecret, isSameSecret } from '../../../src/plugin.ts'
import type { BegunLogin } from '../flow/login.ts'
import { LINK_MS } from './links.ts'

const MAX_SEEN = 10_000
const WITHIN_MS = 60_000
const MAX_COUNT = 10

interface RequestCount {
  count: number
  readonly since: number
}

/** Counts requests, so that nobody tries ids and codes at will: ten a minute for an address, for a link that is open, and for a browser that is known. */
export class RequestLimiter {
  readonly #clock: Clock
  readonly #seen = new BoundedMap<string, RequestCount>({ max: MAX_SEEN })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True where there is room for one more. */
  tryAdmit(who: string): boolean {
    const now = this.#clock.now()
    const known = this.#seen.get(who)
    const seen = known === undefined || now - known.since >= WITHIN_MS ? { count: 0, since: now } : known
    seen.count++
    if (seen !== known) this.#seen.set(who, seen)
    return seen.count <= MAX_COUNT
  }
}

/** State of one browser, by its cookie. */
export interface BrowserState {
  /** Value of the cookie. */
  readonly cookie: string
  readonly until: number
  /** The person that has logged in. */
  person: Person | undefined
  /** A login of the person that is under way. */
  login: PersonLogin | undefined
  /** Links whose code was typed here. */
  readonly proved: Set<string>
  /** Logins to upstreams that began here, by their `state`: the link that each is for. */
  readonly begun: Map<string, string>
  /** The same by link, from the click on. */
  readonly starts: BoundedMap<string, Promise<BegunLogin>>
  /** Key of the consent that the person has been shown, by link. */
  readonly shown: BoundedMap<string, string>
}

const MAX_BROWSERS = 10_000
const MAX_BEGUN = 20
const COOKIE_BYTES = 32

/** Browsers that have opened a link. */
export class BrowserStore {
  readonly #clock: Clock
  readonly #key = randomBytes(32)
  /** By a digest of the cookie, so that the look-up takes no time that says anything. */
  readonly #browsers = new BoundedMap<string, BrowserState>({ max: MAX_BROWSERS })

  readonly #suffix: string

  /** `suffix` ends the names of cookies where other processes have cookies of their own. */
  constructor(clock: Clock, suffix = '') {
    this.#clock = clock
    this.#suffix = suffix
  }

  /** The browser that sends a request; undefined for one that brings no cookie of ours. */
  findBrowser(request: HttpRequest, base: string): BrowserState | undefined {
    const cookie = parseCookie(request.header('cookie'), this.#cookieName(base))
    const browser = cookie === undefined ? undefined : this.#browsers.get(hashSecret(cookie))
    return browser !== undefined && this.#clock.now() < browser.until ? browser : undefined
  }

  openBrowser(): BrowserState {
    const browser: BrowserState = {
      cookie: randomBytes(COOKIE_BYTES).toString('base64url'),
      until: this.#clock.now() + LINK_MS,
      person: undefined,
      login: undefined,
      proved: new Set(),
      begun: new Map(),
      starts: new BoundedMap({ max: MAX_BEGUN }),
      shown: new BoundedMap({ max: MAX_BEGUN }),
    }
    this.#browsers.set(hashSecret(browser.cookie), browser)
    return browser
  }

  /** Another cookie for a browser whose person has logged in: who knew the old one knows nothing. */
  renewCookie(browser: BrowserState, person: Person): BrowserState {
    this.#browsers.delete(hashSecret(browser.cookie))
    const next = this.openBrowser()
    next.person = person
    return next
  }

  /** Notes a login that began in a browser; the oldest is forgotten where there are many. */
  noteLogin(browser: BrowserState, state: string, link: string): void {
    const [oldest] = browser.begun.keys()
    if (browser.begun.size >= MAX_BEGUN && oldest !== undefined) browser.begun.delete(oldest)
    browser.begun.set(state, link)
  }

  /** The header that gives a browser its cookie. Over plain HTTP, which is for loopback alone, browsers take no `__Host-`. */
  formatCookie({ cookie }: BrowserState, base: string): string {
    const secure = isSecure(base) ? '; Secure' : ''
    return `${this.#cookieName(base)}=${cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${LINK_MS / 1000}${secure}`
  }

  #cookieName(base: string): string {
    return `${isSecure(base) ? '__Host-tapgate-login' : 'tapgate-login'}${this.#suffix}`
  }

  /** Proof that a form was made for this browser and this link. */
  createFormToken({ cookie }: BrowserState, link: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([cookie, link]))
      .digest('base64url')
  }

  isFormToken(browser: BrowserState, link: string, sent: string): boolean {
    return isSameSecret(this.createFormToken(browser, link), sent)
  }
}

function isSecure(base: string): boolean {
  return base.startsWith('https:')
}

/** A person, as the gateway's own identity provider names it. */
export interface Person {
  readonly issuer: string
  readonly subject: string
}

/** A login at the identity provider that a browser has been sent to. */
export interface PersonLogin {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** The link that it is for. */
  readonly link: string
}
