import type { AuthorizationServer } from 'oauth4webapi'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import type { ClientIdentity, LoginKey, OAuthSpec, RefreshResult, StoredGrant } from '../types.ts'
import type { Vault } from '../vault/vault.ts'
import { resolveClient } from './client-identity.ts'
import type { DiscoveredServer, DiscoveryDeps, FetchFrom } from './discovery.ts'
import { canonicalizeResource, discoverServer, fetchServerMetadata } from './discovery.ts'
import type { Challenge, KeySpec } from './oauth-requests.ts'
import {
  Wire,
  parseChallenge,
  createGrant,
  selectScopes,
  mergeScopes,
  formatFailure,
  limitScopes,
} from './oauth-requests.ts'

/** Temporary failures, regardless of the body. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Refreshes tokens once. Server failures become results. */
async function refreshGrant(
  wire: Wire,
  getServer: () => Promise<AuthorizationServer>,
  grant: StoredGrant,
  keySpec: KeySpec | undefined,
): Promise<RefreshResult> {
  const { lib } = wire
  const { client, refresh: token, scopesRequested: scopes } = grant
  if (token === undefined) return { kind: 'refused', error: 'invalid_grant' }
  try {
    const server = await getServer()
    const clientMetadata = { client_id: client.id }
    const options = wire.options({ resource: grant.audience ?? grant.resource })
    const auth = await wire.createClientAuth(client, keySpec)
    const response = await lib.refreshTokenGrantRequest(server, clientMetadata, auth, token, options)
    if (response.status >= 500 || TEMPORARY_STATUSES.has(response.status))
      return { kind: 'unreachable', reason: `HTTP ${response.status}` }
    const tokens = await lib.processRefreshTokenResponse(server, clientMetadata, response)
    const made = createGrant(tokens, { client, scopes })
    // Without `scope` in the response the scopes are unchanged (RFC 6749, section 6).
    return {
      kind: 'granted',
      grant: tokens.scope === undefined ? { ...made, scopesGranted: grant.scopesGranted } : made,
    }
  } catch (error) {
    const errorCode = wire.getErrorCode(error)
    return errorCode === undefined
      ? { kind: 'unreachable', reason: formatFailure(wire, error) }
      : { kind: 'refused', error: errorCode }
  }
}

/** An upstream with `oauth`. */
interface FlowSpec {
  readonly name: string
  readonly url: string
  /** Configured headers, which the server may need before it sends a challenge. */
  readonly headers: Readonly<Record<string, string>>
  readonly oauth: OAuthSpec
  /** True for an HTTP API without MCP. */
  readonly isApi: boolean
}

interface FlowDeps {
  readonly vault: Vault
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
  readonly fetchFrom: FetchFrom
  /** Client metadata document URL, if there is a public one. */
  readonly document: () => string | undefined
}

/** Login details before the browser is opened. */
export interface PreparedLogin extends DiscoveredServer {
  /** Scopes to request. */
  readonly scopes: readonly string[]
}

/** An operation rejected for missing scopes. */
export interface ScopeStep {
  readonly account: string
  readonly operation: string
  readonly scopes: readonly string[]
}

/** Maximum accounts with remembered challenges. */
const MAX_ACCOUNTS = 1000
/** Maximum missing scopes per account. */
const MAX_MISSING = 200
/** Maximum scope requests for one operation. */
const MAX_STEPS = 3
/** Authorization server metadata cache lifetime. */
const SERVER_MS = 600_000

/** OAuth state of one upstream, and its requests. */
export class UpstreamFlow {
  readonly spec: FlowSpec
  readonly #deps: FlowDeps
  /** Latest challenge by account. */
  readonly #challenges = new BoundedMap<string, Challenge>({ max: MAX_ACCOUNTS })
  /** Scopes that rejected calls lacked since the last login; the next login requests them too. */
  readonly #missingScopes = new BoundedMap<string, readonly string[]>({ max: MAX_ACCOUNTS })
  /** Scope requests by account and operation. */
  readonly #steps = new BoundedMap<string, number>({ max: MAX_ACCOUNTS })
  readonly #servers = new BoundedMap<string, { readonly server: AuthorizationServer; readonly at: number }>({
    max: 10,
  })
  #wire: Promise<Wire> | undefined

  constructor(spec: FlowSpec, host: FlowDeps) {
    this.spec = spec
    this.#deps = host
  }

  /** Loads the library with the first login or refresh. */
  loadWire(): Promise<Wire> {
    const { fetchFrom, directory } = this.#deps
    this.#wire ??= import('oauth4webapi').then(lib => new Wire(lib, fetchFrom, directory))
    return this.#wire
  }

  get keySpec(): KeySpec | undefined {
    return getKeySpec(this.spec.oauth.client)
  }

  /** Discovers the authorization server and the scopes to request. */
  async prepareLogin(account: string, more: readonly string[]): Promise<PreparedLogin> {
    const { challenge, ...location } = await this.locateServer(account)
    const { resource, server } = location
    const bound = this.spec.oauth.scopes
    const found = await this.#deps.vault.find({ account, resource: this.resource })
    const stored = found?.issuer === server.issuer && found.lost === undefined ? found : undefined
    const missing = this.#missingScopes.get(account) ?? []
    const scopes = selectScopes({
      challenged: missing.length === 0 ? challenge.scopes : mergeScopes(challenge.scopes ?? [], missing),
      ofResource: location.scopes,
      bound,
      before: stored === undefined ? [] : mergeScopes(stored.scopesRequested, missing),
      ofServer: readStrings(server.scopes_supported),
    })
    return { resource, server, scopes: mergeScopes(scopes, more) }
  }

  /** Discovers the authorization server for an account. */
  async locateServer(account: string): Promise<DiscoveredServer & { readonly challenge: Challenge }> {
    const challenge = this.#challenges.get(account) ?? (await this.#probeChallenge())
    const discovered = await discoverServer(this.#discoveryHost, challenge.metadata)
    this.#cacheServer(discovered.server)
    return { ...discovered, challenge }
  }

  async getClient(server: AuthorizationServer, redirectUri: string): Promise<ClientIdentity> {
    const { vault, document } = this.#deps
    const { name: upstream, oauth } = this.spec
    const wire = await this.loadWire()
    return resolveClient({ upstream, client: oauth.client, document: document(), vault, wire, server, redirectUri })
  }

  /** The server's own URL as the resource of its grants. */
  get resource(): string {
    return canonicalizeResource(this.spec.url)
  }

  /** Returns true if a grant belongs to this upstream. */
  ownsGrant({ resource }: LoginKey): boolean {
    return resource === this.resource
  }

  async refresh(grant: StoredGrant): Promise<RefreshResult> {
    return refreshGrant(await this.loadWire(), () => this.getServer(grant.issuer), grant, this.keySpec)
  }

  /** Returns an issuer's metadata, from the cache if it is recent. */
  async getServer(issuer: string): Promise<AuthorizationServer> {
    const cached = this.#servers.get(issuer)
    if (cached !== undefined && this.#deps.clock.now() - cached.at < SERVER_MS) return cached.server
    const server = await fetchServerMetadata(this.#discoveryHost, issuer)
    this.#cacheServer(server)
    return server
  }

  /** Stores a rejected request's challenge. */
  noteChallenge(account: string, header: string | undefined): Challenge {
    const challenge = parseChallenge(header)
    this.#challenges.set(account, challenge)
    return challenge
  }

  /**
   * Stores an operation's missing scopes. Returns false if a login would not help: they exceed the configured scopes,
   * or were requested too often.
   */
  noteMissingScopes({ account, operation, scopes }: ScopeStep): boolean {
    const { oauth } = this.spec
    if (limitScopes(scopes, oauth.scopes).length < scopes.length) return false
    const key = JSON.stringify([account, operation])
    const steps = this.#steps.get(key) ?? 0
    if (steps >= MAX_STEPS) return false
    this.#steps.set(key, steps + 1)
    this.#missingScopes.set(account, mergeScopes(this.#missingScopes.get(account) ?? [], scopes).slice(0, MAX_MISSING))
    return true
  }

  /** Forgets challenge and missing scopes after a login. */
  clearChallenge(account: string): void {
    this.#challenges.delete(account)
    this.#missingScopes.delete(account)
  }

  get #discoveryHost(): DiscoveryDeps {
    const { name, url, oauth } = this.spec
    return { upstream: name, url, issuer: oauth.issuer, fetchFrom: this.#deps.fetchFrom }
  }

  #cacheServer(server: AuthorizationServer): void {
    this.#servers.set(server.issuer, { server, at: this.#deps.clock.now() })
  }

  /** Sends a request without a token to get the server's challenge. */
  async #probeChallenge(): Promise<Challenge> {
    const { headers, url, isApi } = this.spec
    if (!url.startsWith('http')) return parseChallenge()
    try {
      const response = await this.#deps.fetchFrom(
        url,
        isApi ? { headers } : { ...PING, headers: { ...headers, ...PING.headers } },
      )
      return parseChallenge(response.status === 401 ? (response.headers.get('www-authenticate') ?? '') : '')
    } catch {
      // The well-known URLs may still exist.
      return parseChallenge()
    }
  }
}

const PING = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 'login', method: 'ping' }),
}

export function getKeySpec(client: OAuthSpec['client']): KeySpec | undefined {
  if (client?.keyFile === undefined) return undefined
  return { file: client.keyFile, id: client.keyId, algorithm: client.algorithm }
}

function readStrings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined
}
