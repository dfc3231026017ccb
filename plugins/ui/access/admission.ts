import {
  ANONYMOUS,
  type Config,
  type Credentials,
  type Gate,
  identifiedBy,
  parseDuration,
  principalKey,
  type Principal,
  STRANGER,
} from '../../../src/plugin.ts'
import type { Browser, Browsers, Login } from './browsers.ts'
import type { PageRequest } from './page-request.ts'
import { isSameOrigin } from './same-origin.ts'

type Options = NonNullable<Config['ui']>

/** Whoever looks at the page or asks its API. */
export interface Reader {
  readonly principal: Principal
  readonly acts: boolean
  /** True for who has opened a link of `gateway ui`: somebody who could run any command of the gateway. */
  readonly isOwner: boolean
  /** Key of its share of what is bounded. */
  readonly share: string
  readonly browser: Browser | undefined
  /** Finds out whether it still may look, for what stays open. */
  isIn(): Promise<boolean>
}

/** A request that goes no further. */
export interface Refused {
  readonly status: 401 | 403
  readonly why: string
}

/** A credential that was shown this long ago is looked at again. */
const CHECK_MS = 30_000

/** Decides who may look, and who may act. */
export class Admission {
  readonly #browsers: Browsers
  readonly #options: Pick<Options, 'readScope' | 'actScope'>
  readonly #keyHeader: string
  readonly #now: () => number
  readonly sessionMs: number

  constructor(
    browsers: Browsers,
    {
      options,
      auth,
      now,
    }: {
      options: Pick<Options, 'readScope' | 'actScope' | 'session'>
      auth: Config['auth']
      now: () => number
    },
  ) {
    this.#browsers = browsers
    this.#options = options
    this.#keyHeader = auth?.keyHeader ?? 'authorization'
    this.#now = now
    this.sessionMs = parseDuration(options.session)
  }

  /** True for requests whose sender the page finds out by itself: they bring nothing that `auth` knows. */
  isForPage(credentials: Credentials): boolean {
    const { header, certificate } = credentials
    if (header('authorization').length > 0 || header(this.#keyHeader).length > 0) return false
    return certificate === undefined || this.#browsers.hasCookie(credentials)
  }

  /** Identifies the sender of a request to the API, or says why it is not answered. */
  async reader(request: PageRequest): Promise<Reader | Refused> {
    if (!isSameOrigin(request)) return { status: 403, why: 'a page of another origin may not ask' }
    const browser = await this.#browsers.find(request)
    if (browser !== undefined) return this.#fromBrowser(browser, request)
    if (identifiedBy(request.caller) === 'nobody')
      return { status: 401, why: 'log in first: "gateway ui" gives a link' }
    return this.#known(request.caller, undefined, request)
  }

  async #fromBrowser(browser: Browser, request: PageRequest): Promise<Reader | Refused> {
    const { principal } = browser
    if (principal === undefined)
      return {
        principal: ANONYMOUS,
        acts: true,
        isOwner: true,
        share: 'owner',
        browser,
        isIn: () => this.#browsers.isOpen(browser),
      }
    const now = await this.#again(browser, request)
    if (now !== undefined) return this.#known(now, browser, request)
    await this.#browsers.close(browser)
    return { status: 401, why: 'the credential is no longer valid: log in again' }
  }

  /** The caller of a browser, by the credential that it has shown; undefined once that is no longer good. */
  async #again(browser: Browser, request: PageRequest): Promise<Principal | undefined> {
    const last = this.#browsers.lastLook(browser)
    if (last !== undefined && this.#now() - last.at < CHECK_MS) return last.principal
    const principal = last?.principal ?? browser.principal
    const found = await authenticated(browser, request)
    if (found === undefined) return undefined
    // That nobody could find out is no reason to cut anybody off.
    if ('status' in found) return found.status >= 500 ? principal : undefined
    if (principalKey(found) !== principalKey(principal ?? STRANGER)) return undefined
    this.#browsers.looked(browser, { principal: found, at: this.#now() })
    return found
  }

  #known(principal: Principal, browser: Browser | undefined, request: PageRequest): Reader | Refused {
    const { readScope, actScope } = this.#options
    if (!principal.scopes.includes(readScope))
      return { status: 403, why: `the scope "${readScope}" is needed to look at this` }
    return {
      principal,
      acts: principal.scopes.includes(actScope),
      isOwner: false,
      share: principalKey(principal),
      browser,
      isIn: () => this.#isStillIn(browser, request),
    }
  }

  /** Looks again at the credential of what stays open: a stream alone sends no more requests. */
  async #isStillIn(browser: Browser | undefined, request: PageRequest): Promise<boolean> {
    if (browser !== undefined && !(await this.#browsers.isOpen(browser))) return false
    const now = browser === undefined ? await callerNow(request) : await this.#again(browser, request)
    return now?.scopes.includes(this.#options.readScope) === true
  }

  /** Opens a browser: with a token of a link, or for a caller that `auth` knows. */
  async open(request: PageRequest, token: unknown): Promise<Login | Refused> {
    if (!isSameOrigin(request)) return { status: 403, why: 'a page of another origin may not log in' }
    if (typeof token === 'string')
      return (
        (await this.#browsers.openByLink(token, request.listener, this.sessionMs)) ?? {
          status: 401,
          why: 'this link is used or too old: "gateway ui" gives a new one',
        }
      )
    const { caller: principal, listener } = request
    const [credential] = request.header('authorization')
    if (identifiedBy(principal) === 'nobody' || credential === undefined)
      return { status: 401, why: 'a link, an API key or a token is needed' }
    const known = this.#known(principal, undefined, request)
    if ('status' in known) return known
    return this.#browsers.openFor({ principal, credential, listener }, this.sessionMs, known.share)
  }
}

/** Asks who a browser speaks for, by the credential that it has shown. */
function authenticated(
  { credential = '' }: Browser,
  request: PageRequest,
): ReturnType<Gate['authenticate']> | undefined {
  return request.gate?.authenticate({
    ...request,
    certificate: undefined,
    header: name => (name.toLowerCase() === 'authorization' ? [credential] : []),
  })
}

/** The caller of a request, by what it brought, as that counts now. */
async function callerNow(request: PageRequest): Promise<Principal | undefined> {
  const found = await request.gate?.authenticate(request)
  if (found === undefined) return undefined
  if (!('status' in found)) return found
  return found.status >= 500 ? request.caller : undefined
}
