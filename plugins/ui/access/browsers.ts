import { randomBytes } from 'node:crypto'
import {
  BoundedMap,
  cookieIn,
  digestText,
  type HttpRequest,
  isObject,
  type Principal,
  type SharedStore,
} from '../../../src/plugin.ts'
import { LONGEST_MS, SharedRows } from './shared-rows.ts'

/** A browser that has logged in. */
export interface Browser {
  /** Digest of its cookie. */
  readonly id: string
  /** Digest of what the page keeps and sends with each request: other ports of this host get the cookie, and never that. */
  readonly key: string
  /** The caller that it speaks for; undefined for the owner of the gateway. */
  readonly principal?: Principal | undefined
  /** The credential that it logged in with, which is looked at again and again. */
  readonly credential?: string | undefined
  /** Listener where it logged in. */
  readonly listener: string
}

/** Secrets that a browser gets when it logs in. */
export interface Login {
  readonly cookie: string
  readonly key: string
}

/** Last look of this process at the credential of a browser. */
interface Look {
  readonly principal: Principal
  readonly at: number
}

/** Time in which a link must be opened. */
export const LINK_MS = 300_000

const LINKS = { max: 100, share: 100 }
const BROWSERS = { max: 1000, share: 20 }
const OWNER = 'owner'
const SECRET_BYTES = 32
const SECRET = /^[\w-]{43}$/
const COOKIE = 'cookie'

/**
 * Links that are open, each good for one browser, and the browsers that have come by one. They are kept in a store, so that
 * processes which share it know the same; by digests, so that no look-up takes a time that says anything.
 */
export class Browsers {
  readonly #store: SharedStore
  readonly #links: SharedRows
  readonly #browsers: SharedRows
  readonly #looks = new BoundedMap<string, Look>({ max: BROWSERS.max })
  /** Cookies of one host go to all of its ports: each gateway has a name of its own. */
  #name = ''

  constructor(store: SharedStore) {
    this.#store = store
    this.#links = new SharedRows(store, 'link', LINKS)
    this.#browsers = new SharedRows(store, 'browser', BROWSERS)
  }

  /** Finds out the name of the cookie. */
  async begin(): Promise<void> {
    if (this.#name !== '') return
    const name = `tapgate-ui-${randomBytes(4).toString('hex')}`
    await this.#store.put(COOKIE, name, { ms: LONGEST_MS, when: 'absent' })
    this.#name = (await this.#store.get(COOKIE)) ?? name
  }

  /** A token that opens the page once, as its owner. */
  async link(): Promise<string> {
    const token = secret()
    await this.#links.add(digestText(token), OWNER, { ms: LINK_MS, share: OWNER })
    // Processes that begin later find the same name, however long this gateway runs.
    await this.#store.put(COOKIE, this.#name, { ms: LONGEST_MS })
    return token
  }

  /** Lets a browser in that brings a token; undefined where that is used, too old, or none of ours. */
  async openByLink(token: string, listener: string, sessionMs: number): Promise<Login | undefined> {
    if (!SECRET.test(token) || (await this.#links.take(digestText(token))) === undefined) return undefined
    return this.#open({ listener }, sessionMs, OWNER)
  }

  /** Lets a browser in for a caller who has shown a credential. */
  openFor(
    caller: { readonly principal: Principal; readonly credential: string; readonly listener: string },
    sessionMs: number,
    share: string,
  ): Promise<Login> {
    return this.#open(caller, sessionMs, share)
  }

  async #open(caller: Omit<Browser, 'id' | 'key'>, sessionMs: number, share: string): Promise<Login> {
    const login = { cookie: secret(), key: secret() }
    const browser = JSON.stringify({ ...caller, key: digestText(login.key) })
    await this.#browsers.add(digestText(login.cookie), browser, { ms: sessionMs, share })
    return login
  }

  /** The browser of a request, if it brings its cookie and its key. */
  async find(request: Pick<HttpRequest, 'header' | 'listener'>): Promise<Browser | undefined> {
    const cookie = this.#cookieOf(request)
    const [key = ''] = request.header('x-tapgate-ui')
    if (cookie === undefined || !SECRET.test(cookie) || key === '') return undefined
    const id = digestText(cookie)
    const text = await this.#browsers.get(id)
    if (text === undefined) return undefined
    const browser: Browser = { ...(JSON.parse(text) as Omit<Browser, 'id'>), id }
    if (digestText(key) !== browser.key) return undefined
    return isAt(browser, request.listener) ? browser : undefined
  }

  /** False once it has logged out, or its time is over. */
  async isOpen({ id }: Browser): Promise<boolean> {
    return (await this.#browsers.get(id)) !== undefined
  }

  close({ id }: Browser): Promise<void> {
    return this.#browsers.delete(id)
  }

  /** The caller of a browser, as this process has found it at its last look. */
  lastLook({ id }: Browser): Look | undefined {
    return this.#looks.get(id)
  }

  looked({ id }: Browser, look: Look): void {
    this.#looks.set(id, look)
  }

  hasCookie(request: Pick<HttpRequest, 'header'>): boolean {
    return this.#cookieOf(request) !== undefined
  }

  /** The header that gives a browser its cookie. Without a path it goes where it came from, whatever a proxy puts before that. */
  cookieFor({ cookie }: Pick<Login, 'cookie'>, sessionMs: number, isSecure: boolean): string {
    const secure = isSecure ? '; Secure' : ''
    return `${this.#name}=${cookie}; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(sessionMs / 1000)}${secure}`
  }

  #cookieOf(request: Pick<HttpRequest, 'header'>): string | undefined {
    return cookieIn(request.header('cookie'), this.#name)
  }
}

/** An owner is one everywhere; a caller is known where it has shown its credential. */
function isAt({ principal, listener }: Browser, wanted: string): boolean {
  return !isObject(principal) || listener === wanted
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
