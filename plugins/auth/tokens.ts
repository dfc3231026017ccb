import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { CryptoKey, JWK, JWSHeaderParameters, JWTPayload, JWTVerifyOptions } from 'jose'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import type { Clock, Config, Log, PluginApi, Principal } from '../../src/plugin.ts'
import { gatewayError, isObject, parseDuration } from '../../src/plugin.ts'
import type { ScopeExpander } from './implied-scopes.ts'

const MAX_BYTES = 256 * 1024
const WITHIN_MS = 4000
/** Minimum delay between fetches, whatever key ids callers send. */
const BETWEEN_MS = 30_000
/** Age after which keys are fetched again, and maximum age if fetching fails. */
const FRESH_MS = 10 * 60_000
const STALE_MS = 60 * 60_000

type KeyFinder = ReturnType<typeof createLocalJWKSet>

/** Finds the public key for a token header. */
type KeySet = (header: JWSHeaderParameters) => Promise<CryptoKey>

type KeySetDeps = Pick<PluginApi, 'directory' | 'clock' | 'log' | 'fetch'>

/** @throws GatewayError GW_PLUGIN_OPTIONS if `from` is neither a key file nor an allowed URL. */
export async function createKeySet(from: string, around: KeySetDeps): Promise<KeySet> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(from)) return new RemoteKeys(parseKeyUrl(from), around).find
  const path = isAbsolute(from) ? from : join(around.directory, from)
  try {
    const find = createFinder(await readFile(path, 'utf8'))
    return header => find(header)
  } catch (cause) {
    throw createIssuerError(`${from} is not a JSON Web Key Set (JWKS)`, cause)
  }
}

function parseKeyUrl(from: string): URL {
  const url = URL.canParse(from) ? new URL(from) : undefined
  const isLocal = url !== undefined && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url
  throw createIssuerError(`${from}: public keys require https`)
}

function createFinder(text: string): KeyFinder {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || !Array.isArray(value.keys)) throw new TypeError('no "keys" member')
  // Symmetric keys are not accepted.
  const keys = (value.keys as unknown[]).filter((key): key is JWK => isObject(key) && key.kty !== 'oct')
  return createLocalJWKSet({ keys })
}

/** Fetches keys from a configured URL only. */
class RemoteKeys {
  readonly #url: URL
  readonly #clock: Clock
  readonly #log: Log
  readonly #fetchUrl: PluginApi['fetch']
  #keys: { readonly find: KeyFinder; readonly at: number } | undefined
  #triedAt = -Infinity
  #fetching: Promise<void> | undefined

  constructor(url: URL, { clock, log, fetch }: KeySetDeps) {
    this.#url = url
    this.#clock = clock
    this.#log = log
    this.#fetchUrl = fetch
  }

  readonly find: KeySet = async header => {
    if (this.#age() > FRESH_MS) await this.#refresh()
    try {
      return await this.#getKnown()(header)
    } catch (error) {
      const isNew = error instanceof errors.JWKSNoMatchingKey && this.#mayTry()
      if (!isNew) throw error
      await this.#refresh()
      return this.#getKnown()(header)
    }
  }

  #age(): number {
    return this.#keys === undefined ? Infinity : this.#clock.now() - this.#keys.at
  }

  #getKnown(): KeyFinder {
    if (this.#keys === undefined || this.#age() > STALE_MS) throw new errors.JWKSNoMatchingKey()
    return this.#keys.find
  }

  #mayTry(): boolean {
    return this.#clock.now() - this.#triedAt >= BETWEEN_MS
  }

  /** Concurrent callers share one fetch. */
  #refresh(): Promise<void> {
    if (this.#fetching === undefined && !this.#mayTry()) return Promise.resolve()
    this.#fetching ??= this.#fetchKeys().finally(() => (this.#fetching = undefined))
    return this.#fetching
  }

  async #fetchKeys(): Promise<void> {
    this.#triedAt = this.#clock.now()
    try {
      const find = createFinder(await downloadKeys(this.#url, this.#fetchUrl))
      this.#keys = { find, at: this.#clock.now() }
    } catch (error) {
      this.#log.warn('cannot fetch public keys', { from: this.#url.href, reason: String(error) })
    }
  }
}

async function downloadKeys(url: URL, fetch: PluginApi['fetch']): Promise<string> {
  const headers = { accept: 'application/json, application/jwk-set+json' }
  const response = await fetch(url, { namedBy: url, headers, maxBytes: MAX_BYTES, timeoutMs: WITHIN_MS })
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return response.text()
}

function createIssuerError(why: string, cause?: unknown): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why, cause })
}

type JwtIssuerConfig = NonNullable<NonNullable<Config['auth']>['jwt']>[number]

interface Issuer {
  readonly keys: KeySet
  readonly audience: readonly string[] | undefined
  readonly options: JWTVerifyOptions
  readonly leewaySeconds: number
}

const MAX_LEEWAY_MS = 60_000

const MAX_SCOPES = 200

const MAX_TEXT = 512

/**
 * Header parameters that tokens must not contain: key locations from the token itself, and unsupported extensions.
 */
const NEVER = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64'] as const

/** A verified token: principal and expiry in milliseconds since 1970. */
export interface Verified {
  readonly principal: Principal
  readonly expiresAt: number
}

/** Verifies a token for one of the resource's names; rejects with a reason for the log only. */
export type VerifyToken = (token: string, resource: readonly string[]) => Promise<Verified>

/** @throws GatewayError GW_PLUGIN_OPTIONS */
export async function createTokenVerifier(
  specs: readonly JwtIssuerConfig[],
  around: KeySetDeps,
  withImplied: ScopeExpander,
  /** True to include groups and claims in the principal. */
  withClaims = false,
): Promise<VerifyToken> {
  const issuers = new Map<string, Issuer>()
  for (const spec of specs) {
    if (issuers.has(spec.issuer))
      throw gatewayError('GW_PLUGIN_OPTIONS', {
        plugin: 'auth',
        why: `auth.jwt contains the issuer ${spec.issuer} twice: list all audiences and algorithms in one entry`,
      })
    issuers.set(spec.issuer, createIssuer(spec, await createKeySet(spec.jwks, around)))
  }
  return async (token, resource) => {
    const { iss } = decodeJwt(token)
    const issuer = iss === undefined ? undefined : issuers.get(iss)
    if (issuer === undefined) throw new Error('unknown issuer')
    checkHeader(token)
    const audience = issuer.audience ?? resource
    const { payload } = await jwtVerify(token, issuer.keys, { ...issuer.options, audience: [...audience] })
    checkClaims(payload, audience, issuer)
    const caller = buildPrincipal(payload)
    const principal = withImplied(withClaims ? addClaims(caller, payload) : caller)
    return { principal, expiresAt: (payload.exp ?? 0) * 1000 }
  }
}

function createIssuer(spec: JwtIssuerConfig, keys: KeySet): Issuer {
  const leewayMs = parseDuration(spec.leeway)
  if (leewayMs > MAX_LEEWAY_MS)
    throw gatewayError('GW_PLUGIN_OPTIONS', {
      plugin: 'auth',
      why: 'auth.jwt leeway exceeds one minute',
    })
  const leewaySeconds = leewayMs / 1000
  const options: JWTVerifyOptions = {
    issuer: spec.issuer,
    algorithms: [...spec.algorithms],
    clockTolerance: leewaySeconds,
    requiredClaims: ['aud', 'exp', 'sub', ...spec.requires],
    ...(spec.maxAge === undefined ? {} : { maxTokenAge: parseDuration(spec.maxAge) / 1000 }),
    ...(spec.type === undefined ? {} : { typ: spec.type }),
  }
  return { keys, audience: spec.audience, options, leewaySeconds }
}

function checkHeader(token: string): void {
  const header: Record<string, unknown> = { ...decodeProtectedHeader(token) }
  const odd = NEVER.find(name => header[name] !== undefined)
  if (odd !== undefined) throw new Error(`unsupported header "${odd}"`)
  if (header.kid !== undefined && (typeof header.kid !== 'string' || header.kid.length > MAX_TEXT))
    throw new Error('invalid key id')
}

/**
 * Checks claims that the library does not: additional audiences, which could replay the token here, and `iat` in the
 * future.
 */
function checkClaims(payload: JWTPayload, audience: readonly string[], { leewaySeconds }: Issuer): void {
  const made = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? [])
  if (!made.every(one => audience.includes(one))) throw new Error('unexpected audience')
  if (payload.iat !== undefined && payload.iat > Date.now() / 1000 + leewaySeconds)
    throw new Error('issued in the future')
}

function buildPrincipal(payload: JWTPayload): Principal {
  return Object.freeze({
    issuer: readClaim(payload.iss),
    client: readClaim(payload.client_id ?? payload.azp ?? ''),
    subject: readClaim(payload.sub) || failMissingClaim('sub'),
    scopes: Object.freeze(parseScopes(payload.scope ?? payload.scp)),
  })
}

/** Adds groups and claims, for rules that use them. */
function addClaims(principal: Principal, payload: JWTPayload): Principal {
  return Object.freeze({
    ...principal,
    groups: Object.freeze(parseScopes(payload.groups)),
    claims: Object.freeze({ ...payload }),
  })
}

function readClaim(value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_TEXT) throw new Error('a claim is not a string, or is too long')
  return value
}

function failMissingClaim(claim: string): never {
  throw new Error(`claim ${claim} is empty`)
}

/** Parses `scope` (RFC 8693), or the `scp` list that some issuers send. */
function parseScopes(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return list
    .filter((one): one is string => typeof one === 'string' && one !== '' && one.length <= MAX_TEXT)
    .slice(0, MAX_SCOPES)
}
