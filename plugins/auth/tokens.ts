import { decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify, type JWTVerifyOptions } from 'jose'
import { type Config, gatewayError, parseDuration, type Principal } from '../../src/plugin.ts'
import { keySet, type KeySet, type KeySources } from './key-set.ts'
import type { WithImplied } from './scopes.ts'

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

/** A token says by which key it was signed, never where that key is; and it asks for nothing we do not know. */
const NEVER = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64'] as const

/** A token that was found good: whose it is, and until when, in milliseconds since 1970. */
export interface Verified {
  readonly principal: Principal
  readonly expiresAt: number
}

/** Verifies a token for a resource, by any of its names; rejects with the reason, which is for the log alone. */
export type VerifyToken = (token: string, resource: readonly string[]) => Promise<Verified>

/** @throws GatewayError GW_PLUGIN_OPTIONS */
export async function tokenVerifier(
  specs: readonly JwtIssuerConfig[],
  around: KeySources,
  withImplied: WithImplied,
  /** True when callers come with their groups and claims. */
  withClaims = false,
): Promise<VerifyToken> {
  const issuers = new Map<string, Issuer>()
  for (const spec of specs) {
    if (issuers.has(spec.issuer))
      throw gatewayError('GW_PLUGIN_OPTIONS', {
        plugin: 'auth',
        why: `auth.jwt names the issuer ${spec.issuer} twice: give one entry all of its audiences and algorithms`,
      })
    issuers.set(spec.issuer, issuerOf(spec, await keySet(spec.jwks, around)))
  }
  return async (token, resource) => {
    const { iss } = decodeJwt(token)
    const issuer = iss === undefined ? undefined : issuers.get(iss)
    if (issuer === undefined) throw new Error('its issuer is not configured')
    checkHeader(token)
    const audience = issuer.audience ?? resource
    const { payload } = await jwtVerify(token, issuer.keys, { ...issuer.options, audience: [...audience] })
    checkClaims(payload, audience, issuer)
    const caller = principalOf(payload)
    const principal = withImplied(withClaims ? described(caller, payload) : caller)
    return { principal, expiresAt: (payload.exp ?? 0) * 1000 }
  }
}

function issuerOf(spec: JwtIssuerConfig, keys: KeySet): Issuer {
  const leewayMs = parseDuration(spec.leeway)
  if (leewayMs > MAX_LEEWAY_MS)
    throw gatewayError('GW_PLUGIN_OPTIONS', {
      plugin: 'auth',
      why: 'auth.jwt leeway is more than a minute',
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
  if (odd !== undefined) throw new Error(`its header has "${odd}"`)
  if (header.kid !== undefined && (typeof header.kid !== 'string' || header.kid.length > MAX_TEXT))
    throw new Error('its key id is no short text')
}

/** Checks that the library leaves open: a token for somebody else too is theirs to replay here, and one from the future is nobody's. */
function checkClaims(payload: JWTPayload, audience: readonly string[], { leewaySeconds }: Issuer): void {
  const made = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? [])
  if (!made.every(one => audience.includes(one))) throw new Error('it is for somebody else too')
  if (payload.iat !== undefined && payload.iat > Date.now() / 1000 + leewaySeconds)
    throw new Error('it is from the future')
}

function principalOf(payload: JWTPayload): Principal {
  return Object.freeze({
    issuer: textOf(payload.iss),
    client: textOf(payload.client_id ?? payload.azp ?? ''),
    subject: textOf(payload.sub) || lacks('sub'),
    scopes: Object.freeze(scopesOf(payload.scope ?? payload.scp)),
  })
}

/** The caller with its groups and claims, for rules that read them. */
function described(principal: Principal, payload: JWTPayload): Principal {
  return Object.freeze({
    ...principal,
    groups: Object.freeze(scopesOf(payload.groups)),
    claims: Object.freeze({ ...payload }),
  })
}

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_TEXT) throw new Error('a claim is no short text')
  return value
}

function lacks(claim: string): never {
  throw new Error(`its ${claim} is empty`)
}

/** `scope` is one text (RFC 8693); some issuers send a list as `scp`. */
function scopesOf(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return list
    .filter((one): one is string => typeof one === 'string' && one !== '' && one.length <= MAX_TEXT)
    .slice(0, MAX_SCOPES)
}
