import type {
  Clock,
  Config,
  Credentials,
  HttpReply,
  HttpRequest,
  Log,
  PluginApi,
  Principal,
  Refusal,
} from '../../src/plugin.ts'
import { BoundedMap, compileGlobs, principalKey, getErrorMessage, verifiedTokens } from '../../src/plugin.ts'
import { prepareRule } from './access.ts'
import { readCredential, createUnauthorized } from './challenge.ts'
import type { KeyRing } from './api-keys.ts'
import { hashSecret } from './api-keys.ts'
import { canonicalizeResource, buildMetadataUrl } from './protected-resource.ts'
import { createScopeExpander, listScopes } from './implied-scopes.ts'
import type { VerifyToken } from './tokens.ts'

/** Maximum callers with certificates, each of which keeps the same principal. */
const MAX_CALLERS = 10_000
/** Limits on cached verdicts in total and per principal. */
const MAX_VERDICTS = 10_000
const MAX_OF_CALLER = 1000
/** Maximum cache time, so that a revoked signing key takes effect. */
const MAX_VERDICT_MS = 60_000

type Certificate = NonNullable<Credentials['certificate']>

/** Returns the principal of a verified client certificate, or the rejection reason for the log. */
type IdentifyCertificate = (certificate: Certificate) => Principal | string

function createCertificateCheck(
  { certificates = [], implies }: AuthConfig,
  withImplied = createScopeExpander(implies),
): IdentifyCertificate {
  const accepted = certificates.map(spec => ({ ...spec, isSubject: compileGlobs(spec.subjects) }))
  const callers = new BoundedMap<string, Principal>({ max: MAX_CALLERS })
  return ({ issuer, subject, expiresAt }) => {
    if (Date.now() > expiresAt) return `certificate of ${subject} has expired`
    const key = JSON.stringify([issuer, subject])
    const cached = callers.get(key)
    if (cached !== undefined) return cached
    const fits = accepted.filter(one => one.issuer === issuer && one.isSubject(subject))
    if (fits.length === 0) return `no auth.certificates entry matches ${subject} issued by ${issuer}`
    const scopes = Object.freeze([...new Set(fits.flatMap(one => one.scopes))])
    const principal = withImplied(Object.freeze({ issuer, client: '', subject, scopes }))
    callers.set(key, principal)
    return principal
  }
}

type AuthConfig = NonNullable<Config['auth']>

interface ListenerResource {
  readonly written: string
  readonly canonical: string
}

/** Authenticates requests or returns a challenge. */
export class Authenticator {
  readonly hasIssuers: boolean
  readonly #options: AuthConfig
  readonly #keys: KeyRing
  readonly #verify: VerifyToken | undefined
  readonly #identifyCertificate: IdentifyCertificate
  /** Verified tokens by listener and token hash, each at most until the token expires. */
  readonly #verdicts = new BoundedMap<string, { readonly principal: Principal; readonly until: number }>({
    max: MAX_VERDICTS,
    share: MAX_OF_CALLER,
  })
  readonly #clock: Clock
  readonly #log: Log
  /** Per listener, as configured and canonical; bounded by the configuration. */
  readonly #resources = new Map<string, ListenerResource>()
  /** Scopes required for every request. */
  readonly #scopes: readonly string[]

  constructor({ options, clock, log }: PluginApi<AuthConfig>, keys: KeyRing, verify: VerifyToken | undefined) {
    this.hasIssuers = verify !== undefined
    this.#options = options
    this.#keys = keys
    this.#verify = verify
    this.#identifyCertificate = createCertificateCheck(options)
    this.#clock = clock
    this.#log = log
    this.#scopes = listScopes(options.rules.filter(rule => prepareRule(rule, options).isGeneral))
  }

  /** A key or token takes precedence over the connection's certificate. */
  identify(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal> {
    const { listener, certificate } = credentials
    this.#noteResource(credentials)
    const credential = readCredential(credentials, this.#options.keyHeader)
    if (credential.kind === 'bad') return this.#refuseCredential(listener, credential.why)
    if (credential.kind === 'none')
      return certificate !== undefined && this.#options.certificates !== undefined
        ? this.#authenticateCertificate(certificate, listener)
        : this.#requireCredential(listener)
    if (credential.isToken && this.#verify !== undefined)
      return this.#authenticateToken(credential.secret, listener, this.#verify)
    return this.#keys.find(credential.secret) ?? this.#refuseCredential(listener, 'unknown API key')
  }

  /** A reload can change a listener's endpoint. */
  #noteResource({ listener, endpoint }: Credentials): void {
    const written = this.#options.resource ?? endpoint
    if (this.#resources.get(listener)?.written === written) return
    this.#resources.set(listener, { written, canonical: canonicalizeResource(written) })
  }

  async #authenticateToken(token: string, listener: string, verify: VerifyToken): Promise<Principal | Refusal> {
    const resource = this.#resources.get(listener)
    // Tokens are valid per listener, because resources differ.
    const key = `${listener} ${hashSecret(token)}`
    const cached = this.#verdicts.get(key)
    if (cached !== undefined && this.#clock.now() < cached.until) return cached.principal
    try {
      const names = resource === undefined ? [] : [...new Set([resource.canonical, resource.written])]
      const { principal, expiresAt } = await verify(token, names)
      const until = this.#clock.now() + Math.min(MAX_VERDICT_MS, expiresAt - Date.now())
      this.#verdicts.set(key, { principal, until }, principalKey(principal))
      verifiedTokens.set(principal, token)
      return principal
    } catch (error) {
      return this.#refuseCredential(listener, getErrorMessage(error))
    }
  }

  #authenticateCertificate(certificate: Certificate, listener: string): Principal | Refusal {
    const principal = this.#identifyCertificate(certificate)
    return typeof principal === 'string' ? this.#refuseCredential(listener, principal) : principal
  }

  #requireCredential(listener: string): Refusal {
    return createUnauthorized(`authentication required: ${this.#describeMethods}`, {
      scopes: this.#scopes,
      metadata: this.getMetadataUrl(listener),
    })
  }

  /** Accepted authentication methods. */
  get #describeMethods(): string {
    const { keys, keysFile, keyHeader, certificates } = this.#options
    const hasKeys = keys !== undefined || keysFile !== undefined
    const kinds = [...(hasKeys ? ['API key'] : []), ...(this.hasIssuers ? ['token'] : [])].join(' or ')
    return [
      ...(kinds === '' ? [] : [`send "Authorization: Bearer <${kinds}>"`]),
      ...(hasKeys ? [`send "${keyHeader}: <API key>"`] : []),
      ...(certificates === undefined ? [] : ['use an accepted client certificate']),
    ].join(', or ')
  }

  #refuseCredential(listener: string, reason: string): Refusal {
    this.#log.debug('credential rejected', { listener, reason })
    return createUnauthorized(`invalid credential; ${this.#describeMethods}`, {
      error: 'invalid_token',
      scopes: this.#scopes,
      metadata: this.getMetadataUrl(listener),
    })
  }

  /** Returns the resource metadata URL; undefined without an authorization server. */
  getMetadataUrl(listener: string): string | undefined {
    const resource = this.#resources.get(listener)
    return this.hasIssuers && resource !== undefined ? buildMetadataUrl(resource.canonical) : undefined
  }

  /** Serves the protected resource metadata (RFC 9728). */
  serveMetadata(request: HttpRequest): HttpReply | undefined {
    if (request.method !== 'GET') return undefined
    const body = {
      resource: canonicalizeResource(this.#options.resource ?? request.endpoint),
      authorization_servers: this.#options.jwt?.map(({ issuer }) => issuer),
      bearer_methods_supported: ['header'],
      scopes_supported: listScopes(this.#options.rules),
    }
    return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  }
}
