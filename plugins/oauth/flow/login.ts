import type { AuthorizationServer } from 'oauth4webapi'
import { LOOPBACK } from './client-identity.ts'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { CallerIdentity, ClientIdentity, GrantKey, NewGrant } from '../types.ts'
import type { Vault } from '../vault/vault.ts'
import type { UpstreamFlow } from './upstream-flow.ts'
import { createGrant, formatFailure } from './oauth-requests.ts'

interface LoginRequest {
  readonly upstream: string
  readonly account: string
  /** The caller, if it is a caller's account. */
  readonly caller?: CallerIdentity | undefined
  readonly redirectUri: string
  /** Additional scopes; missing scopes of rejected calls are added anyway. */
  readonly scopes?: readonly string[] | undefined
  /** Unguessable state for the redirect; default: random. */
  readonly state?: string | undefined
}

/** A login that has begun; open its `url` in a browser. */
export interface BegunLogin {
  readonly url: string
  readonly state: string
  readonly issuer: string
  readonly resource: string
  readonly scopes: readonly string[]
}

/** A finished login. */
export interface FinishedLogin extends GrantKey {
  readonly upstream: string
  readonly scopes: readonly string[]
}

interface LoginDeps {
  readonly vault: Vault
  readonly clock: Clock
  readonly log: Log
  /** @throws GatewayError if there is no such upstream, or it has no browser logins */
  flow(upstream: string): UpstreamFlow
  /** Called when this process has stored a grant. */
  onGranted(account: string, upstream: string): void
}

/** Maximum browser login duration. */
const MAX_PENDING_MS = 600_000
/** Maximum pending logins: in total, and per account, whose oldest is dropped. */
const MAX_PENDING = 1000
const MAX_PENDING_EACH = 8

/** A login that is pending in a browser. */
interface PendingLogin {
  readonly account: string
  /** Clock time. */
  readonly expiresAt: number
  readonly upstream: string
  /** The upstream's resource: a reload may give its name to another server. */
  readonly of: string
  readonly resource: string
  readonly redirectUri: string
  readonly verifier: string
  readonly scopes: readonly string[]
  readonly client: ClientIdentity
  /** Metadata as checked at the start. */
  readonly server: AuthorizationServer
  readonly caller: CallerIdentity | undefined
}

/** Browser logins: authorization code with PKCE. They end with the process. */
export class BrowserLogins {
  readonly #deps: LoginDeps
  /** By `state` of the authorization request: random and known to the browser only. */
  readonly #pending = new BoundedMap<string, PendingLogin>({ max: MAX_PENDING, share: MAX_PENDING_EACH })

  constructor(host: LoginDeps) {
    this.#deps = host
  }

  /**
   * Discovers the authorization server, registers the gateway if necessary, and returns the authorization URL.
   * @throws GatewayError GW_OAUTH_METADATA, GW_OAUTH_CLIENT
   */
  async beginLogin({
    upstream,
    account,
    caller,
    redirectUri,
    scopes = [],
    ...options
  }: LoginRequest): Promise<BegunLogin> {
    const flow = this.#deps.flow(upstream)
    const { server, resource, scopes: requestedScopes } = await flow.prepareLogin(account, scopes)
    assertPkce(upstream, server)
    const endpoint = parseAuthorizationEndpoint(upstream, server)
    const client = await flow.getClient(server, redirectUri)
    const { lib } = await flow.loadWire()
    const verifier = lib.generateRandomCodeVerifier()
    const state = options.state ?? lib.generateRandomState()
    const expiresAt = this.#deps.clock.now() + MAX_PENDING_MS
    const pending: PendingLogin = {
      ...{ account, expiresAt, upstream, of: flow.resource, resource, redirectUri, verifier, client, server },
      scopes: requestedScopes,
      caller,
    }
    this.#pending.set(state, pending, account)
    const parameters = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      state,
      code_challenge: await lib.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource,
      ...(requestedScopes.length === 0 ? {} : { scope: requestedScopes.join(' ') }),
      // OpenID Connect requires consent for offline access.
      ...(requestedScopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    }
    for (const [name, value] of Object.entries(parameters)) endpoint.searchParams.set(name, value)
    return { url: endpoint.href, state, issuer: server.issuer, resource, scopes: requestedScopes }
  }

  /**
   * Exchanges the code of a callback and stores the grant. The `state` is consumed in any case.
   * @throws GatewayError GW_LOGIN_UNKNOWN, GW_LOGIN_FAILED
   */
  async finishLogin(callbackUrl: string): Promise<FinishedLogin> {
    const url = new URL(callbackUrl)
    const state = url.searchParams.get('state') ?? ''
    const login = this.#pending.get(state)
    this.#pending.delete(state)
    if (login === undefined || this.#deps.clock.now() >= login.expiresAt) throw oauthError('GW_LOGIN_UNKNOWN')
    const { account, upstream, resource, server, scopes, caller } = login
    const flow = this.#deps.flow(upstream)
    if (login.of !== flow.resource) throw oauthError('GW_LOGIN_UNKNOWN')
    const grant = await this.#exchangeCode(flow, login, url, state)
    const key: GrantKey = { account, resource: flow.resource, issuer: server.issuer }
    await this.#deps.vault.put(key, { ...grant, audience: resource, ...(caller && { caller }) })
    flow.clearChallenge(account)
    this.#deps.onGranted(account, upstream)
    this.#deps.log.info('logged in', { upstream, account, issuer: server.issuer, scopes })
    return { ...key, upstream, scopes: grant.scopesGranted }
  }

  async #exchangeCode(flow: UpstreamFlow, login: PendingLogin, url: URL, state: string): Promise<NewGrant> {
    const { upstream, resource, redirectUri, verifier, scopes, client, server } = login
    const wire = await flow.loadWire()
    const { lib } = wire
    const clientMetadata = { client_id: client.id }
    try {
      // First check the response issuer (RFC 9207) exactly.
      const answer = lib.validateAuthResponse(server, clientMetadata, url.searchParams, state)
      const auth = await wire.createClientAuth(client, flow.keySpec)
      const options = wire.options({ resource })
      const response = await lib.authorizationCodeGrantRequest(
        ...([server, clientMetadata, auth, answer, redirectUri, verifier, options] as const),
      )
      const tokens = await lib.processAuthorizationCodeResponse(server, clientMetadata, response)
      return createGrant(tokens, { client, scopes })
    } catch (error) {
      if (wire.getErrorCode(error) === 'invalid_client')
        await this.#deps.vault.dropRegistration(server.issuer, redirectUri)
      throw oauthError('GW_LOGIN_FAILED', { upstream, why: formatFailure(wire, error), cause: error })
    }
  }
}

/** A server without S256 may ignore the challenge, so that a stolen code would work. */
function assertPkce(
  upstream: string,
  { issuer, code_challenge_methods_supported: methods }: AuthorizationServer,
): void {
  if (Array.isArray(methods) && methods.includes('S256')) return
  const why = `${issuer} does not declare support for PKCE (S256)`
  throw oauthError('GW_OAUTH_METADATA', { upstream, why })
}

/** Only https, or http on loopback, is opened in a browser. */
function parseAuthorizationEndpoint(
  upstream: string,
  { issuer, authorization_endpoint: endpoint }: AuthorizationServer,
): URL {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  const isFine =
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
  if (isFine && url.username === '' && url.password === '') return url
  const why = `${issuer} has no valid authorization endpoint`
  throw oauthError('GW_OAUTH_METADATA', { upstream, why })
}
