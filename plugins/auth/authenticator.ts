import type {
  Config,
  Credentials,
  HttpReply,
  HttpRequest,
  Log,
  PluginApi,
  Principal,
  Refusal,
} from '../../src/plugin.ts'
import { BoundedMap, compileGlobs, getErrorMessage, verifiedTokens } from '../../src/plugin.ts'
import { prepareRule } from './access.ts'
import { readCredential, createUnauthorized } from './challenge.ts'
import type { KeyRing } from './api-keys.ts'
import { hashSecret, VerdictCache } from './api-keys.ts'
import { canonicalizeResource, buildMetadataUrl } from './protected-resource.ts'
import type { ScopeExpander } from './implied-scopes.ts'
import { createScopeExpander, listScopes } from './implied-scopes.ts'
import type { VerifyToken } from './tokens.ts'

/** Cached principals, so that each certificate keeps the same object. */
const MAX_CALLERS = 10_000

type Certificate = NonNullable<Credentials['certificate']>

/** Maps verified client certificates to principals. */
class CertificateCallers {
  readonly #accepted: readonly {
    readonly issuer: string
    readonly isSubject: (text: string) => boolean
    readonly scopes: readonly string[]
  }[]
  readonly #callers = new BoundedMap<string, Principal>({ max: MAX_CALLERS })
  readonly #withImplied: ScopeExpander

  constructor(specs: AuthConfig['certificates'] = [], withImplied: ScopeExpander) {
    this.#accepted = specs.map(({ issuer, subjects, scopes }) => ({
      issuer,
      isSubject: compileGlobs(subjects),
      scopes,
    }))
    this.#withImplied = withImplied
  }

  get hasIssuers(): boolean {
    return this.#accepted.length > 0
  }

  /** Returns the certificate's principal, or the rejection reason for the log. */
  identify({ issuer, subject, expiresAt }: Certificate): Principal | string {
    if (Date.now() > expiresAt) return `certificate of ${subject} has expired`
    const key = JSON.stringify([issuer, subject])
    const cached = this.#callers.get(key)
    if (cached !== undefined) return cached
    const fits = this.#accepted.filter(one => one.issuer === issuer && one.isSubject(subject))
    if (fits.length === 0) return `no auth.certificates entry matches ${subject} issued by ${issuer}`
    const scopes = Object.freeze([...new Set(fits.flatMap(one => one.scopes))])
    const principal = this.#withImplied(Object.freeze({ issuer, client: '', subject, scopes }))
    this.#callers.set(key, principal)
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
  readonly #certificates: CertificateCallers
  readonly #verdicts: VerdictCache
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
    this.#certificates = new CertificateCallers(options.certificates, createScopeExpander(options.implies))
    this.#verdicts = new VerdictCache(clock)
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
      return certificate !== undefined && this.#certificates.hasIssuers
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
    const cached = this.#verdicts.findPrincipal(key)
    if (cached !== undefined) return cached
    try {
      const verified = await verify(
        token,
        resource === undefined ? [] : [...new Set([resource.canonical, resource.written])],
      )
      this.#verdicts.storePrincipal(key, verified)
      verifiedTokens.set(verified.principal, token)
      return verified.principal
    } catch (error) {
      return this.#refuseCredential(listener, getErrorMessage(error))
    }
  }

  #authenticateCertificate(certificate: Certificate, listener: string): Principal | Refusal {
    const principal = this.#certificates.identify(certificate)
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
    const { keys, keysFile, keyHeader } = this.#options
    const byCertificate = this.#certificates.hasIssuers ? ', or use a client certificate' : ''
    if (keys === undefined && keysFile === undefined)
      return this.hasIssuers
        ? `send "Authorization: Bearer <token>"${byCertificate}`
        : 'use an accepted client certificate'
    const kinds = this.hasIssuers ? 'API key or token' : 'API key'
    return `send "Authorization: Bearer <${kinds}>" or "${keyHeader}: <API key>"${byCertificate}`
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
