import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { createLocalJWKSet, errors, type CryptoKey, type JWK, type JWSHeaderParameters } from 'jose'
import { type Fetch, gatewayError, isObject, type Clock, type Log } from '../../src/plugin.ts'

const MAX_BYTES = 256 * 1024
const WITHIN_MS = 4000
/** Not more often, whatever key ids callers make up. */
const BETWEEN_MS = 30_000
/** Older keys are fetched anew; how long they serve when that fails. */
const FRESH_MS = 10 * 60_000
const STALE_MS = 60 * 60_000

type Find = ReturnType<typeof createLocalJWKSet>

/** Finds the public key that a token says it was signed with. */
export type KeySet = (header: JWSHeaderParameters) => Promise<CryptoKey>

/** Parts that fetching keys takes. */
export interface KeySources {
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
  readonly fetch: Fetch
}

/** @throws GatewayError GW_PLUGIN_OPTIONS when it is neither a file of keys nor a URL that may be asked. */
export async function keySet(from: string, around: KeySources): Promise<KeySet> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(from)) return new RemoteKeys(urlOf(from), around).find
  const path = isAbsolute(from) ? from : join(around.directory, from)
  try {
    const find = finderOf(await readFile(path, 'utf8'))
    return header => find(header)
  } catch (cause) {
    throw refused(`${from} is no file of public keys (JWKS)`, cause)
  }
}

function urlOf(from: string): URL {
  const url = URL.canParse(from) ? new URL(from) : undefined
  const isLocal = url !== undefined && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url
  throw refused(`${from}: public keys are fetched over https only`)
}

function finderOf(text: string): Find {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || !Array.isArray(value.keys)) throw new TypeError('it has no "keys"')
  // Shared secrets sign nothing here.
  const keys = (value.keys as unknown[]).filter((key): key is JWK => isObject(key) && key.kty !== 'oct')
  return createLocalJWKSet({ keys })
}

/** The keys behind one configured URL. Nothing else is ever asked. */
class RemoteKeys {
  readonly #url: URL
  readonly #clock: Clock
  readonly #log: Log
  readonly #fetchUrl: Fetch
  #keys: { readonly find: Find; readonly at: number } | undefined
  #triedAt = -Infinity
  #fetching: Promise<void> | undefined

  constructor(url: URL, { clock, log, fetch }: KeySources) {
    this.#url = url
    this.#clock = clock
    this.#log = log
    this.#fetchUrl = fetch
  }

  readonly find: KeySet = async header => {
    if (this.#age() > FRESH_MS) await this.#refresh()
    try {
      return await this.#known()(header)
    } catch (error) {
      const isNew = error instanceof errors.JWKSNoMatchingKey && this.#mayTry()
      if (!isNew) throw error
      await this.#refresh()
      return this.#known()(header)
    }
  }

  #age(): number {
    return this.#keys === undefined ? Infinity : this.#clock.now() - this.#keys.at
  }

  #known(): Find {
    if (this.#keys === undefined || this.#age() > STALE_MS) throw new errors.JWKSNoMatchingKey()
    return this.#keys.find
  }

  #mayTry(): boolean {
    return this.#clock.now() - this.#triedAt >= BETWEEN_MS
  }

  /** One at a time; who comes meanwhile waits for the same. */
  #refresh(): Promise<void> {
    if (this.#fetching === undefined && !this.#mayTry()) return Promise.resolve()
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined))
    return this.#fetching
  }

  async #fetch(): Promise<void> {
    this.#triedAt = this.#clock.now()
    try {
      const find = finderOf(await download(this.#url, this.#fetchUrl))
      this.#keys = { find, at: this.#clock.now() }
    } catch (error) {
      this.#log.warn('public keys could not be fetched', { from: this.#url.href, reason: String(error) })
    }
  }
}

async function download(url: URL, fetch: Fetch): Promise<string> {
  const headers = { accept: 'application/json, application/jwk-set+json' }
  const response = await fetch(url, { namedBy: url, headers, maxBytes: MAX_BYTES, withinMs: WITHIN_MS })
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return response.text()
}

function refused(why: string, cause?: unknown): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why, cause })
}
