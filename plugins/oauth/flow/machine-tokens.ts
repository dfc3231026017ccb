import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { AuthorizationServer, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, getErrorMessage, verifiedTokens } from '../../../src/plugin.ts'
import type { Access, OAuthSpec } from '../types.ts'
import type { OutgoingRequest, TokenSource } from './authorizer.ts'
import { createConfiguredIdentity } from './client-identity.ts'
import { isSameIssuer } from './discovery.ts'
import { formatFailure, limitScopes } from './oauth-requests.ts'
import type { UpstreamFlow } from './upstream-flow.ts'
import { getKeySpec } from './upstream-flow.ts'

/** Maximum accounts with cached tokens. */
const MAX_CACHED = 1000
/** Renew a token this long before it expires, or in a shorter life's last quarter. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** Default token lifetime. */
const UNKNOWN_MS = 300_000
/** Pause after a refusal, as otherwise each call would request a token. */
const PAUSE_MS = 5000
/** Discovered server cache lifetime. */
const LOCATED_MS = 600_000
/** Maximum token file size. */
const MAX_TOKEN = 64 * 1024

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:'

/** A token or a failure, possibly still requested. */
interface CachedAccess {
  readonly access: Promise<Access>
  /** Identifies the request. */
  readonly generation: number
  /** Clock time of the next request; set when this one has ended. */
  dueAt: number
}

interface MachineDeps {
  /** Hides a token in all output. */
  keepSecret(token: string): void
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
}

type Parameters = Record<string, string>

/** An authorization server, and the gateway's client there; undefined if an assertion identifies the workload. */
interface TokenTarget {
  readonly server: AuthorizationServer
  readonly client: OAuthSpec['client']
}

/** An upstream's authorization server with the parameters of all requests for this resource. */
interface TokenIssuer {
  readonly server: AuthorizationServer
  readonly parameters: Parameters
  /** Clock time until which it is cached. */
  readonly until: number
}

/** No client authentication: the assertion identifies the workload. */
const noClientAuth: ClientAuth = () => undefined

/** Tokens for grants without a browser. They are stored in memory only, as they can be requested again. */
export class MachineTokens implements TokenSource {
  readonly isInteractive = false
  readonly #flow: UpstreamFlow
  readonly #deps: MachineDeps
  readonly #oauth: OAuthSpec
  /** By account and caller's token. */
  readonly #cached = new BoundedMap<string, CachedAccess>({ max: MAX_CACHED })
  #issuer: TokenIssuer | undefined
  #generation = 0

  constructor(flow: UpstreamFlow, deps: MachineDeps) {
    this.#flow = flow
    this.#deps = deps
    this.#oauth = flow.spec.oauth
  }

  /** Sends one request for all callers that wait with the same token. */
  access(account: string, request: OutgoingRequest): Promise<Access> {
    const subject = this.#getSubject(request)
    const key = JSON.stringify([account, subject ?? null])
    const cached = this.#cached.use(key)
    if (cached !== undefined && this.#deps.clock.now() < cached.dueAt) return cached.access
    const generation = ++this.#generation
    const access = this.#requestAccess(account, subject, generation, lifeMs => {
      made.dueAt = this.#deps.clock.now() + lifeMs
    })
    const made: CachedAccess = { access, generation, dueAt: Infinity }
    this.#cached.set(key, made)
    return access
  }

  renewRefused(account: string, generation: number, request: OutgoingRequest): Promise<Access> {
    const key = JSON.stringify([account, this.#getSubject(request) ?? null])
    if (this.#cached.get(key)?.generation === generation) this.#cached.delete(key)
    return this.access(account, request)
  }

  /** Returns the caller's token, if the grant exchanges it. */
  #getSubject({ principal }: OutgoingRequest): string | undefined {
    const { grant, subject } = this.#oauth
    const isExchanged = (grant === 'exchange' || grant === 'id-jag') && subject?.file === undefined
    return isExchanged && principal !== undefined ? verifiedTokens.get(principal) : undefined
  }

  async #requestAccess(
    account: string,
    subject: string | undefined,
    generation: number,
    onEnd: (lifeMs: number) => void,
  ): Promise<Access> {
    try {
      const { access_token: token, expires_in: seconds = 0 } = await this.#requestGrant(account, subject)
      const lifeMs = seconds <= 0 ? UNKNOWN_MS : seconds * 1000
      this.#deps.keepSecret(token)
      onEnd(lifeMs - Math.min(AHEAD_MS, lifeMs / QUARTER))
      return { kind: 'token', token, generation }
    } catch (error) {
      this.#issuer = undefined
      const wire = await this.#flow.loadWire()
      const code = wire.getErrorCode(error)
      const why = code === undefined ? formatFailure(wire, error) : `the authorization server refused a token: ${code}`
      this.#deps.log.warn('token request failed', { account, why })
      onEnd(PAUSE_MS)
      return { kind: 'unavailable', why }
    }
  }

  async #requestGrant(account: string, subject: string | undefined): Promise<TokenEndpointResponse> {
    const { grant, client, assertionFile = '' } = this.#oauth
    const { server, parameters } = await this.#locateIssuer(account)
    const target = { server, client }
    if (grant === 'exchange' || grant === 'id-jag') return this.#exchangeToken(target, parameters, subject)
    if (grant !== 'workload') return this.#requestToken(target, 'client_credentials', parameters)
    // The assertion identifies the workload, so there is no client (SEP-1933).
    const assertion = await this.#readToken(assertionFile)
    return this.#requestToken({ server, client: undefined }, JWT_BEARER, { assertion, ...parameters })
  }

  /**
   * Exchanges the caller's token, with `id-jag` at the identity provider for an assertion that the upstream's
   * authorization server accepts.
   */
  async #exchangeToken(
    target: TokenTarget,
    parameters: Parameters,
    subject: string | undefined,
  ): Promise<TokenEndpointResponse> {
    const { grant, identityProvider } = this.#oauth
    const isEnterprise = grant === 'id-jag'
    const audience = isEnterprise ? target.server.issuer : this.#oauth.audience
    const exchanger = identityProvider === undefined ? target : await this.#locateProvider(identityProvider)
    const exchanged = await this.#requestToken(exchanger, EXCHANGE, {
      ...(await this.#createSubject(subject)),
      requested_token_type: `${TOKEN_TYPE}${isEnterprise ? 'id-jag' : 'access_token'}`,
      ...(audience === undefined ? {} : { audience }),
      ...parameters,
    })
    if (!isEnterprise) return exchanged
    return this.#requestToken(target, JWT_BEARER, { assertion: exchanged.access_token, ...parameters })
  }

  async #requestToken(
    { server, client }: TokenTarget,
    grant: string,
    parameters: Parameters,
  ): Promise<TokenEndpointResponse> {
    const wire = await this.#flow.loadWire()
    if (client?.issuer !== undefined && !isSameIssuer(client.issuer, server.issuer))
      throw new Error(`the configured client "${client.id}" belongs to ${client.issuer} only`)
    const metadata = { client_id: client?.id ?? '-' }
    const auth =
      client === undefined
        ? noClientAuth
        : await wire.createClientAuth(createConfiguredIdentity(client, server), getKeySpec(client))
    const response = await wire.lib.genericTokenEndpointRequest(
      ...([server, metadata, auth, grant, parameters, wire.options()] as const),
    )
    // An assertion has the token type `N_A` (RFC 8693, section 2.2.1).
    const recognizedTokenTypes = { n_a: () => undefined }
    return wire.lib.processGenericTokenEndpointResponse(server, metadata, response, { recognizedTokenTypes })
  }

  async #locateProvider(provider: NonNullable<OAuthSpec['identityProvider']>): Promise<TokenTarget> {
    const { issuer, tokenEndpoint, client } = provider
    if (tokenEndpoint !== undefined) return { server: { issuer, token_endpoint: tokenEndpoint }, client }
    return { server: await this.#flow.getServer(issuer), client }
  }

  async #createSubject(own: string | undefined): Promise<Parameters> {
    const { file, type = 'access_token' } = this.#oauth.subject ?? {}
    const token = file === undefined ? own : await this.#readToken(file)
    if (token === undefined)
      throw new Error('the caller has no token to exchange; callers need a token accepted by auth.jwt')
    return { subject_token: token, subject_token_type: `${TOKEN_TYPE}${type}` }
  }

  async #locateIssuer(account: string): Promise<TokenIssuer> {
    const now = this.#deps.clock.now()
    if (this.#issuer !== undefined && now < this.#issuer.until) return this.#issuer
    const { server, resource, scopes: supported, challenge } = await this.#flow.locateServer(account)
    const bound = this.#oauth.scopes
    const scopes = limitScopes(challenge.scopes ?? bound ?? supported ?? [], bound)
    const parameters = { ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }), resource }
    this.#issuer = { server, parameters, until: now + LOCATED_MS }
    return this.#issuer
  }

  async #readToken(file: string): Promise<string> {
    try {
      const text = (await readFile(resolve(this.#deps.directory, file), 'utf8')).trim()
      if (text === '' || text.length > MAX_TOKEN) throw new Error('it contains no token')
      return text
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? getErrorMessage(cause)
      throw new Error(`cannot read ${file} (${reason})`)
    }
  }
}
