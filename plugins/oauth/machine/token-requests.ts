import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { AuthorizationServer, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import type { Clock, Log, OutgoingRequest } from '../../../src/plugin.ts'
import { BoundedMap, GatewayError, getErrorMessage, getToken } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { TokenSource } from '../flow/authorizer.ts'
import type { DiscoveredServer } from '../flow/discovery.ts'
import { isSameIssuer } from '../flow/discovery.ts'
import type { OAuthSpec, UpstreamFlow } from '../flow/upstream-flow.ts'
import { createConfiguredIdentity, getKeySpec } from '../flow/upstream-flow.ts'
import type { Wire } from '../flow/oauth-requests.ts'
import { formatFailure, limitScopes } from '../flow/oauth-requests.ts'
import type { Access } from '../types.ts'

/** Maximum accounts with cached tokens. */
const MAX_CACHED = 1000
/** Renew a token this long before it expires, or in the last quarter of a shorter life. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** Default token lifetime. */
const UNKNOWN_MS = 300_000
/** Pause after a refusal, as otherwise each call would request a token. */
const PAUSE_MS = 5000

interface CachedToken {
  readonly token: string
  readonly generation: number
  /** Clock time of the renewal. */
  readonly dueAt: number
  /** The caller's token that it was exchanged for. */
  readonly subject: string | undefined
}

/** Creates tokens for grants without a browser. They are stored in memory only, as they can be requested again. */
export function createMachineTokens(flow: UpstreamFlow, host: MachineDeps): TokenSource {
  return new MachineTokens(flow, host)
}

class MachineTokens implements TokenSource {
  readonly isInteractive = false
  readonly #flow: UpstreamFlow
  readonly #deps: MachineDeps
  readonly #cached = new BoundedMap<string, CachedToken>({ max: MAX_CACHED })
  readonly #flights = new Map<string, Promise<Access>>()
  readonly #failures = new BoundedMap<string, { readonly access: Access; readonly until: number }>({
    max: MAX_CACHED,
  })
  readonly #requests: TokenRequests
  #generation = 0

  constructor(flow: UpstreamFlow, host: MachineDeps) {
    this.#flow = flow
    this.#deps = host
    this.#requests = new TokenRequests(flow, host)
  }

  access(account: string, request: OutgoingRequest): Promise<Access> {
    const subject = this.#getSubjectToken(request)
    const now = this.#deps.clock.now()
    const cached = this.#cached.use(account)
    if (cached !== undefined && now < cached.dueAt && cached.subject === subject)
      return Promise.resolve({ kind: 'token', token: cached.token, generation: cached.generation })
    return this.#requestOnce(account, subject)
  }

  renewRefused(account: string, generation: number, request: OutgoingRequest): Promise<Access> {
    if (this.#cached.get(account)?.generation === generation) this.#cached.delete(account)
    return this.access(account, request)
  }

  /** Sends one request for all callers that wait with the same token. */
  #requestOnce(account: string, subject: string | undefined): Promise<Access> {
    const key = JSON.stringify([account, subject ?? null])
    const failed = this.#failures.get(key)
    if (failed !== undefined && this.#deps.clock.now() < failed.until) return Promise.resolve(failed.access)
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      flight = this.#requestToken(account, subject, key).finally(() => this.#flights.delete(key))
      this.#flights.set(key, flight)
    }
    return flight
  }

  async #requestToken(account: string, subject: string | undefined, key: string): Promise<Access> {
    try {
      const issued = await this.#requests.issueToken(account, subject)
      this.#failures.delete(key)
      return this.#cacheToken(account, subject, issued)
    } catch (error) {
      const wire = await this.#flow.loadWire()
      const why = error instanceof GatewayError ? error.message : formatFailure(wire, error)
      this.#deps.log.warn('token request failed', { account, why })
      const access: Access = { kind: 'unavailable', why }
      this.#failures.set(key, { access, until: this.#deps.clock.now() + PAUSE_MS })
      return access
    }
  }

  #cacheToken(account: string, subject: string | undefined, { token, seconds }: IssuedToken): Access {
    const lifeMs = seconds === undefined || seconds <= 0 ? UNKNOWN_MS : seconds * 1000
    const dueAt = this.#deps.clock.now() + lifeMs - Math.min(AHEAD_MS, lifeMs / QUARTER)
    const generation = ++this.#generation
    this.#deps.keepSecret(token)
    this.#cached.set(account, { token, generation, dueAt, subject })
    return { kind: 'token', token, generation }
  }

  /** Returns the caller's own token if the grant exchanges it. */
  #getSubjectToken({ principal }: OutgoingRequest): string | undefined {
    return this.#requests.needsSubject && principal !== undefined ? getToken(principal) : undefined
  }
}

export interface MachineDeps {
  /** Hides a token in all output. */
  keepSecret(token: string): void
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
}

export interface IssuedToken {
  readonly token: string
  /** Lifetime in seconds; undefined if unknown. */
  readonly seconds: number | undefined
}

type OAuthClientSpec = OAuthSpec['client']
type Parameters = Record<string, string>

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:'
const ID_JAG = `${TOKEN_TYPE}id-jag`
/** Discovered server cache lifetime. */
const LOCATED_MS = 600_000
/** Maximum token file size. */
const MAX_TOKEN = 64 * 1024

/** No client authentication: the assertion identifies the workload. */
const noClientAuth: ClientAuth = () => undefined

/** Token requests of one upstream. */
export class TokenRequests {
  readonly #flow: UpstreamFlow
  readonly #deps: MachineDeps
  readonly #oauth: OAuthSpec
  #located: { readonly issuer: TokenIssuer; readonly until: number } | undefined

  constructor(flow: UpstreamFlow, host: MachineDeps) {
    this.#flow = flow
    this.#deps = host
    this.#oauth = flow.spec.oauth
  }

  /** Returns true if a caller's token is exchanged. */
  get needsSubject(): boolean {
    const { grant, subject } = this.#oauth
    return (grant === 'exchange' || grant === 'id-jag') && subject?.file === undefined
  }

  /** Requests a token once. @throws GatewayError with the reason */
  async issueToken(account: string, subject: string | undefined): Promise<IssuedToken> {
    const wire = await this.#flow.loadWire()
    try {
      const issuer = await this.#locateIssuer(account)
      const { access_token: token, expires_in: seconds } = await this.#requestGrant(wire, issuer, subject)
      return { token, seconds }
    } catch (error) {
      this.#located = undefined
      if (error instanceof GatewayError) throw error
      const why = formatFailure(wire, error)
      throw oauthError('GW_OAUTH_REFUSED', { upstream: this.#flow.spec.name, why, cause: error })
    }
  }

  #requestGrant(wire: Wire, issuer: TokenIssuer, subject: string | undefined): Promise<TokenEndpointResponse> {
    const { grant } = this.#oauth
    if (grant === 'workload') return this.#requestWorkloadToken(wire, issuer)
    if (grant === 'exchange') return this.#exchangeToken(wire, issuer, subject)
    if (grant === 'id-jag') return this.#requestEnterpriseToken(wire, issuer, subject)
    return this.#requestClientCredentials(wire, issuer)
  }

  async #requestClientCredentials(wire: Wire, { server, parameters }: TokenIssuer): Promise<TokenEndpointResponse> {
    const { client, auth } = await this.#createClient(wire, server, this.#oauth.client)
    const options = wire.options()
    const response = await wire.lib.clientCredentialsGrantRequest(server, client, auth, parameters, options)
    return wire.lib.processClientCredentialsResponse(server, client, response)
  }

  /** The assertion identifies the workload, so there is no client (SEP-1933). */
  async #requestWorkloadToken(wire: Wire, { server, parameters }: TokenIssuer): Promise<TokenEndpointResponse> {
    const assertion = await this.#readToken(this.#oauth.assertionFile ?? '')
    return this.#requestGeneric(wire, { server, client: undefined }, JWT_BEARER, { assertion, ...parameters })
  }

  async #exchangeToken(wire: Wire, issuer: TokenIssuer, subject: string | undefined): Promise<TokenEndpointResponse> {
    const { identityProvider, audience, client } = this.#oauth
    const at = identityProvider === undefined ? { server: issuer.server, client } : await this.#getIdentityProvider()
    return this.#requestGeneric(wire, at, EXCHANGE, {
      ...(await this.#createSubject(subject)),
      requested_token_type: `${TOKEN_TYPE}access_token`,
      ...(audience === undefined ? {} : { audience }),
      ...issuer.parameters,
    })
  }

  /**
   * Exchanges the caller's token at the identity provider for an assertion, which the upstream's authorization server
   * accepts.
   */
  async #requestEnterpriseToken(
    wire: Wire,
    issuer: TokenIssuer,
    subject: string | undefined,
  ): Promise<TokenEndpointResponse> {
    const assertion = await this.#requestGeneric(wire, await this.#getIdentityProvider(), EXCHANGE, {
      ...(await this.#createSubject(subject)),
      requested_token_type: ID_JAG,
      audience: issuer.server.issuer,
      ...issuer.parameters,
    })
    const { client } = this.#oauth
    const grant = { assertion: assertion.access_token, ...issuer.parameters }
    return this.#requestGeneric(wire, { server: issuer.server, client }, JWT_BEARER, grant)
  }

  async #requestGeneric(
    wire: Wire,
    { server, client: configured }: { readonly server: AuthorizationServer; readonly client: OAuthClientSpec },
    grant: string,
    parameters: Parameters,
  ): Promise<TokenEndpointResponse> {
    const { lib } = wire
    const { client, auth } = await this.#createClient(wire, server, configured)
    const response = await lib.genericTokenEndpointRequest(
      ...([server, client, auth, grant, parameters, wire.options()] as const),
    )
    // An assertion has the token type `N_A` (RFC 8693, section 2.2.1).
    const recognizedTokenTypes = { n_a: () => undefined }
    return lib.processGenericTokenEndpointResponse(server, client, response, { recognizedTokenTypes })
  }

  async #createClient(
    wire: Wire,
    server: AuthorizationServer,
    client: OAuthClientSpec,
  ): Promise<{ readonly client: { readonly client_id: string }; readonly auth: ClientAuth }> {
    if (client === undefined) return { client: { client_id: '-' }, auth: noClientAuth }
    if (client.issuer !== undefined && !isSameIssuer(client.issuer, server.issuer))
      throw this.#createRefusedError(`the configured client "${client.id}" belongs to ${client.issuer} only`)
    const auth = await wire.createClientAuth(createConfiguredIdentity(client, server), getKeySpec(client))
    return { client: { client_id: client.id }, auth }
  }

  async #getIdentityProvider(): Promise<{
    readonly server: AuthorizationServer
    readonly client: OAuthClientSpec
  }> {
    const { identityProvider } = this.#oauth
    if (identityProvider === undefined) throw this.#createRefusedError('identityProvider is not configured')
    const { issuer, tokenEndpoint, client } = identityProvider
    if (tokenEndpoint !== undefined) return { server: { issuer, token_endpoint: tokenEndpoint }, client }
    return { server: await this.#flow.getServer(issuer), client }
  }

  async #createSubject(own: string | undefined): Promise<Parameters> {
    const { file, type = 'access_token' } = this.#oauth.subject ?? {}
    const token = file === undefined ? own : await this.#readToken(file)
    if (token === undefined)
      throw this.#createRefusedError('the caller has no token to exchange; callers need a token accepted by auth.jwt')
    return { subject_token: token, subject_token_type: `${TOKEN_TYPE}${type}` }
  }

  async #locateIssuer(account: string): Promise<TokenIssuer> {
    const now = this.#deps.clock.now()
    if (this.#located !== undefined && now < this.#located.until) return this.#located.issuer
    const { server, resource, scopes: supportedScopes, challenge } = await this.#flow.locateServer(account)
    const bound = this.#oauth.scopes
    const scopes = limitScopes(challenge.scopes ?? bound ?? supportedScopes ?? [], bound)
    const scope: Parameters = scopes.length === 0 ? {} : { scope: scopes.join(' ') }
    const issuer = { server, parameters: { ...scope, resource } }
    this.#located = { issuer, until: now + LOCATED_MS }
    return issuer
  }

  async #readToken(file: string): Promise<string> {
    const path = isAbsolute(file) ? file : join(this.#deps.directory, file)
    try {
      const text = (await readFile(path, 'utf8')).trim()
      if (text === '' || text.length > MAX_TOKEN) throw new Error('it contains no token')
      return text
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? getErrorMessage(cause)
      throw this.#createRefusedError(`cannot read ${file} (${reason})`)
    }
  }

  #createRefusedError(reason: string): GatewayError {
    return oauthError('GW_OAUTH_REFUSED', { upstream: this.#flow.spec.name, why: reason })
  }
}

/** An authorization server with the parameters of all requests for this resource. */
interface TokenIssuer extends Pick<DiscoveredServer, 'server'> {
  readonly parameters: Parameters & { readonly resource: string }
}
