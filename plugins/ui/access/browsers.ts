import { randomBytes } from 'node:crypto'
import {
  BoundedMap,
  type Clock,
  type HttpRequest,
  type Principal,
  cookieIn,
  digestText,
} from '../../../src/plugin.ts'

/** A browser that has logged in. */
export interface Browser {
  readonly cookie: string
  /** Kept by the page, which sends it with each request: other ports of this host get the cookie, and never this. */
  readonly key: string
  /** The caller that it speaks for; undefined for the owner of the gateway. */
  readonly principal: Principal | undefined
  /** The credential that it logged in with, which is looked at again and again. */
  readonly credential: string | undefined
  /** Listener where it logged in. */
  readonly listener: string
  readonly until: number
  checkedAt: number
}

/** Time in which a link must be opened. */
export const LINK_MS = 300_000

const MAX_LINKS = 100
const MAX_BROWSERS = 1000
/** Browsers of one caller. */
const MAX_OF_CALLER = 20
const SECRET_BYTES = 32

/** Links that are open, each good for one browser, and the browsers that have come by one. */
export class Browsers {
  readonly #clock: Clock
  /** Cookies of one host go to all of its ports: each gateway has a name of its own. */
  readonly #name = `tapgate-ui-${randomBytes(4).toString('hex')}`
  /** By digests, so that no look-up takes a time that says anything. */
  readonly #links = new BoundedMap<string, number>({ max: MAX_LINKS })
  readonly #browsers = new BoundedMap<string, Browser>({ max: MAX_BROWSERS, share: MAX_OF_CALLER })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A token that opens the page once, as its owner. */
  link(): string {
    const token = secret()
    this.#links.set(digestText(token), this.#clock.now() + LINK_MS)
    return token
  }

  /** Lets a browser in that brings a token; undefined where that is used, too old, or none of ours. */
  openByLink(token: string, listener: string, sessionMs: number): Browser | undefined {
    const digest = digestText(token)
    const until = this.#links.get(digest)
    this.#links.delete(digest)
    if (until === undefined || this.#clock.now() >= until) return undefined
    return this.#open({ principal: undefined, credential: undefined, listener }, sessionMs, 'owner')
  }

  /** Lets a browser in for a caller who has shown a credential. */
  openFor(
    caller: Pick<Browser, 'principal' | 'credential' | 'listener'>,
    sessionMs: number,
    share: string,
  ): Browser {
    return this.#open(caller, sessionMs, share)
  }

  #open(
    caller: Pick<Browser, 'principal' | 'credential' | 'listener'>,
    sessionMs: number,
    share: string,
  ): Browser {
    const now = this.#clock.now()
    const browser = { ...caller, cookie: secret(), key: secret(), until: now + sessionMs, checkedAt: now }
    this.#browsers.set(digestText(browser.cookie), browser, share)
    return browser
  }

  /** The browser of a request, if it brings its cookie and its key. */
  find(request: Pick<HttpRequest, 'header' | 'listener'>): Browser | undefined {
    const cookie = this.#cookieOf(request)
    const browser = cookie === undefined ? undefined : this.#browsers.get(digestText(cookie))
    const [key = ''] = request.header('x-tapgate-ui')
    if (browser === undefined || digestText(key) !== digestText(browser.key)) return undefined
    return this.isOpen(browser) && isAt(browser, request.listener) ? browser : undefined
  }

  /** False once it has logged out, or its time is over. */
  isOpen(browser: Browser): boolean {
    return this.#clock.now() < browser.until && this.#browsers.get(digestText(browser.cookie)) === browser
  }

  close({ cookie }: Browser): void {
    this.#browsers.delete(digestText(cookie))
  }

  hasCookie(request: Pick<HttpRequest, 'header'>): boolean {
    return this.#cookieOf(request) !== undefined
  }

  /** The header that gives a browser its cookie. Without a path it goes where it came from, whatever a proxy puts before that. */
  cookieFor({ cookie }: Pick<Browser, 'cookie'>, sessionMs: number, isSecure: boolean): string {
    const secure = isSecure ? '; Secure' : ''
    return `${this.#name}=${cookie}; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(sessionMs / 1000)}${secure}`
  }

  #cookieOf(request: Pick<HttpRequest, 'header'>): string | undefined {
    return cookieIn(request.header('cookie'), this.#name)
  }
}

/** An owner is one everywhere; a caller is known where it has shown its credential. */
function isAt({ principal, listener }: Browser, wanted: string): boolean {
  return principal === undefined || listener === wanted
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
