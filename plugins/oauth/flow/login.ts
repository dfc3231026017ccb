import type { AuthorizationServer } from 'oauth4webapi'
import { LOOPBACK } from './client-identity.ts'
import type { Log } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { CallerIdentity, ClientIdentity, GrantKey, NewGrant, PendingLogin, Vault } from '../types.ts'
import type { UpstreamFlow } from './upstream-flow.ts'
import { createGrant, formatFailure } from './wire.ts'

/** A login that somebody wants to make. */
interface LoginRequest {
  readonly upstream: string
  readonly account: string
  /** The caller, where it is the account of one. */
  readonly caller?: CallerIdentity | undefined
  /** Address that the browser comes back to. */
  readonly redirectUri: string
  /** Scopes beside those that the server asks for; those that calls were refused for are known. */
  readonly scopes?: readonly string[] | undefined
  /** Text that nobody guesses, and that comes back with the browser; a random one where there is none. */
  readonly state?: string | undefined
}

/** A login that has begun: its `url` is for the browser. */
export interface BegunLogin {
  readonly url: string
  readonly state: string
  readonly issuer: string
  readonly resource: string
  readonly scopes: readonly string[]
}

/** A login that has been made. */
export interface FinishedLogin extends GrantKey {
  readonly upstream: string
  readonly scopes: readonly string[]
}

/** Dependencies of logins. */
export interface LoginDeps {
  readonly vault: Vault
  readonly log: Log
  /** @throws GatewayError where there is no such upstream, or none that logs in with a browser. */
  flow(upstream: string): UpstreamFlow
  /** A grant was written in this process. */
  onGranted(account: string, resource: string, upstream: string): void
}

/** Longest time that a browser may be away. */
const MAX_PENDING_MS = 600_000

/** State of a login that is away, as it lies in the vault. */
interface StoredLogin {
  readonly upstream: string
  /** The server that its token is for: a reload may give the name to another one. */
  readonly of: string
  readonly resource: string
  readonly redirectUri: string
  readonly verifier: string
  readonly scopes: readonly string[]
  readonly client: ClientIdentity
  readonly server: AuthorizationServer
  readonly caller?: CallerIdentity
}

/** Logins with a browser: authorization code with PKCE. Begun by one process, they may be finished by another. */
export class BrowserLogins {
  readonly #deps: LoginDeps

  constructor(host: LoginDeps) {
    this.#deps = host
  }

  /**
   * Finds out where to log in, registers the gateway there if it must, and gives the page for the browser.
   * @throws GatewayError GW_OAUTH_METADATA, GW_OAUTH_CLIENT, GW_LOGIN_BUSY
   */
  async beginLogin({
    upstream,
    account,
    caller,
    redirectUri,
    scopes = [],
    ...given
  }: LoginRequest): Promise<BegunLogin> {
    const flow = this.#deps.flow(upstream)
    const { server, resource, scopes: asked } = await flow.prepareLogin(account, scopes)
    assertPkce(upstream, server)
    const endpoint = parseAuthorizationEndpoint(upstream, server)
    const client = await flow.getClient(server, redirectUri)
    const { lib } = await flow.loadWire()
    const verifier = lib.generateRandomCodeVerifier()
    const state = given.state ?? lib.generateRandomState()
    const away: StoredLogin = {
      upstream,
      of: flow.resource,
      resource,
      redirectUri,
      verifier,
      scopes: asked,
      client,
      server: pickEssentials(server),
      ...(caller === undefined ? {} : { caller }),
    }
    const expiresAt = Date.now() + MAX_PENDING_MS
    if (!(await this.#deps.vault.savePending({ state, account, expiresAt, value: { ...away } })))
      throw oauthError('GW_LOGIN_BUSY')
    const parameters = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      state,
      code_challenge: await lib.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource,
      ...(asked.length === 0 ? {} : { scope: asked.join(' ') }),
      // A refresh token for offline use is given only to those who ask the person (OpenID Connect).
      ...(asked.includes('offline_access') ? { prompt: 'consent' } : {}),
    }
    for (const [name, value] of Object.entries(parameters)) endpoint.searchParams.set(name, value)
    return { url: endpoint.href, state, issuer: server.issuer, resource, scopes: asked }
  }

  /**
   * Takes what the browser came back with, and keeps the grant that it is good for. Whatever happens, the same `state` is
   * good for nothing afterwards.
   * @throws GatewayError GW_LOGIN_UNKNOWN, GW_LOGIN_FAILED
   */
  async finishLogin(
    callbackUrl: string | URL,
    isMeant?: (login: PendingLogin) => boolean,
  ): Promise<FinishedLogin> {
    const url = new URL(callbackUrl)
    const state = url.searchParams.get('state') ?? ''
    const pending = state === '' ? undefined : await this.#deps.vault.takePending(state)
    if (pending === undefined || isMeant?.(pending) === false) throw oauthError('GW_LOGIN_UNKNOWN')
    const away = parseStoredLogin(pending)
    if (away === undefined) throw oauthError('GW_LOGIN_UNKNOWN')
    const { upstream, resource, server, scopes, caller } = away
    const flow = this.#deps.flow(upstream)
    if (away.of !== flow.resource) throw oauthError('GW_LOGIN_UNKNOWN')
    const grant = await this.#exchangeCode(flow, away, url, state)
    const key: GrantKey = { account: pending.account, resource: flow.resource, issuer: server.issuer }
    await this.#deps.vault.put(key, { ...grant, audience: resource, ...(caller && { caller }) })
    flow.clearChallenge(pending.account)
    this.#deps.onGranted(pending.account, key.resource, upstream)
    this.#deps.log.info('somebody has logged in', {
      upstream,
      account: pending.account,
      issuer: server.issuer,
      scopes,
    })
    return { ...key, upstream, scopes: grant.scopesGranted }
  }

  async #exchangeCode(flow: UpstreamFlow, away: StoredLogin, url: URL, state: string): Promise<NewGrant> {
    const { upstream, resource, redirectUri, verifier, scopes, client, server } = away
    const wire = await flow.loadWire()
    const { lib } = wire
    const known = { client_id: client.id }
    try {
      // Before anything else: the issuer of the answer (RFC 9207), byte for byte.
      const answer = lib.validateAuthResponse(server, known, url.searchParams, state)
      const auth = await wire.createClientAuth(client, flow.keySpec)
      const options = wire.options({ more: { resource } })
      const response = await lib.authorizationCodeGrantRequest(
        ...([server, known, auth, answer, redirectUri, verifier, options] as const),
      )
      const tokens = await lib.processAuthorizationCodeResponse(server, known, response)
      return createGrant(tokens, { client, scopes })
    } catch (error) {
      if (wire.getErrorCode(error) === 'invalid_client')
        await this.#deps.vault.dropRegistration(server.issuer, redirectUri)
      throw oauthError('GW_LOGIN_FAILED', { upstream, why: formatFailure(wire, error), cause: error })
    }
  }
}

/** A server that does not say S256 may ignore the challenge, and then a stolen code is good. */
function assertPkce(
  upstream: string,
  { issuer, code_challenge_methods_supported: methods }: AuthorizationServer,
): void {
  if (Array.isArray(methods) && methods.includes('S256')) return
  const why = `${issuer} does not say that it checks PKCE (S256)`
  throw oauthError('GW_OAUTH_METADATA', { upstream, why })
}

/** A URL that a person's browser is sent to: nothing but http and https, and http on loopback alone. */
function parseAuthorizationEndpoint(
  upstream: string,
  { issuer, authorization_endpoint: said }: AuthorizationServer,
): URL {
  const url = typeof said === 'string' ? URL.parse(said) : null
  const isFine =
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
  if (isFine && url.username === '' && url.password === '') return url
  const why = `${issuer} has no authorization endpoint that a browser may be sent to`
  throw oauthError('GW_OAUTH_METADATA', { upstream, why })
}

/** The part of the metadata that the way back needs, as it was checked at the beginning. */
function pickEssentials(server: AuthorizationServer): AuthorizationServer {
  return {
    issuer: server.issuer,
    ...pickMember(server, 'token_endpoint'),
    ...pickMember(server, 'authorization_response_iss_parameter_supported'),
    ...pickMember(server, 'token_endpoint_auth_methods_supported'),
  }
}

function pickMember<K extends keyof AuthorizationServer>(
  server: AuthorizationServer,
  key: K,
): Partial<AuthorizationServer> {
  return server[key] === undefined ? {} : { [key]: server[key] }
}

function parseStoredLogin({ value }: PendingLogin): StoredLogin | undefined {
  return isObject(value.server) && isObject(value.client) ? (value as unknown as StoredLogin) : undefined
}
