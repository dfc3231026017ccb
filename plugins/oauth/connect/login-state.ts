import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { Clock, HttpRequest, PluginApi, Principal, Session } from '../../../src/plugin.ts'
import { BoundedMap, hashSecret, parseCookie, principalKey } from '../../../src/plugin.ts'

import type { CallerIdentity } from '../types.ts'

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

export type Person = CallerIdentity

/** A pending login at the identity provider. */
export interface PersonLogin {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Link that it belongs to. */
  readonly link: string
}

type ConnectApi = Pick<PluginApi, 'clock' | 'shared' | 'getReplicaId'>

/**
 * Links and browsers, which outlive reloads. Their names contain their replica, so that any replica can proxy a login
 * page to the one that has them; they are sealed, so that guessed names are not proxied.
 */
export class ConnectState {
  readonly links: LoginLinks
  readonly browsers: BrowserStore
  readonly #api: ConnectApi

  constructor(api: ConnectApi) {
    const { clock, shared } = api
    this.#api = api
    this.links = new LoginLinks(clock, () => this.createName())
    // Each replica knows only its own browsers.
    this.browsers = new BrowserStore(clock, shared === undefined ? '' : `-${randomBytes(4).toString('hex')}`)
  }

  createName(): string {
    const { shared } = this.#api
    const random = randomBytes(16).toString('base64url')
    const replicaId = this.#api.getReplicaId()
    return shared === undefined || replicaId === undefined ? random : shared.seal(`${replicaId} ${random}`, 'login')
  }

  /** Returns the replica that created a name; undefined for this one or for an unknown name. */
  findReplica(name: string): string | undefined {
    const replicaId = this.#api.shared?.open(name, 'login')?.split(' ')[0]
    return replicaId === this.#api.getReplicaId() ? undefined : replicaId
  }
}

/** How a browser proves that its user is the caller: a login at the gateway's identity provider, or a code. */
export type Proof = 'person' | 'code'

/** A login that a call waits for. */
export interface LinkRequest {
  readonly principal: Principal
  readonly account: string
  readonly upstream: string
  /** The gateway's URL for this caller, without a trailing slash. */
  readonly base: string
  readonly proof: Proof
  /** Name that the client gives itself. */
  readonly client: string
}

/** Link and browser state lifetime. */
export const LINK_MS = 600_000

const MAX_LINKS = 10_000
const MAX_OF_CALLER = 20
/** Maximum clients notified about one login. */
const MAX_TOLD = 20
/** Wrong codes after which a link becomes invalid. */
const MAX_WRONG = 5

/** Characters that are hard to confuse. */
const LETTERS = 'ABCDEFGHJKMNPQRSTVWXYZ23456789'
const CODE_LETTERS = 8

/** Open links by id. The id is not secret: users must prove their identity. */
export class LoginLinks {
  readonly #clock: Clock
  readonly #links = new BoundedMap<string, LoginLink>({ max: MAX_LINKS, share: MAX_OF_CALLER })
  readonly #newId: () => string

  /** `newId` must create unguessable ids. */
  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock
    this.#newId = newId
  }

  /** Returns a caller's open link for an upstream, or creates one. */
  openOrCreate(request: LinkRequest): LoginLink {
    const existing = this.findByCaller(request.account, request.upstream)
    if (existing?.isOpen === true && existing.request.base === request.base) return existing
    const link = new LoginLink(request, this.#clock, this.#newId())
    this.#links.set(link.id, link, principalKey(request.principal))
    return link
  }

  /** Finds a link within its lifetime, even if already used. */
  findById(id: string): LoginLink | undefined {
    const link = this.#links.get(id)
    return link?.isInTime === true ? link : undefined
  }

  /** Finds a caller's latest link for an upstream within its lifetime. */
  findByCaller(account: string, upstream: string): LoginLink | undefined {
    let latest: LoginLink | undefined
    for (const [, link] of this.#links.entries())
      if (link.isInTime && link.request.account === account && link.request.upstream === upstream) latest = link
    return latest
  }
}

export class LoginLink {
  readonly id: string
  readonly request: LinkRequest
  /** Shown by the client and typed into the page; undefined if the user logs in instead. */
  readonly code: string | undefined
  readonly #clock: Clock
  readonly #until: number
  readonly #notifiedSessions = new Map<string, Session>()
  readonly #done = Promise.withResolvers<void>()
  #wrong = 0
  #isDone = false

  constructor(request: LinkRequest, clock: Clock, id: string) {
    this.id = id
    this.request = request
    this.code = request.proof === 'code' ? createCode() : undefined
    this.#clock = clock
    this.#until = clock.now() + LINK_MS
  }

  get url(): string {
    return `${this.request.base}/oauth/connect/${this.id}`
  }

  get isInTime(): boolean {
    return this.#clock.now() < this.#until && this.#wrong < MAX_WRONG
  }

  get isDone(): boolean {
    return this.#isDone
  }

  get isOpen(): boolean {
    return this.isInTime && !this.#isDone
  }

  /** Checks a code; counts wrong ones. */
  isCode(typed: string): boolean {
    const { code } = this
    if (code === undefined || this.#wrong >= MAX_WRONG) return false
    const isRight = isSameSecret(code.replace('-', ''), typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, ''))
    if (!isRight) this.#wrong++
    return isRight
  }

  /** Registers a client to be notified, with its elicitation id. */
  notifyOnDone(elicitationId: string, session: Session): void {
    if (this.#notifiedSessions.size < MAX_TOLD) this.#notifiedSessions.set(elicitationId, session)
  }

  /** Resolves when the login is done or the time is over. */
  waitUntilDone(withinMs: number): Promise<void> {
    return new Promise(resolve => {
      const disarm = this.#clock.after(withinMs, resolve)
      void this.#done.promise.then(disarm).then(resolve)
    })
  }

  /** Completes the login: resumes waiting calls and notifies clients. */
  complete(): void {
    this.#isDone = true
    this.#done.resolve()
    for (const [elicitationId, session] of this.#notifiedSessions)
      session.notify({ method: 'notifications/elicitation/complete', params: { elicitationId } })
    this.#notifiedSessions.clear()
  }
}

function createCode(): string {
  const letters = Array.from({ length: CODE_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return `${letters.slice(0, CODE_LETTERS / 2)}-${letters.slice(CODE_LETTERS / 2)}`
}

/** Compares a secret in constant time. */
function isSameSecret(secret: string, sent: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(hashSecret(sent)))
}
