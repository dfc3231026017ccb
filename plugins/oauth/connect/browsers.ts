import { createHmac, randomBytes } from 'node:crypto'
import type { Clock, HttpRequest, SharedStore } from '../../../src/plugin.ts'
import { BoundedMap, parseCookie, hashSecret, isSameSecret } from '../../../src/plugin.ts'
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
  readonly begun: BoundedMap<string, string>
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
      begun: new BoundedMap({ max: MAX_BEGUN }),
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

  /** Formats the `Set-Cookie` header. `__Host-` needs https; plain HTTP is for loopback only. */
  formatCookie({ cookie }: BrowserState, base: string): string {
    const secure = isSecure(base) ? '; Secure' : ''
    return `${this.#cookieName(base)}=${cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${LINK_MS / 1000}${secure}`
  }

  #cookieName(base: string): string {
    return `${isSecure(base) ? '__Host-tapgate-login' : 'tapgate-login'}${this.#suffix}`
  }

  /** Creates a form token for this browser and `purpose`. */
  createFormToken({ cookie }: BrowserState, purpose: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([cookie, purpose]))
      .digest('base64url')
  }

  isFormToken(browser: BrowserState, purpose: string, sent: string | null): boolean {
    return isSameSecret(this.createFormToken(browser, purpose), sent ?? '')
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

/** Purpose of a name; a name is valid for its purpose only. */
type NameUse = 'link' | 'person' | 'state'

interface ReplicaNamesDeps {
  readonly shared?: SharedStore | undefined
  getReplicaId(): string | undefined
}

/**
 * Names that contain their replica, so that any replica can proxy a login page to the one with the link and browser.
 * They are sealed, so that guessed names are not proxied.
 */
export class ReplicaNames {
  readonly #deps: ReplicaNamesDeps
  /** This replica's previous names are still its own. */
  readonly #own = new Set<string>()

  constructor(deps: ReplicaNamesDeps) {
    this.#deps = deps
  }

  createName(use: NameUse): string {
    const random = randomBytes(16).toString('base64url')
    const { shared } = this.#deps
    const ownReplica = this.#deps.getReplicaId()
    if (shared === undefined || ownReplica === undefined) return random
    this.#own.add(ownReplica)
    return shared.seal(`${ownReplica} ${random}`, use)
  }

  /** Returns the replica that created a name; undefined for this one or for an unknown name. */
  findReplica(use: NameUse, name: string): string | undefined {
    const [replicaId, random] = this.#deps.shared?.open(name, use)?.split(' ') ?? []
    return replicaId === undefined || random === undefined || this.#own.has(replicaId) ? undefined : replicaId
  }
}
