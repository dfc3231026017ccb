import { createHmac, randomBytes } from 'node:crypto'
import type { Clock, HttpRequest } from '../../../src/plugin.ts'
import { BoundedMap, parseCookie, hashSecret, isSameSecret } from '../../../src/plugin.ts'
import type { BegunLogin } from '../flow/login.ts'
import { LINK_MS } from './login-links.ts'

const MAX_SEEN = 10_000
const WITHIN_MS = 60_000
const MAX_COUNT = 10

interface RequestCount {
  count: number
  readonly since: number
}

/**
 * Limits requests to ten per minute for each address, open link or known browser, so that ids and codes cannot be
 * guessed.
 */
export class RequestLimiter {
  readonly #clock: Clock
  readonly #requestCounts = new BoundedMap<string, RequestCount>({ max: MAX_SEEN })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  tryAdmit(clientKey: string): boolean {
    const now = this.#clock.now()
    const previous = this.#requestCounts.get(clientKey)
    const current = previous === undefined || now - previous.since >= WITHIN_MS ? { count: 0, since: now } : previous
    current.count++
    if (current !== previous) this.#requestCounts.set(clientKey, current)
    return current.count <= MAX_COUNT
  }
}

/** One browser's state, identified by its cookie. */
export interface BrowserState {
  readonly cookie: string
  readonly until: number
  /** The person that has logged in. */
  person: Person | undefined
  /** The pending login at the identity provider. */
  login: PersonLogin | undefined
  /** Links whose code was entered in this browser. */
  readonly proved: Set<string>
  /** Link ids by `state` of pending upstream logins. */
  readonly begun: Map<string, string>
  /** Pending upstream logins by link. */
  readonly starts: BoundedMap<string, Promise<BegunLogin>>
  /** Displayed consent keys by link. */
  readonly shown: BoundedMap<string, string>
}

const MAX_BROWSERS = 10_000
const MAX_BEGUN = 20
const COOKIE_BYTES = 32

export class BrowserStore {
  readonly #clock: Clock
  readonly #key = randomBytes(32)
  /** By cookie hash, so that lookups leak no timing. */
  readonly #browsers = new BoundedMap<string, BrowserState>({ max: MAX_BROWSERS })

  readonly #suffix: string

  /** `suffix`: cookie name suffix to separate replicas. */
  constructor(clock: Clock, suffix = '') {
    this.#clock = clock
    this.#suffix = suffix
  }

  /** Finds a request's browser; undefined without a valid cookie. */
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

  /** Replaces the cookie after a login, to prevent session fixation. */
  renewCookie(browser: BrowserState, person: Person): BrowserState {
    this.#browsers.delete(hashSecret(browser.cookie))
    const next = this.openBrowser()
    next.person = person
    return next
  }

  /** Stores a pending login; drops the oldest one if there are too many. */
  noteLogin(browser: BrowserState, state: string, link: string): void {
    const [oldest] = browser.begun.keys()
    if (browser.begun.size >= MAX_BEGUN && oldest !== undefined) browser.begun.delete(oldest)
    browser.begun.set(state, link)
  }

  /** Formats the `Set-Cookie` header. `__Host-` needs https; plain HTTP is for loopback only. */
  formatCookie({ cookie }: BrowserState, base: string): string {
    const secure = isSecure(base) ? '; Secure' : ''
    return `${this.#cookieName(base)}=${cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${LINK_MS / 1000}${secure}`
  }

  #cookieName(base: string): string {
    return `${isSecure(base) ? '__Host-tapgate-login' : 'tapgate-login'}${this.#suffix}`
  }

  /** Creates a CSRF token for this browser and link. */
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

export interface Person {
  readonly issuer: string
  readonly subject: string
}

/** A pending login at the identity provider. */
export interface PersonLogin {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Link that it belongs to. */
  readonly link: string
}
