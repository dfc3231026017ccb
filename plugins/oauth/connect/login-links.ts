import { randomInt } from 'node:crypto'
import type { Clock, Principal, Session } from '../../../src/plugin.ts'
import { BoundedMap, principalKey, isSameSecret } from '../../../src/plugin.ts'

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
  readonly #byId = new BoundedMap<string, LoginLink>({ max: MAX_LINKS, share: MAX_OF_CALLER })
  readonly #byCaller = new BoundedMap<string, LoginLink>({ max: MAX_LINKS, share: MAX_OF_CALLER })

  readonly #newId: () => string

  /** `newId` must create unguessable ids. */
  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock
    this.#newId = newId
  }

  /** Returns a caller's open link for an upstream, or creates one. */
  openOrCreate(request: LinkRequest): LoginLink {
    const key = createLinkKey(request.account, request.upstream)
    const existing = this.#byCaller.get(key)
    if (existing?.isOpen === true && existing.request.base === request.base) return existing
    const link = new LoginLink(request, this.#clock, this.#newId())
    const caller = principalKey(request.principal)
    this.#byId.set(link.id, link, caller)
    this.#byCaller.set(key, link, caller)
    return link
  }

  /** Finds a link within its lifetime, even if already used. */
  findById(id: string): LoginLink | undefined {
    const link = this.#byId.get(id)
    return link?.isInTime === true ? link : undefined
  }

  /** Finds a caller's link for an upstream within its lifetime. */
  findByCaller(account: string, upstream: string): LoginLink | undefined {
    const link = this.#byCaller.get(createLinkKey(account, upstream))
    return link?.isInTime === true ? link : undefined
  }
}

function createLinkKey(account: string, upstream: string): string {
  return JSON.stringify([account, upstream])
}

export class LoginLink {
  readonly id: string
  readonly request: LinkRequest
  /** Shown by the client and typed into the page; undefined if the user logs in instead. */
  readonly code: string | undefined
  readonly #clock: Clock
  readonly #until: number
  readonly #notifiedSessions = new Map<string, Session>()
  readonly #waiting = new Set<() => void>()
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
    if (this.#isDone) return Promise.resolve()
    return new Promise(resolve => {
      const finish = (): void => {
        disarm()
        this.#waiting.delete(finish)
        resolve()
      }
      const disarm = this.#clock.after(withinMs, finish)
      this.#waiting.add(finish)
    })
  }

  /** Completes the login: resumes waiting calls and notifies clients. */
  complete(): void {
    this.#isDone = true
    for (const end of [...this.#waiting]) end()
    for (const [elicitationId, session] of this.#notifiedSessions)
      session.notify({ method: 'notifications/elicitation/complete', params: { elicitationId } })
    this.#notifiedSessions.clear()
  }
}

function createCode(): string {
  const letters = Array.from({ length: CODE_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return `${letters.slice(0, CODE_LETTERS / 2)}-${letters.slice(CODE_LETTERS / 2)}`
}
