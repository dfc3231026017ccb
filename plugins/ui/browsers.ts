import { randomBytes } from 'node:crypto'
import type { HttpRequest, Principal } from '../../src/plugin.ts'
import { BoundedMap, parseCookie, hashSecret } from '../../src/plugin.ts'

/** A browser that has logged in. */
export interface Browser {
  /** Digest of its cookie. */
  readonly id: string
  /** Digest of the key that the page sends with each request: other ports of this host get the cookie, and never that. */
  readonly key: string
  /** The caller that it speaks for; undefined for the owner of the gateway. */
  readonly principal?: Principal
  /** The credential that it logged in with, which is checked again and again. */
  readonly credential?: string
  /** Listener where it logged in. */
  readonly listener: string
  readonly until: number
  /** The last check of its credential. */
  checked?: { readonly principal: Principal; readonly at: number }
}

/** Secrets that a browser gets when it logs in. */
export interface Login {
  readonly cookie: string
  readonly key: string
}

/** Time in which a link must be opened. */
export const LINK_MS = 300_000
const MAX_LINKS = 100
const MAX_BROWSERS = { max: 1000, share: 20 }
const SECRET_BYTES = 32

/** Open links, each good for one browser, and the browsers that are logged in. Found by digests, so that no look-up takes a telling time. */
export class Browsers {
  readonly #now: () => number
  /** Expiry by the digest of the token. */
  readonly #links = new BoundedMap<string, number>({ max: MAX_LINKS })
  readonly #browsers = new BoundedMap<string, Browser>(MAX_BROWSERS)
  /** Cookies of one host go to all of its ports: each gateway has a name of its own. */
  readonly #cookieName = `tapgate-ui-${randomBytes(4).toString('hex')}`

  constructor(now: () => number) {
    this.#now = now
  }

  /** A token that opens the page once, as its owner. */
  link(): string {
    const token = secret()
    this.#links.set(hashSecret(token), this.#now() + LINK_MS)
    return token
  }

  /** Logs in a browser that brings a token; undefined if that is used, too old, or unknown. */
  openByLink(token: string, listener: string, sessionMs: number): Login | undefined {
    const id = hashSecret(token)
    const until = this.#links.get(id) ?? 0
    this.#links.delete(id)
    return until > this.#now() ? this.open({ listener }, sessionMs, 'owner') : undefined
  }

  /** Logs in a browser, for a caller who has shown a credential. */
  open(
    caller: Pick<Browser, 'principal' | 'credential' | 'listener'>,
    sessionMs: number,
    share: string,
  ): Login {
    const login = { cookie: secret(), key: secret() }
    const id = hashSecret(login.cookie)
    const until = this.#now() + sessionMs
    this.#browsers.set(id, { ...caller, id, key: hashSecret(login.key), until }, share)
    return login
  }

  /** The browser of a request, if it brings its cookie and its key. A caller is known where it has shown its credential, an owner everywhere. */
  find(request: Pick<HttpRequest, 'header' | 'listener'>): Browser | undefined {
    const browser = this.#browsers.get(hashSecret(this.#cookieOf(request) ?? ''))
    const [key = ''] = request.header('x-tapgate-ui')
    if (browser === undefined || !this.isOpen(browser) || hashSecret(key) !== browser.key) return undefined
    return browser.principal === undefined || browser.listener === request.listener ? browser : undefined
  }

  /** False once it has logged out, or its time is over. */
  isOpen(browser: Browser): boolean {
    return browser.until > this.#now() && this.#browsers.has(browser.id)
  }

  close({ id }: Browser): void {
    this.#browsers.delete(id)
  }

  hasCookie(request: Pick<HttpRequest, 'header'>): boolean {
    return this.#cookieOf(request) !== undefined
  }

  /** The header that gives a browser its cookie. Without a path it goes where it came from, whatever a proxy puts before that. */
  cookieFor({ cookie }: Pick<Login, 'cookie'>, sessionMs: number, isSecure: boolean): string {
    const secure = isSecure ? '; Secure' : ''
    return `${this.#cookieName}=${cookie}; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(sessionMs / 1000)}${secure}`
  }

  #cookieOf(request: Pick<HttpRequest, 'header'>): string | undefined {
    return parseCookie(request.header('cookie'), this.#cookieName)
  }
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
