import type { Config, Credentials, HttpRequest, Principal } from '../../src/plugin.ts'
import { ANONYMOUS, getCredentialType, parseDuration, principalKey } from '../../src/plugin.ts'
import type { Browser, Browsers, Login } from './browsers.ts'

type Options = NonNullable<Config['ui']>

/** The sender of a request to the page or its API. */
export interface Reader {
  readonly principal: Principal
  readonly acts: boolean
  /** True for who has opened a link of `gateway ui`: somebody who could run any command of the gateway. */
  readonly isOwner: boolean
  /** Key of its share of what is bounded. */
  readonly share: string
  readonly browser: Browser | undefined
  /** Checks again whether it may read, for responses that stay open. */
  isAllowed(): Promise<boolean>
}

export interface Refused {
  readonly status: 401 | 403
  readonly why: string
}

/** A credential is checked again after this time. */
const CHECK_MS = 30_000

/** Decides who may read the page, and who may act. */
export class Admission {
  readonly #browsers: Browsers
  readonly #options: Options
  readonly #keyHeader: string
  readonly #now: () => number
  readonly sessionMs: number

  constructor(browsers: Browsers, { ui, auth }: Config & { ui: Options }, now: () => number) {
    this.#browsers = browsers
    this.#options = ui
    this.#keyHeader = auth?.keyHeader ?? 'authorization'
    this.#now = now
    this.sessionMs = parseDuration(ui.session)
  }

  /** True for requests whose sender the page identifies by itself: they bring nothing that `auth` knows. */
  isForPage(credentials: Credentials): boolean {
    const { header, certificate } = credentials
    if (header('authorization').length > 0 || header(this.#keyHeader).length > 0) return false
    return certificate === undefined || this.#browsers.hasCookie(credentials)
  }

  /** Identifies the sender of a request to the API, or says why it is refused. */
  async reader(request: HttpRequest): Promise<Reader | Refused> {
    if (!isSameOrigin(request)) return { status: 403, why: 'a page of another origin may not ask' }
    const browser = this.#browsers.find(request)
    if (browser === undefined) {
      if (getCredentialType(request.caller) === 'nobody')
        return { status: 401, why: 'log in first: "gateway ui" gives a link' }
      return this.#identified(request.caller, undefined, request)
    }
    if (browser.principal === undefined) {
      const isAllowed = (): Promise<boolean> => Promise.resolve(this.#browsers.isOpen(browser))
      return { principal: ANONYMOUS, acts: true, isOwner: true, share: 'owner', browser, isAllowed }
    }
    const principal = await this.#checkAgain(browser, request)
    if (principal !== undefined) return this.#identified(principal, browser, request)
    this.#browsers.close(browser)
    return { status: 401, why: 'the credential is no longer valid: log in again' }
  }

  /** Logs in a browser: with the token of a link, or for a caller that `auth` knows. */
  open(request: HttpRequest, token: unknown): Login | Refused {
    if (!isSameOrigin(request)) return { status: 403, why: 'a page of another origin may not log in' }
    const { caller: principal, listener } = request
    if (typeof token === 'string')
      return (
        this.#browsers.openByLink(token, listener, this.sessionMs) ?? {
          status: 401,
          why: 'this link is used or too old: "gateway ui" gives a new one',
        }
      )
    const [credential] = request.header('authorization')
    if (getCredentialType(principal) === 'nobody' || credential === undefined)
      return { status: 401, why: 'a link, an API key or a token is needed' }
    const known = this.#identified(principal, undefined, request)
    if ('status' in known) return known
    return this.#browsers.open({ principal, credential, listener }, this.sessionMs, known.share)
  }

  #identified(principal: Principal, browser: Browser | undefined, request: HttpRequest): Reader | Refused {
    const { readScope, actScope } = this.#options
    if (!principal.scopes.includes(readScope))
      return { status: 403, why: `the scope "${readScope}" is needed to look at this` }
    return {
      principal,
      acts: principal.scopes.includes(actScope),
      isOwner: false,
      share: principalKey(principal),
      browser,
      isAllowed: async () => {
        if (browser !== undefined && !this.#browsers.isOpen(browser)) return false
        const now =
          browser === undefined
            ? await authenticate(request, request, request.caller)
            : await this.#checkAgain(browser, request)
        return now?.scopes.includes(readScope) === true
      },
    }
  }

  /** The caller of a browser, by its credential; undefined once that is no longer valid. */
  async #checkAgain(browser: Browser, request: HttpRequest): Promise<Principal | undefined> {
    const { checked, credential = '', principal = ANONYMOUS } = browser
    if (checked !== undefined && this.#now() - checked.at < CHECK_MS) return checked.principal
    const header = (name: string): string[] => (name.toLowerCase() === 'authorization' ? [credential] : [])
    const shown = { ...request, certificate: undefined, header }
    const found = await authenticate(request, shown, checked?.principal ?? principal)
    if (found === undefined || principalKey(found) !== principalKey(principal)) return undefined
    browser.checked = { principal: found, at: this.#now() }
    return found
  }
}

/** Asks `auth` whose credentials these are. If it fails to find out, `before` stays. */
async function authenticate(
  { gate }: HttpRequest,
  credentials: Credentials,
  before: Principal,
): Promise<Principal | undefined> {
  const found = await gate.authenticate(credentials)
  if (!('status' in found)) return found
  return found.status >= 500 ? before : undefined
}

/**
 * True unless a page of another origin sent the request. Browsers say so in a header that no page can set, and where they
 * do not, as over plain HTTP, they name the origin. The same host on another port is another origin.
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
