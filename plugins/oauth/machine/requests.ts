import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { AuthorizationServer, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import { GatewayError, reasonOf, type Clock, type Log } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import { isSameIssuer, type Discovered } from '../flow/discovery.ts'
import { within } from '../flow/scopes.ts'
import { configuredIdentity, keySpecOf, type OAuthSpec, type UpstreamFlow } from '../flow/upstream-flow.ts'
import { whyFailed, type Wire } from '../flow/wire.ts'

/** Surroundings of grants without a browser. */
export interface MachineHost {
  /** Hides a token wherever text leaves. */
  keepSecret(token: string): void
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
}

/** A token that was given. */
export interface Issued {
  readonly token: string
  /** Its life; undefined where nothing is said of it. */
  readonly seconds: number | undefined
}

type Client = OAuthSpec['client']
type Parameters = Record<string, string>

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:'
const ID_JAG = `${TOKEN_TYPE}id-jag`
/** Time for which findings about a server hold. */
const LOCATED_MS = 600_000
/** Largest file with a token. */
const MAX_TOKEN = 64 * 1024

/** A request without a client of its own: the assertion says who it is. */
const nobody: ClientAuth = () => undefined

/** The requests of one upstream's grant to authorization servers. */
export class Requests {
  readonly #flow: UpstreamFlow
  readonly #host: MachineHost
  readonly #oauth: OAuthSpec
  #located: { readonly found: Place; readonly until: number } | undefined

  constructor(flow: UpstreamFlow, host: MachineHost) {
    this.#flow = flow
    this.#host = host
    this.#oauth = flow.spec.oauth
  }

  /** True where a token of the caller is exchanged. */
  get needsSubject(): boolean {
    const { grant, subject } = this.#oauth
    return (grant === 'exchange' || grant === 'id-jag') && subject?.file === undefined
  }

  /** Asks for a token, once. Rejects with a GatewayError that says why there is none. */
  async issue(account: string, subject: string | undefined): Promise<Issued> {
    const wire = await this.#flow.wire()
    try {
      const place = await this.#locate(account)
      const { access_token: token, expires_in: seconds } = await this.#asked(wire, place, subject)
      return { token, seconds }
    } catch (error) {
      this.#located = undefined
      if (error instanceof GatewayError) throw error
      const why = whyFailed(wire, error)
      throw oauthError('GW_OAUTH_REFUSED', { upstream: this.#flow.spec.name, why, cause: error })
    }
  }

  #asked(wire: Wire, place: Place, subject: string | undefined): Promise<TokenEndpointResponse> {
    const { grant } = this.#oauth
    if (grant === 'workload') return this.#workload(wire, place)
    if (grant === 'exchange') return this.#exchange(wire, place, subject)
    if (grant === 'id-jag') return this.#enterprise(wire, place, subject)
    return this.#clientCredentials(wire, place)
  }

  async #clientCredentials(wire: Wire, { server, parameters }: Place): Promise<TokenEndpointResponse> {
    const { client, auth } = await this.#client(wire, server, this.#oauth.client)
    const options = wire.options()
    const response = await wire.lib.clientCredentialsGrantRequest(server, client, auth, parameters, options)
    return wire.lib.processClientCredentialsResponse(server, client, response)
  }

  /** The assertion is the workload's own, so that there is no other client (SEP-1933). */
  async #workload(wire: Wire, { server, parameters }: Place): Promise<TokenEndpointResponse> {
    const assertion = await this.#read(this.#oauth.assertionFile ?? '')
    return this.#generic(wire, { server, client: undefined }, JWT_BEARER, { assertion, ...parameters })
  }

  async #exchange(wire: Wire, place: Place, subject: string | undefined): Promise<TokenEndpointResponse> {
    const { identityProvider, audience, client } = this.#oauth
    const at = identityProvider === undefined ? { server: place.server, client } : await this.#provider()
    return this.#generic(wire, at, EXCHANGE, {
      ...(await this.#subject(subject)),
      requested_token_type: `${TOKEN_TYPE}access_token`,
      ...(audience === undefined ? {} : { audience }),
      ...place.parameters,
    })
  }

  /** The identity provider of the company says who it is for, and the server's own authorization server believes it. */
  async #enterprise(wire: Wire, place: Place, subject: string | undefined): Promise<TokenEndpointResponse> {
    const assertion = await this.#generic(wire, await this.#provider(), EXCHANGE, {
      ...(await this.#subject(subject)),
      requested_token_type: ID_JAG,
      audience: place.server.issuer,
      ...place.parameters,
    })
    const { client } = this.#oauth
    const grant = { assertion: assertion.access_token, ...place.parameters }
    return this.#generic(wire, { server: place.server, client }, JWT_BEARER, grant)
  }

  async #generic(
    wire: Wire,
    { server, client: configured }: { readonly server: AuthorizationServer; readonly client: Client },
    grant: string,
    parameters: Parameters,
  ): Promise<TokenEndpointResponse> {
    const { lib } = wire
    const { client, auth } = await this.#client(wire, server, configured)
    const response = await lib.genericTokenEndpointRequest(
      ...([server, client, auth, grant, parameters, wire.options()] as const),
    )
    // An assertion is no access token, and has no type of one (RFC 8693, 2.2.1).
    const recognizedTokenTypes = { n_a: () => undefined }
    return lib.processGenericTokenEndpointResponse(server, client, response, { recognizedTokenTypes })
  }

  async #client(
    wire: Wire,
    server: AuthorizationServer,
    client: Client,
  ): Promise<{ readonly client: { readonly client_id: string }; readonly auth: ClientAuth }> {
    if (client === undefined) return { client: { client_id: '-' }, auth: nobody }
    if (client.issuer !== undefined && !isSameIssuer(client.issuer, server.issuer))
      throw this.#refused(`the configured client "${client.id}" is one of ${client.issuer}, and of no other`)
    const auth = await wire.authOf(configuredIdentity(client, server), keySpecOf(client))
    return { client: { client_id: client.id }, auth }
  }

  async #provider(): Promise<{ readonly server: AuthorizationServer; readonly client: Client }> {
    const { identityProvider } = this.#oauth
    if (identityProvider === undefined) throw this.#refused('no identityProvider is configured')
    const { issuer, tokenEndpoint, client } = identityProvider
    if (tokenEndpoint !== undefined) return { server: { issuer, token_endpoint: tokenEndpoint }, client }
    return { server: await this.#flow.serverOf(issuer), client }
  }

  async #subject(own: string | undefined): Promise<Parameters> {
    const { file, type = 'access_token' } = this.#oauth.subject ?? {}
    const token = file === undefined ? own : await this.#read(file)
    if (token === undefined)
      throw this.#refused('the caller came with no token that could be exchanged; auth.jwt takes tokens')
    return { subject_token: token, subject_token_type: `${TOKEN_TYPE}${type}` }
  }

  async #locate(account: string): Promise<Place> {
    const now = this.#host.clock.now()
    if (this.#located !== undefined && now < this.#located.until) return this.#located.found
    const { server, resource, scopes: known, challenge } = await this.#flow.locate(account)
    const bound = this.#oauth.scopes
    const scopes = within(challenge.scopes ?? bound ?? known ?? [], bound)
    const scope: Parameters = scopes.length === 0 ? {} : { scope: scopes.join(' ') }
    const found = { server, parameters: { ...scope, resource } }
    this.#located = { found, until: now + LOCATED_MS }
    return found
  }

  async #read(file: string): Promise<string> {
    const path = isAbsolute(file) ? file : join(this.#host.directory, file)
    try {
      const text = (await readFile(path, 'utf8')).trim()
      if (text === '' || text.length > MAX_TOKEN) throw new Error('it holds no token')
      return text
    } catch (cause) {
      const why = (cause as NodeJS.ErrnoException).code ?? reasonOf(cause)
      throw this.#refused(`${file} cannot be read (${why})`)
    }
  }

  #refused(why: string): GatewayError {
    return oauthError('GW_OAUTH_REFUSED', { upstream: this.#flow.spec.name, why })
  }
}

/** An authorization server, with the parameters that every request for this resource has. */
interface Place extends Pick<Discovered, 'server'> {
  readonly parameters: Parameters & { readonly resource: string }
}
