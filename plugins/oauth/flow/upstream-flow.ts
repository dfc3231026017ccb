import type { AuthorizationServer } from 'oauth4webapi'
import type { Clock, Config, Log } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import type { ClientIdentity, Grant, GrantKey, RefreshResult, Vault } from '../types.ts'
import { resolveClient, selectAuthMethod } from './client-identity.ts'
import type { DiscoveredServer, DiscoveryDeps, FetchFrom } from './discovery.ts'
import { canonicalizeResource, discoverServer, fetchServerMetadata } from './discovery.ts'
import type { Challenge, KeySpec } from './wire.ts'
import {
  Wire,
  parseChallenge,
  createGrant,
  selectScopes,
  mergeScopes,
  formatFailure,
  limitScopes,
} from './wire.ts'

/** A grant that is to be renewed. */
interface RefreshRequest {
  readonly key: GrantKey
  readonly grant: Grant
  readonly signal: AbortSignal
  readonly keySpec: KeySpec | undefined
}

/** Statuses with which a server says that it cannot now, whatever its body says. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Asks the authorization server for new tokens, once. Never rejects for what that does. */
async function refreshGrant(
  wire: Wire,
  getServer: () => Promise<AuthorizationServer>,
  { key, grant, signal, keySpec }: RefreshRequest,
): Promise<RefreshResult> {
  const { lib } = wire
  const { client, refresh: token, scopesRequested: scopes } = grant
  if (token === undefined) return { kind: 'refused', error: 'invalid_grant' }
  try {
    const server = await getServer()
    const known = { client_id: client.id }
    const options = wire.options({ signal, more: { resource: grant.audience ?? key.resource } })
    const auth = await wire.createClientAuth(client, keySpec)
    const response = await lib.refreshTokenGrantRequest(server, known, auth, token, options)
    if (response.status >= 500 || TEMPORARY_STATUSES.has(response.status)) return createUnreachable(response)
    const tokens = await lib.processRefreshTokenResponse(server, known, response)
    const made = createGrant(tokens, { client, scopes, refresh: token })
    const renewed = grant.audience === undefined ? made : { ...made, audience: grant.audience }
    // A server that says nothing of scopes has left them as they were (RFC 6749, 6).
    const granted = tokens.scope === undefined ? { ...renewed, scopesGranted: grant.scopesGranted } : renewed
    return { kind: 'granted', grant: granted }
  } catch (error) {
    const said = wire.getErrorCode(error)
    return said === undefined
      ? { kind: 'unreachable', reason: formatFailure(wire, error) }
      : { kind: 'refused', error: said }
  }
}

function createUnreachable(response: Response): RefreshResult {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const reason = `it answers HTTP ${response.status}`
  return Number.isNaN(seconds)
    ? { kind: 'unreachable', reason }
    : { kind: 'unreachable', reason, retryAfterMs: seconds * 1000 }
}

export type OAuthSpec = NonNullable<
  Extract<Config['upstreams'][string], { readonly oauth?: unknown }>['oauth']
>

/** An upstream with `oauth`. */
interface FlowSpec {
  readonly name: string
  readonly url: string
  /** Headers of the configuration: what the server may want before it says that it wants a token. */
  readonly headers: Readonly<Record<string, string>>
  readonly oauth: OAuthSpec
  /** True for an HTTP API that speaks no MCP. */
  readonly isApi: boolean
}

/** Dependencies of the flow of one upstream. */
interface FlowDeps {
  readonly vault: Vault
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
  readonly fetchFrom: FetchFrom
  /** The name that people read where they consent. */
  readonly clientName: string
  /** URL of the gateway's own client metadata document, where it has a public one. */
  readonly document: () => string | undefined
}

/** All that a login needs to know before a browser is opened. */
export interface PreparedLogin extends DiscoveredServer {
  /** Scopes to ask for. */
  readonly scopes: readonly string[]
}

/** An operation that was refused, as its token lacks scopes. */
export interface ScopeStep {
  readonly account: string
  /** Generation of the grant that it came with. */
  readonly generation: number
  readonly operation: string
  readonly scopes: readonly string[]
}

/** Accounts whose challenges are remembered. */
const MAX_ACCOUNTS = 1000
/** Operations of an account for which more scopes were asked for at most so many times, within a time. */
const MAX_STEPS = 3
const STEPS_MS = 600_000
/** Metadata of an authorization server is asked for again after this time. */
const SERVER_MS = 600_000

/** State of the login of one upstream, and the requests that it takes. */
export class UpstreamFlow {
  readonly spec: FlowSpec
  readonly #deps: FlowDeps
  /** Last challenge of the server to each account that it refused. */
  readonly #challenges = new BoundedMap<string, Challenge>({ max: MAX_ACCOUNTS })
  readonly #steps = new BoundedMap<string, { count: number; readonly since: number }>({ max: MAX_ACCOUNTS })
  readonly #servers = new BoundedMap<string, { readonly server: AuthorizationServer; readonly at: number }>({
    max: 10,
  })
  #wire: Promise<Wire> | undefined

  constructor(spec: FlowSpec, host: FlowDeps) {
    this.spec = spec
    this.#deps = host
  }

  /** The library is loaded with the first login or refresh. */
  loadWire(): Promise<Wire> {
    const { fetchFrom, directory } = this.#deps
    this.#wire ??= import('oauth4webapi').then(lib => new Wire(lib, fetchFrom, directory))
    return this.#wire
  }

  get keySpec(): KeySpec | undefined {
    return getKeySpec(this.spec.oauth.client)
  }

  /** Finds out anew where the login is made, and for which scopes. */
  async prepareLogin(account: string, more: readonly string[]): Promise<PreparedLogin> {
    const { challenge, ...found } = await this.locateServer(account)
    const { resource, server } = found
    const bound = this.spec.oauth.scopes
    const kept = await this.#deps.vault.find(account, this.resource, server.issuer)
    const wanted = limitScopes(kept?.scopesWanted ?? [], bound)
    const scopes = selectScopes({
      challenged: wanted.length === 0 ? challenge.scopes : mergeScopes(challenge.scopes ?? [], wanted),
      ofResource: found.scopes,
      bound,
      before: kept === undefined ? [] : mergeScopes(kept.scopesRequested, wanted),
      ofServer: readStrings(server.scopes_supported),
    })
    return { resource, server, scopes: mergeScopes(scopes, more) }
  }

  /** Asks the server, and what it names, where tokens for an account come from. */
  async locateServer(account: string): Promise<DiscoveredServer & { readonly challenge: Challenge }> {
    const challenge = this.#challenges.get(account) ?? (await this.#probeChallenge())
    const found = await discoverServer(this.#discoveryHost, challenge.metadata)
    this.#cacheServer(found.server)
    return { ...found, challenge }
  }

  async getClient(server: AuthorizationServer, redirectUri: string): Promise<ClientIdentity> {
    const { vault, clientName: name, document } = this.#deps
    const { name: upstream, oauth } = this.spec
    const host = {
      upstream,
      client: oauth.client,
      document: document(),
      vault,
      wire: await this.loadWire(),
      name,
    }
    return resolveClient(host, server, redirectUri)
  }

  /** The server itself, as the resource of its grants. */
  get resource(): string {
    return canonicalizeResource(this.spec.url)
  }

  /** True for grants that are this upstream's to renew. */
  ownsGrant({ resource }: GrantKey): boolean {
    return resource === this.resource
  }

  async refresh(key: GrantKey, grant: Grant, signal: AbortSignal): Promise<RefreshResult> {
    const asked = { key, grant, signal, keySpec: this.keySpec }
    return refreshGrant(await this.loadWire(), () => this.getServer(key.issuer), asked)
  }

  /** Metadata of an authorization server that a grant was made at. */
  async getServer(issuer: string): Promise<AuthorizationServer> {
    const known = this.#servers.get(issuer)
    if (known !== undefined && this.#deps.clock.now() - known.at < SERVER_MS) return known.server
    const server = await fetchServerMetadata(this.#discoveryHost, issuer)
    this.#cacheServer(server)
    return server
  }

  /** The server has refused a request. */
  noteChallenge(account: string, header: string | undefined): Challenge {
    const challenge = parseChallenge(header)
    this.#challenges.set(account, challenge)
    return challenge
  }

  /**
   * Notes the scopes that an operation was refused for, with the grant that it came with. False when a login for them would be of
   * no use: they are beyond the bound, or it was tried often enough.
   */
  async noteMissingScopes({ account, generation, operation, scopes }: ScopeStep): Promise<boolean> {
    const { oauth } = this.spec
    if (limitScopes(scopes, oauth.scopes).length < scopes.length) return false
    const key = JSON.stringify([account, operation])
    const now = this.#deps.clock.now()
    const known = this.#steps.get(key)
    const step = known === undefined || now - known.since > STEPS_MS ? { count: 0, since: now } : known
    if (step.count >= MAX_STEPS) return false
    step.count++
    this.#steps.set(key, step)
    await this.#deps.vault.addWantedScopes(account, this.resource, generation, scopes)
    return true
  }

  /** A login of this account has been made. */
  clearChallenge(account: string): void {
    this.#challenges.delete(account)
  }

  get #discoveryHost(): DiscoveryDeps {
    const { name, url, oauth } = this.spec
    return { upstream: name, url, issuer: oauth.issuer, fetchFrom: this.#deps.fetchFrom }
  }

  #cacheServer(server: AuthorizationServer): void {
    this.#servers.set(server.issuer, { server, at: this.#deps.clock.now() })
  }

  /** Asks the server without a token, for its challenge. */
  async #probeChallenge(): Promise<Challenge> {
    const { headers, url, isApi } = this.spec
    if (!url.startsWith('http')) return parseChallenge(undefined)
    try {
      const response = await this.#deps.fetchFrom(url, isApi ? { headers } : createPing(headers))
      return parseChallenge(
        response.status === 401 ? (response.headers.get('www-authenticate') ?? undefined) : undefined,
      )
    } catch {
      // The well-known places may be there all the same.
      return parseChallenge(undefined)
    }
  }
}

/** Request of MCP that changes nothing; an API that speaks none is only read. */
function createPing(headers: FlowSpec['headers']): {
  readonly method: string
  readonly headers: FlowSpec['headers']
  readonly body: string
} {
  const accept = 'application/json, text/event-stream'
  return { method: 'POST', headers: { ...headers, 'content-type': 'application/json', accept }, body: PING }
}

const PING = JSON.stringify({ jsonrpc: '2.0', id: 'login', method: 'ping' })

/** The key of a configured client; undefined where it has none. */
export function getKeySpec(client: OAuthSpec['client']): KeySpec | undefined {
  if (client?.keyFile === undefined) return undefined
  return { file: client.keyFile, id: client.keyId, algorithm: client.algorithm }
}

/** The client of the configuration as an identity, where the server gives no other. */
export function createConfiguredIdentity(
  client: NonNullable<OAuthSpec['client']>,
  server: AuthorizationServer,
): ClientIdentity {
  const { id, secret } = client
  return { id, method: selectAuthMethod(client, server), ...(secret === undefined ? {} : { secret }) }
}

function readStrings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined
}
