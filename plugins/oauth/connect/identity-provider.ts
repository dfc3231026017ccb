import type { AuthorizationServer, ValidateSignatureOptions } from 'oauth4webapi'
import type { Config, PluginApi } from '../../../src/plugin.ts'
import { createConfiguredIdentity } from '../flow/client-identity.ts'
import type { DiscoveryDeps } from '../flow/discovery.ts'
import { fetchServerMetadata } from '../flow/discovery.ts'
import { Wire } from '../flow/oauth-requests.ts'
import type { Person, PersonLogin } from './login-state.ts'

type PersonSpec = NonNullable<NonNullable<Config['oauth']>['person']>

/** The gateway's own identity provider, where people authenticate. Its tokens are not stored. */
export class IdentityProvider {
  readonly issuer: string
  readonly #spec: PersonSpec
  readonly #deps: DiscoveryDeps
  readonly #directory: string
  #wire: Promise<Wire> | undefined
  #server: Promise<AuthorizationServer> | undefined

  constructor(spec: PersonSpec, { fetch, directory }: Pick<PluginApi, 'fetch' | 'directory'>) {
    const { issuer } = spec
    this.issuer = issuer
    this.#spec = spec
    this.#directory = directory
    // Configured URLs may be private; URLs discovered from them only if the configured one is.
    const fetchFrom: DiscoveryDeps['fetchFrom'] = (url, options) => fetch(url, { ...options, namedBy: issuer })
    this.#deps = { upstream: 'oauth.person', url: issuer, issuer, fetchFrom }
  }

  /** Starts a login; returns the authorization URL. */
  async beginLogin(
    link: string,
    base: string,
    state: string,
  ): Promise<{ readonly url: string; readonly login: PersonLogin }> {
    const { lib } = await this.#getWire()
    const server = await this.#getMetadata()
    const endpoint = URL.parse(server.authorization_endpoint ?? '')
    if (endpoint === null || !/^https?:$/.test(endpoint.protocol))
      throw new Error(`${this.issuer} has no authorization endpoint`)
    const login = {
      state,
      nonce: lib.generateRandomNonce(),
      verifier: lib.generateRandomCodeVerifier(),
      link,
    }
    const parameters = {
      response_type: 'code',
      client_id: this.#spec.clientId,
      redirect_uri: getPersonRedirectUri(base),
      scope: 'openid',
      state: login.state,
      nonce: login.nonce,
      code_challenge: await lib.calculatePKCECodeChallenge(login.verifier),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(parameters)) endpoint.searchParams.set(name, value)
    return { url: endpoint.href, login }
  }

  /**
   * Verifies the signed ID token for this login, and returns the person.
   * @throws Error with the reason, for the log
   */
  async finishLogin(
    parameters: URLSearchParams,
    { state, nonce, verifier }: PersonLogin,
    base: string,
  ): Promise<Person> {
    const wire = await this.#getWire()
    const { lib } = wire
    const server = await this.#getMetadata()
    const { clientId: id, clientSecret: secret } = this.#spec
    const client = { client_id: id }
    const auth = await wire.createClientAuth(createConfiguredIdentity({ id, secret }, server))
    const answer = lib.validateAuthResponse(server, client, parameters, state)
    const response = await lib.authorizationCodeGrantRequest(
      ...([server, client, auth] as const),
      ...([answer, getPersonRedirectUri(base), verifier, wire.options()] as const),
    )
    const tokens = await lib.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    // Request options differ only in the body type.
    const plain = wire.options() as unknown as ValidateSignatureOptions
    await lib.validateApplicationLevelSignature(server, response, plain)
    const claims = lib.getValidatedIdTokenClaims(tokens)
    if (claims === undefined || claims.sub === '') throw new Error('no ID token in the response')
    return { issuer: claims.iss, subject: claims.sub }
  }

  #getWire(): Promise<Wire> {
    this.#wire ??= import('oauth4webapi').then(lib => new Wire(lib, this.#deps.fetchFrom, this.#directory))
    return this.#wire
  }

  /** Caches the metadata; fetches it again after a failure. */
  #getMetadata(): Promise<AuthorizationServer> {
    this.#server ??= fetchServerMetadata(this.#deps, this.issuer).catch((error: unknown) => {
      this.#server = undefined
      throw error
    })
    return this.#server
  }
}

/** The redirect URI to register at the identity provider. */
function getPersonRedirectUri(base: string): string {
  return `${base}/oauth/person`
}
