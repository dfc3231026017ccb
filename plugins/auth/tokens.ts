import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CryptoKey, JSONWebKeySet, JWSHeaderParameters, JWTPayload, JWTVerifyOptions } from 'jose'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
} from 'jose'
import type { Config, PluginApi, Principal } from '../../src/plugin.ts'
import { gatewayError, parseDuration } from '../../src/plugin.ts'
import type { ScopeExpander } from './implied-scopes.ts'

const MAX_BYTES = 256 * 1024
const WITHIN_MS = 4000
/** Minimum delay between fetches, whatever key ids callers send. */
const BETWEEN_MS = 30_000
/** Age after which keys are fetched again, and maximum age if fetching fails. */
const FRESH_MS = 10 * 60_000
const STALE_MS = 60 * 60_000

/** Finds the public key for a token header. */
type KeySet = (header: JWSHeaderParameters) => Promise<CryptoKey>

type KeySetDeps = Pick<PluginApi, 'directory' | 'clock' | 'log' | 'fetch'>

/** @throws GatewayError GW_PLUGIN_OPTIONS if `from` is neither a key file nor an allowed URL. */
export async function createKeySet(from: string, deps: KeySetDeps): Promise<KeySet> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(from)) return createRemoteKeys(parseKeyUrl(from), deps)
  try {
    const find = createLocalJWKSet(JSON.parse(await readFile(resolve(deps.directory, from), 'utf8')) as JSONWebKeySet)
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

/** Fetches keys from a configured URL only. */
function createRemoteKeys(url: URL, { clock, log, fetch }: KeySetDeps): KeySet {
  let triedAt = -Infinity
  let fetchedAt = -Infinity
  const getAge = (): number => clock.now() - fetchedAt
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: Infinity,
    cooldownDuration: 0,
    [customFetch]: async (_url, { headers }) => {
      if (clock.now() - triedAt < BETWEEN_MS) throw new errors.JWKSNoMatchingKey()
      triedAt = clock.now()
      return fetch(url, { namedBy: url, headers, maxBytes: MAX_BYTES, timeoutMs: WITHIN_MS })
    },
  })
  const noteFetch = (): void => {
    fetchedAt = clock.now()
  }
  const logFailure = (error: unknown): void => {
    if (!(error instanceof errors.JWKSNoMatchingKey))
      log.warn('cannot fetch public keys', { from: url.href, reason: String(error) })
  }
  return async header => {
    if (getAge() > FRESH_MS) await keys.reload().then(noteFetch, logFailure)
    if (getAge() > STALE_MS) throw new errors.JWKSNoMatchingKey()
    return keys(header)
  }
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
