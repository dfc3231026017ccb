import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock, Config, Principal } from '../../src/plugin.ts'
import { BoundedMap, gatewayError, principalKey } from '../../src/plugin.ts'
import type { ScopeExpander } from './scopes.ts'
import type { Verified } from './tokens.ts'

type ApiKeyConfig = NonNullable<NonNullable<Config['auth']>['keys']>[number]

interface StoredApiKey {
  readonly name: string
  readonly digest: Buffer
  readonly principal: Principal
}

const HASH = /^sha256:([0-9a-f]{64})$/

const NAME = /^[^\s]{1,64}$/

const SCOPE = /^[!#-[\]-~]{1,128}$/

const MAX_KEYS = 1000

/** The API keys that are known, by their hashes. */
export class KeyRing {
  readonly #keys: readonly StoredApiKey[]

  /** @throws GatewayError GW_PLUGIN_OPTIONS when there are too many, or one hash stands for two. */
  constructor(keys: readonly ApiKeyConfig[], withImplied: ScopeExpander) {
    const hashes = new Set(keys.map(({ hash }) => hash))
    if (hashes.size !== keys.length) throw createKeyError('two API keys have the same hash')
    if (keys.length > MAX_KEYS) throw createKeyError(`there are more than ${MAX_KEYS} API keys`)
    this.#keys = keys.map(key => ({
      name: key.name,
      digest: Buffer.from(key.hash.slice('sha256:'.length)),
      principal: withImplied(buildPrincipal(key)),
    }))
  }

  /** The principal of the key of this name, for commands of the owner; of several keys of one subject, the first. */
  findByName(name: string): Principal | undefined {
    const held =
      this.#keys.find(one => one.name === name) ??
      this.#keys.find(({ principal }) => principal.subject === name)
    return held?.principal
  }

  /** Names of all keys, for the owner. */
  get names(): readonly string[] {
    return this.#keys.map(({ name }) => name)
  }

  /** Finds the principal of a key. Looks at every hash to its end, so that the time says nothing about any. */
  find(secret: string): Principal | undefined {
    const digest = Buffer.from(hashSecret(secret))
    let found: Principal | undefined
    for (const held of this.#keys) if (timingSafeEqual(held.digest, digest)) found = held.principal
    return found
  }
}

/** Without the key's own name: an old and a new key of one principal are the same caller. */
function buildPrincipal({ name, principal = name, scopes }: ApiKeyConfig): Principal {
  return Object.freeze({ issuer: 'api-key', client: '', subject: principal, scopes })
}

/**
 * Reads a file of keys: on each line a name, a hash, then scopes; `#` begins a comment.
 * @throws GatewayError GW_PLUGIN_OPTIONS, naming the line.
 */
export function readKeys(text: string, file: string): ApiKeyConfig[] {
  return text.split(/\r?\n/).flatMap((line, at) => {
    const [name, hash, ...scopes] = line.replace(/#.*$/, '').trim().split(/\s+/)
    if (name === undefined || name === '') return []
    if (!NAME.test(name) || hash === undefined || !HASH.test(hash) || !scopes.every(s => SCOPE.test(s)))
      throw createKeyError(
        `${file}:${at + 1} is no key: a name, sha256:…, then scopes, as in "ci sha256:… tools:read"`,
      )
    return [{ name, hash, scopes }]
  })
}

function createKeyError(why: string): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why })
}

/** Digest of a secret in hex, which is kept and compared. A key has 256 random bits, so one round is as good as many. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret)
}

/** Tokens whose verdict is kept, of all callers and of one. */
const MAX_VERDICTS = 10_000
const MAX_OF_CALLER = 1000
/** The longest that a verdict is kept, so that a withdrawn signing key is noticed. */
const MAX_VERDICT_MS = 60_000

interface CachedVerdict {
  readonly principal: Principal
  readonly until: number
}

/** Verdicts on tokens, by a hash of the token. Kept no longer than the token is good, on a clock that does not jump. */
export class VerdictCache {
  readonly #verdicts = new BoundedMap<string, CachedVerdict>({ max: MAX_VERDICTS, share: MAX_OF_CALLER })
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(key: string): Principal | undefined {
    const kept = this.#verdicts.get(key)
    if (kept === undefined) return undefined
    if (this.#clock.now() < kept.until) return kept.principal
    this.#verdicts.delete(key)
    return undefined
  }

  set(key: string, { principal, expiresAt }: Verified): void {
    const left = Math.min(MAX_VERDICT_MS, expiresAt - Date.now())
    if (left <= 0) return
    this.#verdicts.set(key, { principal, until: this.#clock.now() + left }, principalKey(principal))
  }
}
