import { createHash, randomBytes } from 'node:crypto'
import type { SharedStore } from '../../../src/plugin.ts'
import { BoundedMap, isObject } from '../../../src/plugin.ts'
import type { LoginLink } from './login-links.ts'
import { LINK_MS } from './login-links.ts'

const MAX_CONSENTS = 10_000
/** Consents expire after this time. */
const CONSENT_MS = 90 * 86_400_000

/**
 * Given consents by caller, upstream, authorization server and scopes. Replicas share them sealed, so that write
 * access to the store is not enough to forge one; while the store is unavailable only local ones count.
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
    shared?.put(key, shared.seal(consent, key), { expiresInMs: CONSENT_MS }).catch(() => undefined)
  }
}

/** Hash the consent, as it may list many scopes. */
function hashConsent(consent: string): string {
  return `consent ${createHash('sha256').update(consent).digest('base64url')}`
}

/** Purpose of a name; a name is valid for its purpose only. */
type NameUse = 'link' | 'person' | 'state'

interface ReplicaNamesDeps {
  readonly shared?: SharedStore | undefined
  replicaId(): string | undefined
}

/**
 * Names that contain their replica, so that any replica can proxy a login page to the one with the link and browser.
 * They are sealed, so that guessed names are not proxied.
 */
export class ReplicaNames {
  readonly #deps: ReplicaNamesDeps
  /** This replica's previous names are still its own. */
  readonly #own = new Set<string>()

  constructor(host: ReplicaNamesDeps) {
    this.#deps = host
  }

  /** Cookie name suffix, as each replica knows only its own browsers. */
  readonly suffix = randomBytes(4).toString('hex')

  createName(use: NameUse): string {
    const random = randomBytes(16).toString('base64url')
    const { shared } = this.#deps
    const ownReplica = this.#deps.replicaId()
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

const MADE = 'made'

type LinkedLogin = Pick<LoginLink, 'account' | 'upstream'>

/** Callers that any replica sent to a login page: their retry may arrive at another one. */
export class SentCallers {
  readonly #shared: SharedStore | undefined
  readonly #onLogin: (account: string, upstream: string) => void
  #end: (() => void) | undefined

  /** `onLogin` is called when another replica reports a login. */
  constructor(shared: SharedStore | undefined, made: (account: string, upstream: string) => void) {
    this.#shared = shared
    this.#onLogin = made
  }

  noteSent({ account, upstream }: LinkedLogin): void {
    this.#subscribe()
    this.#shared?.put(createSentKey(account, upstream), '1', { expiresInMs: LINK_MS }).catch(() => undefined)
  }

  /** Returns true if a caller was sent to a page and has not logged in since. */
  async isSent(account: string, upstream: string): Promise<boolean> {
    this.#subscribe()
    try {
      return (await this.#shared?.get(createSentKey(account, upstream))) !== undefined
    } catch {
      return false
    }
  }

  /** Notifies other replicas of a login, so that their waiting calls resume. */
  async publishLogin({ account, upstream }: LinkedLogin): Promise<void> {
    const shared = this.#shared
    if (shared === undefined) return
    try {
      await shared.delete(createSentKey(account, upstream))
      await shared.publish(MADE, shared.seal(JSON.stringify({ account, upstream }), MADE))
    } catch {
      // Waiting calls will find the login in the vault.
    }
  }

  /** Subscribes with the first link. */
  #subscribe(): void {
    this.#end ??= this.#shared?.subscribe(MADE, sealed => {
      const text = this.#shared?.open(sealed, MADE)
      const message: unknown = text === undefined ? undefined : JSON.parse(text)
      if (isObject(message)) this.#onLogin(String(message.account), String(message.upstream))
    })
  }
}

function createSentKey(account: string, upstream: string): string {
  return `sent ${createHash('sha256')
    .update(JSON.stringify([account, upstream]))
    .digest('base64url')}`
}
