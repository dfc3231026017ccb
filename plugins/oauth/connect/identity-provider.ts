import type { AuthorizationServer, ValidateSignatureOptions } from 'oauth4webapi'
import type { Config, PluginApi } from '../../../src/plugin.ts'
import type { DiscoveryDeps } from '../flow/discovery.ts'
import { fetchServerMetadata } from '../flow/discovery.ts'
import { Wire } from '../flow/wire.ts'
import type { Person, PersonLogin } from './browsers.ts'

type PersonSpec = NonNullable<NonNullable<Config['oauth']>['person']>

/** The gateway's own identity provider, at which people show who they are. Nothing that it gives is kept. */
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
    // URLs that the configuration names may be private; URLs that those name, only where those are so themselves.
    const fetchFrom: DiscoveryDeps['fetchFrom'] = (url, options) =>
      fetch(url, { ...options, namedBy: issuer })
    this.#deps = { upstream: 'oauth.person', url: issuer, issuer, fetchFrom }
  }

  /** Sends a browser to the identity provider. */
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
   * Reads who has logged in: from an ID token that the provider gave to us, for this login, and signed.
   * @throws Error which says why not, for the log
   */
  async finishLogin(
    parameters: URLSearchParams,
    { state, nonce, verifier }: PersonLogin,
    base: string,
  ): Promise<Person> {
    const wire = await this.#getWire()
    const { lib } = wire
    const server = await this.#getMetadata()
    const { clientId, clientSecret } = this.#spec
    const client = { client_id: clientId }
    const answer = lib.validateAuthResponse(server, client, parameters, state)
    const response = await lib.authorizationCodeGrantRequest(
      ...([server, client, createClientAuth(lib, clientSecret, server)] as const),
      ...([answer, getPersonRedirectUri(base), verifier, wire.options()] as const),
    )
    const tokens = await lib.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    // Options of all requests are the same, but for the type of the body.
    const plain = wire.options() as unknown as ValidateSignatureOptions
    await lib.validateApplicationLevelSignature(server, response, plain)
    const claims = lib.getValidatedIdTokenClaims(tokens)
    if (claims === undefined || claims.sub === '') throw new Error('it gave no ID token')
    return { issuer: claims.iss, subject: claims.sub }
  }

  #getWire(): Promise<Wire> {
    this.#wire ??= import('oauth4webapi').then(lib => new Wire(lib, this.#deps.fetchFrom, this.#directory))
    return this.#wire
  }

  /** Asked for once, and again where that failed. */
  #getMetadata(): Promise<AuthorizationServer> {
    this.#server ??= fetchServerMetadata(this.#deps, this.issuer).catch((error: unknown) => {
      this.#server = undefined
      throw error
    })
    return this.#server
  }
}

/** The address that the identity provider sends browsers back to; register exactly this one. */
function getPersonRedirectUri(base: string): string {
  return `${base}/oauth/person`
}

function createClientAuth(
  lib: Wire['lib'],
  secret: string | undefined,
  { token_endpoint_auth_methods_supported: methods }: AuthorizationServer,
): ReturnType<Wire['lib']['None']> {
  if (secret === undefined) return lib.None()
  const isPostOnly =
    methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
  return isPostOnly ? lib.ClientSecretPost(secret) : lib.ClientSecretBasic(secret)
}
