import type { AuthorizationServer } from 'oauth4webapi'
import type { Clock, Config, Log } from '../../../src/plugin.ts'
import { BoundedMap } from '../../../src/plugin.ts'
import type { ClientIdentity, Grant, GrantKey, Refreshed, Vault } from '../types.ts'
import { clientAt, methodOf } from './client-identity.ts'
import type { Discovered, DiscoveryHost, FetchFrom } from './discovery.ts'
import { canonicalResource, discover, serverMetadata } from './discovery.ts'
import type { Challenge, KeySpec } from './wire.ts'
import { Wire, challengeOf, grantOf, scopesFor, union, whyFailed, within } from './wire.ts'

/** A grant that is to be renewed. */
interface ToRefresh {
  readonly key: GrantKey
  readonly grant: Grant
  readonly signal: AbortSignal
  readonly keySpec: KeySpec | undefined
}

/** Statuses with which a server says that it cannot now, whatever its body says. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

/** Asks the authorization server for new tokens, once. Never rejects for what that does. */
async function refresh(
  wire: Wire,
  serverOf: () => Promise<AuthorizationServer>,
  { key, grant, signal, keySpec }: ToRefresh,
): Promise<Refreshed> {
  const { lib } = wire
  const { client, refresh: token, scopesRequested: scopes } = grant
  if (token === undefined) return { kind: 'refused', error: 'invalid_grant' }
  try {
    const server = await serverOf()
    const known = { client_id: client.id }
    const options = wire.options({ signal, more: { resource: grant.audience ?? key.resource } })
    const auth = await wire.authOf(client, keySpec)
    const response = await lib.refreshTokenGrantRequest(server, known, auth, token, options)
    if (response.status >= 500 || PASSING.has(response.status)) return unreachable(response)
    const tokens = await lib.processRefreshTokenResponse(server, known, response)
    const made = grantOf(tokens, { client, scopes, refresh: token })
    const renewed = grant.audience === undefined ? made : { ...made, audience: grant.audience }
    // A server that says nothing of scopes has left them as they were (RFC 6749, 6).
    const granted = tokens.scope === undefined ? { ...renewed, scopesGranted: grant.scopesGranted } : renewed
    return { kind: 'granted', grant: granted }
  } catch (error) {
    const said = wire.said(error)
    return said === undefined
      ? { kind: 'unreachable', reason: whyFailed(wire, error) }
      : { kind: 'refused', error: said }
  }
}

function unreachable(response: Response): Refreshed {
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
interface FlowHost {
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
export interface Prepared extends Discovered {
  /** Scopes to ask for. */
  readonly scopes: readonly string[]
}

/** An operation that was refused, as its token lacks scopes. */
export interface Step {
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
  readonly #host: FlowHost
  /** Last challenge of the server to each account that it refused. */
  readonly #challenges = new BoundedMap<string, Challenge>({ max: MAX_ACCOUNTS })
  readonly #steps = new BoundedMap<string, { count: number; readonly since: number }>({ max: MAX_ACCOUNTS })
  readonly #servers = new BoundedMap<string, { readonly server: AuthorizationServer; readonly at: number }>({
    max: 10,
  })
  #wire: Promise<Wire> | undefined

  constructor(spec: FlowSpec, host: FlowHost) {
    this.spec = spec
    this.#host = host
  }

  /** The library is loaded with the first login or refresh. */
  wire(): Promise<Wire> {
    const { fetchFrom, directory } = this.#host
    this.#wire ??= import('oauth4webapi').then(lib => new Wire(lib, fetchFrom, directory))
    return this.#wire
  }

  get keySpec(): KeySpec | undefined {
    return keySpecOf(this.spec.oauth.client)
  }

  /** Finds out anew where the login is made, and for which scopes. */
  async prepare(account: string, more: readonly string[]): Promise<Prepared> {
    const { challenge, ...found } = await this.locate(account)
    const { resource, server } = found
    const bound = this.spec.oauth.scopes
    const kept = await this.#host.vault.find(account, this.resource, server.issuer)
    const wanted = within(kept?.scopesWanted ?? [], bound)
    const scopes = scopesFor({
      challenged: wanted.length === 0 ? challenge.scopes : union(challenge.scopes ?? [], wanted),
      ofResource: found.scopes,
      bound,
      before: kept === undefined ? [] : union(kept.scopesRequested, wanted),
      ofServer: textsIn(server.scopes_supported),
    })
    return { resource, server, scopes: union(scopes, more) }
  }

  /** Asks the server, and what it names, where tokens for an account come from. */
  async locate(account: string): Promise<Discovered & { readonly challenge: Challenge }> {
    const challenge = this.#challenges.get(account) ?? (await this.#probe())
    const found = await discover(this.#discoveryHost, challenge.metadata)
    this.#noteServer(found.server)
    return { ...found, challenge }
  }

  async clientFor(server: AuthorizationServer, redirectUri: string): Promise<ClientIdentity> {
    const { vault, clientName: name, document } = this.#host
    const { name: upstream, oauth } = this.spec
    const host = {
      upstream,
      client: oauth.client,
      document: document(),
      vault,
      wire: await this.wire(),
      name,
    }
    return clientAt(host, server, redirectUri)
  }

  /** The server itself, as the resource of its grants. */
  get resource(): string {
    return canonicalResource(this.spec.url)
  }

  /** True for grants that are this upstream's to renew. */
  isFor({ resource }: GrantKey): boolean {
    return resource === this.resource
  }

  async refresh(key: GrantKey, grant: Grant, signal: AbortSignal): Promise<Refreshed> {
    const asked = { key, grant, signal, keySpec: this.keySpec }
    return refresh(await this.wire(), () => this.serverOf(key.issuer), asked)
  }

  /** Metadata of an authorization server that a grant was made at. */
  async serverOf(issuer: string): Promise<AuthorizationServer> {
    const known = this.#servers.get(issuer)
    if (known !== undefined && this.#host.clock.now() - known.at < SERVER_MS) return known.server
    const server = await serverMetadata(this.#discoveryHost, issuer)
    this.#noteServer(server)
    return server
  }

  /** The server has refused a request. */
  challenged(account: string, header: string | undefined): Challenge {
    const challenge = challengeOf(header)
    this.#challenges.set(account, challenge)
    return challenge
  }

  /**
   * Notes the scopes that an operation was refused for, with the grant that it came with. False when a login for them would be of
   * no use: they are beyond the bound, or it was tried often enough.
   */
  async stepUp({ account, generation, operation, scopes }: Step): Promise<boolean> {
    const { oauth } = this.spec
    if (within(scopes, oauth.scopes).length < scopes.length) return false
    const key = JSON.stringify([account, operation])
    const now = this.#host.clock.now()
    const known = this.#steps.get(key)
    const step = known === undefined || now - known.since > STEPS_MS ? { count: 0, since: now } : known
    if (step.count >= MAX_STEPS) return false
    step.count++
    this.#steps.set(key, step)
    await this.#host.vault.want(account, this.resource, generation, scopes)
    return true
  }

  /** A login of this account has been made. */
  loggedIn(account: string): void {
    this.#challenges.delete(account)
  }

  get #discoveryHost(): DiscoveryHost {
    const { name, url, oauth } = this.spec
    return { upstream: name, url, issuer: oauth.issuer, fetchFrom: this.#host.fetchFrom }
  }

  #noteServer(server: AuthorizationServer): void {
    this.#servers.set(server.issuer, { server, at: this.#host.clock.now() })
  }

  /** Asks the server without a token, for its challenge. */
  async #probe(): Promise<Challenge> {
    const { headers, url, isApi } = this.spec
    if (!url.startsWith('http')) return challengeOf(undefined)
    try {
      const response = await this.#host.fetchFrom(url, isApi ? { headers } : pinging(headers))
      return challengeOf(
        response.status === 401 ? (response.headers.get('www-authenticate') ?? undefined) : undefined,
      )
    } catch {
      // The well-known places may be there all the same.
      return challengeOf(undefined)
    }
  }
}

/** Request of MCP that changes nothing; an API that speaks none is only read. */
function pinging(headers: FlowSpec['headers']): {
  readonly method: string
  readonly headers: FlowSpec['headers']
  readonly body: string
} {
  const accept = 'application/json, text/event-stream'
  return { method: 'POST', headers: { ...headers, 'content-type': 'application/json', accept }, body: PING }
}

const PING = JSON.stringify({ jsonrpc: '2.0', id: 'login', method: 'ping' })

/** The key of a configured client; undefined where it has none. */
export function keySpecOf(client: OAuthSpec['client']): KeySpec | undefined {
  if (client?.keyFile === undefined) return undefined
  return { file: client.keyFile, id: client.keyId, algorithm: client.algorithm }
}

/** The client of the configuration as an identity, where the server gives no other. */
export function configuredIdentity(
  client: NonNullable<OAuthSpec['client']>,
  server: AuthorizationServer,
): ClientIdentity {
  const { id, secret } = client
  return { id, method: methodOf(client, server), ...(secret === undefined ? {} : { secret }) }
}

function textsIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined
}
