import { createHash, randomBytes } from 'node:crypto'
import type { SharedStore } from '../../../src/plugin.ts'
import { BoundedMap, isObject } from '../../../src/plugin.ts'
import type { LoginLink } from './links.ts'
import { LINK_MS } from './links.ts'

const MAX_CONSENTS = 10_000
/** One that nobody needed for so long is asked for again. */
const CONSENT_MS = 90 * 86_400_000

/**
 * Consents that were given: of whom, to which upstream and authorization server, for which scopes. Replicas have them in common, sealed, so
 * that nobody who writes there gives one; while that is away only those that were given here are known.
 */
export class ConsentStore {
  readonly #own = new BoundedMap<string, true>({ max: MAX_CONSENTS })
  readonly #shared: SharedStore | undefined

  constructor(shared: SharedStore | undefined) {
    this.#shared = shared
  }

  async hasConsent(consent: string): Promise<boolean> {
    if (this.#own.has(consent)) return true
    try {
      const key = hashConsent(consent)
      const sealed = await this.#shared?.get(key)
      return sealed !== undefined && this.#shared?.open(sealed, key) === consent
    } catch {
      return false
    }
  }

  addConsent(consent: string): void {
    this.#own.set(consent, true)
    const key = hashConsent(consent)
    const shared = this.#shared
    shared?.put(key, shared.seal(consent, key), { ms: CONSENT_MS }).catch(() => undefined)
  }
}

/** Long lists of scopes make long consents. */
function hashConsent(consent: string): string {
  return `consent ${createHash('sha256').update(consent).digest('base64url')}`
}

/** Uses of a name: one that was made for another use is none. */
type NameUse = 'link' | 'person' | 'state'

interface ReplicaNamesDeps {
  readonly shared?: SharedStore | undefined
  place(): string | undefined
}

/**
 * Names of what begins at one of several replicas, which say at which: the page of a login is asked of any, and answered by the one
 * that has the link and the browser. Nobody else can make one, so that nobody is asked for a name that was guessed.
 */
export class ReplicaNames {
  readonly #deps: ReplicaNamesDeps
  /** A replica that had to take another name still has what it began under the old one. */
  readonly #own = new Set<string>()

  constructor(host: ReplicaNamesDeps) {
    this.#deps = host
  }

  /** Ends the names of cookies, as each replica knows its own browsers. */
  readonly suffix = randomBytes(4).toString('hex')

  createName(use: NameUse): string {
    const random = randomBytes(16).toString('base64url')
    const { shared } = this.#deps
    const place = this.#deps.place()
    if (shared === undefined || place === undefined) return random
    this.#own.add(place)
    return shared.seal(`${place} ${random}`, use)
  }

  /** The replica that made a name; undefined for one of this replica, and for what none has made. */
  findReplica(use: NameUse, name: string): string | undefined {
    const [place, random] = this.#deps.shared?.open(name, use)?.split(' ') ?? []
    return place === undefined || random === undefined || this.#own.has(place) ? undefined : place
  }
}

const MADE = 'made'

type LinkedLogin = Pick<LoginLink, 'account' | 'upstream'>

/** Callers that any replica has sent to a page: their next request comes to another one, which has no link of theirs. */
export class SentCallers {
  readonly #shared: SharedStore | undefined
  readonly #onLogin: (account: string, upstream: string) => void
  #end: (() => void) | undefined

  /** `made` is called when another replica says that a login was made. */
  constructor(shared: SharedStore | undefined, made: (account: string, upstream: string) => void) {
    this.#shared = shared
    this.#onLogin = made
  }

  /** Notes that a caller is sent to the page of a link. */
  noteSent({ account, upstream }: LinkedLogin): void {
    this.#subscribe()
    this.#shared?.put(createSentKey(account, upstream), '1', { ms: LINK_MS }).catch(() => undefined)
  }

  /** True where some replica has sent a caller, who has not logged in since. */
  async isSent(account: string, upstream: string): Promise<boolean> {
    this.#subscribe()
    try {
      return (await this.#shared?.get(createSentKey(account, upstream))) !== undefined
    } catch {
      return false
    }
  }

  /** Tells the others that the login of a link is made, so that what waits for it there goes on. */
  async publishLogin({ account, upstream }: LinkedLogin): Promise<void> {
    const shared = this.#shared
    if (shared === undefined) return
    try {
      await shared.delete(createSentKey(account, upstream))
      await shared.publish(MADE, shared.seal(JSON.stringify({ account, upstream }), MADE))
    } catch {
      // A caller that waits there asks the vault a little later.
    }
  }

  /** Hears of the others from the first link on, for as long as the process lives. */
  #subscribe(): void {
    this.#end ??= this.#shared?.subscribe(MADE, sealed => {
      const text = this.#shared?.open(sealed, MADE)
      const said: unknown = text === undefined ? undefined : JSON.parse(text)
      if (isObject(said)) this.#onLogin(String(said.account), String(said.upstream))
    })
  }
}

function createSentKey(account: string, upstream: string): string {
  return `sent ${createHash('sha256')
    .update(JSON.stringify([account, upstream]))
    .digest('base64url')}`
}
