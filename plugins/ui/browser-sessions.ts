import { randomBytes } from 'node:crypto'
import type { HttpRequest, Principal } from '../../src/plugin.ts'
import { BoundedMap, parseCookie, hashSecret } from '../../src/plugin.ts'

/** Logged-in browser. */
export interface BrowserSession {
  /** Cookie digest. */
  readonly id: string
  /**
   * Digest of the key that the page sends with each request; unlike the cookie, it is not shared with other ports.
   */
  readonly key: string
  /** Authenticated caller; undefined for the owner. */
  readonly principal?: Principal
  /** Login credential, verified with each request. */
  readonly credential?: string
  readonly listener: string
  readonly until: number
}

/** Secrets issued at login. */
export interface LoginSecrets {
  readonly cookie: string
  readonly key: string
}

/** Login link lifetime. */
export const LINK_MS = 300_000
const MAX_LINKS = 100
const MAX_BROWSERS = { max: 1000, share: 20 }
const SECRET_BYTES = 32

/**
 * Open login links, each valid for one browser, and logged-in browsers. Keyed by digest, so that lookups leak no
 * timing.
 */
export class Browsers {
  readonly #now: () => number
  /** Expiry by token digest. */
  readonly #links = new BoundedMap<string, number>({ max: MAX_LINKS })
  readonly #browsers = new BoundedMap<string, BrowserSession>(MAX_BROWSERS)
  /** Cookies are shared by all ports of a host, so each gateway uses its own name. */
  readonly #cookieName = `tapgate-ui-${randomBytes(4).toString('hex')}`

  constructor(now: () => number) {
    this.#now = now
  }

  /** Creates a token that logs in once as the owner. */
  createLink(): string {
    const token = createSecret()
    this.#links.set(hashSecret(token), this.#now() + LINK_MS)
    return token
  }

  /** Logs in with a token; undefined if it is used, expired or unknown. */
  openSessionByLink(token: string, listener: string, sessionMs: number): LoginSecrets | undefined {
    const id = hashSecret(token)
    const until = this.#links.get(id) ?? 0
    this.#links.delete(id)
    return until > this.#now() ? this.openSession({ listener }, sessionMs, 'owner') : undefined
  }

  /** Logs in an authenticated caller. */
  openSession(
    caller: Pick<BrowserSession, 'principal' | 'credential' | 'listener'>,
    sessionMs: number,
    share: string,
  ): LoginSecrets {
    const login = { cookie: createSecret(), key: createSecret() }
    const id = hashSecret(login.cookie)
    const until = this.#now() + sessionMs
    this.#browsers.set(id, { ...caller, id, key: hashSecret(login.key), until }, share)
    return login
  }

  /** Finds the browser by cookie and key. A caller's login is valid on one listener, the owner's on all. */
  findSession(request: Pick<HttpRequest, 'header' | 'listener'>): BrowserSession | undefined {
    const browser = this.#browsers.get(hashSecret(this.#readCookie(request) ?? ''))
    const [key = ''] = request.header('x-tapgate-ui')
    if (browser === undefined || browser.until <= this.#now() || hashSecret(key) !== browser.key) return undefined
    return browser.principal === undefined || browser.listener === request.listener ? browser : undefined
  }

  closeSession({ id }: BrowserSession): void {
    this.#browsers.delete(id)
  }

  hasCookie(request: Pick<HttpRequest, 'header'>): boolean {
    return this.#readCookie(request) !== undefined
  }

  /** Formats the Set-Cookie header. Without a path, the browser derives it from the URL, also behind a proxy. */
  formatCookie({ cookie }: Pick<LoginSecrets, 'cookie'>, sessionMs: number, isSecure: boolean): string {
    const secure = isSecure ? '; Secure' : ''
    return `${this.#cookieName}=${cookie}; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(sessionMs / 1000)}${secure}`
  }

  #readCookie(request: Pick<HttpRequest, 'header'>): string | undefined {
    return parseCookie(request.header('cookie'), this.#cookieName)
  }
}

function createSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
