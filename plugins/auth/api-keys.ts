import { hash, timingSafeEqual } from 'node:crypto'
import type { Config, Principal } from '../../src/plugin.ts'
import { gatewayError } from '../../src/plugin.ts'
import type { ScopeExpander } from './implied-scopes.ts'

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

/** Known API keys, stored as hashes. */
export class KeyRing {
  readonly #keys: readonly StoredApiKey[]

  /** @throws GatewayError GW_PLUGIN_OPTIONS if there are too many keys or a hash occurs twice. */
  constructor(keys: readonly ApiKeyConfig[], withImplied: ScopeExpander) {
    const hashes = new Set(keys.map(({ hash }) => hash))
    if (hashes.size !== keys.length) throw createKeyError('two API keys have the same hash')
    if (keys.length > MAX_KEYS) throw createKeyError(`more than ${MAX_KEYS} API keys`)
    this.#keys = keys.map(key => ({
      name: key.name,
      digest: Buffer.from(key.hash.slice('sha256:'.length)),
      principal: withImplied(buildPrincipal(key)),
    }))
  }

  /** Returns the principal for a key name or subject, for control commands; the first one if several keys match. */
  findByName(name: string): Principal | undefined {
    const apiKey =
      this.#keys.find(one => one.name === name) ?? this.#keys.find(({ principal }) => principal.subject === name)
    return apiKey?.principal
  }

  /** All key names, for control commands. */
  get names(): readonly string[] {
    return this.#keys.map(({ name }) => name)
  }

  /** Finds a key's principal. Compares all hashes in constant time. */
  find(secret: string): Principal | undefined {
    const digest = Buffer.from(hashSecret(secret))
    let principal: Principal | undefined
    for (const apiKey of this.#keys) if (timingSafeEqual(apiKey.digest, digest)) principal = apiKey.principal
    return principal
  }
}

/** Omits the key name, so that a rotated key keeps its principal. */
function buildPrincipal({ name, principal = name, scopes }: ApiKeyConfig): Principal {
  return Object.freeze({ issuer: 'api-key', client: '', subject: principal, scopes })
}

/**
 * Parses a key file: name, hash and scopes per line; `#` begins a comment.
 * @throws GatewayError GW_PLUGIN_OPTIONS with the line number.
 */
export function readKeys(text: string, file: string): ApiKeyConfig[] {
  return text.split(/\r?\n/).flatMap((line, at) => {
    const [name, hash, ...scopes] = line.replace(/#.*$/, '').trim().split(/\s+/)
    if (name === undefined || name === '') return []
    if (!NAME.test(name) || hash === undefined || !HASH.test(hash) || !scopes.every(s => SCOPE.test(s)))
      throw createKeyError(
        `${file}:${at + 1}: invalid key: expected a name, sha256:…, then scopes, as in "ci sha256:… tools:read"`,
      )
    return [{ name, hash, scopes }]
  })
}

function createKeyError(why: string): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why })
}

/** Hashes a secret to hex. One round is enough, because keys have 256 random bits. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret)
}
