import type { Config, UpstreamConfig } from '../../src/plugin.ts'

/** An upstream's `oauth`. */
export type OAuthSpec = NonNullable<Extract<Config['upstreams'][string], { readonly oauth?: unknown }>['oauth']>

/** An account at an upstream; it has one login. */
export interface LoginKey {
  /** `gateway`, or the hash of a caller's issuer and subject. */
  readonly account: string
  /** Canonical URI of the configured server, so that no other server on the same host gets the token. */
  readonly resource: string
}

export interface GrantKey extends LoginKey {
  /** Exact issuer of the authorization server. */
  readonly issuer: string
}

/** An authenticated caller. */
export interface CallerIdentity {
  readonly issuer: string
  readonly subject: string
}

/** One login's tokens with all data to renew them. */
export interface Grant {
  readonly access: string
  /** The resource that the server declared, if it is wider than its URL; tokens are requested for it. */
  readonly audience?: string
  readonly refresh?: string
  /** Milliseconds since 1970; absent if unknown. */
  readonly expiresAt?: number
  readonly scopesRequested: readonly string[]
  readonly scopesGranted: readonly string[]
  /** The caller, if it is a caller's login. */
  readonly caller?: CallerIdentity
  /** Client registration that was used. */
  readonly client: ClientIdentity
  /** Why the authorization server ended it; it then has no tokens. */
  readonly lost?: string
  /** Random; changes with each write. */
  readonly generation: number
}

/** A grant before it is stored; the vault assigns the generation. */
export type NewGrant = Omit<Grant, 'generation'>

/** A stored grant with its key and write time in milliseconds since 1970. */
export type StoredGrant = GrantKey & Grant & { readonly at: number }

/** The gateway's client at an authorization server. */
export interface ClientIdentity {
  readonly id: string
  readonly secret?: string
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  readonly redirectUri?: string
  /** Secret expiry, in milliseconds since 1970. */
  readonly expiresAt?: number
}

/** A value in a vault's backend. */
export interface StoredEntry {
  /** Undefined if it was modified, or sealed with another key or for another name. */
  readonly value: unknown
  /** Identifies this write. */
  readonly tag: string
}

export interface EntryOptions {
  /** Writes only if there is no entry, or if it is still this one. */
  readonly when?: 'absent' | Pick<StoredEntry, 'tag'> | undefined
  readonly expiresInMs?: number | undefined
}

/** Sealed values by name, shared by several processes. Rejects with GW_VAULT or GW_VAULT_KEY if it is unusable. */
export interface VaultBackend {
  readEntry(name: string): Promise<StoredEntry | undefined>
  /** Returns false, without a change, if `when` does not match. */
  put(name: string, value: unknown, options?: EntryOptions): Promise<boolean>
  /** Deletes an entry, with `tag` only if it is still this one; returns false if nothing was deleted. */
  delete(name: string, tag?: string): Promise<boolean>
  /** Lists the login names, sorted. */
  list(): Promise<string[]>
  /** Where the logins are, for users. */
  readonly location: string
  close(): void
}

/** Refreshes grants at the authorization server. */
export interface TokenEndpoint {
  refresh(grant: StoredGrant): Promise<RefreshResult>
}

export type RefreshResult =
  /** Without `refresh` the old refresh token stays valid. */
  | { readonly kind: 'granted'; readonly grant: NewGrant }
  /** An OAuth error. `invalid_grant` ends the grant; others, such as `invalid_client`, do not. */
  | { readonly kind: 'refused'; readonly error: string }
  /** No answer, 5xx or 429: the grant stays valid. */
  | { readonly kind: 'unreachable'; readonly reason: string }

/** Token for a request, or the reason why there is none. */
export type Access =
  | { readonly kind: 'token'; readonly token: string; readonly generation: number }
  /** A login is needed. */
  | { readonly kind: 'login'; readonly why: string }
  /** The token has expired, and the authorization server is unreachable. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** The gateway's own account. */
export const GATEWAY_ACCOUNT = 'gateway'

/** Upstreams reached over a network. */
type NetworkUpstream = Extract<UpstreamConfig, { readonly headers: object }>

export type OAuthUpstream = NetworkUpstream & { readonly oauth: OAuthSpec }

export function hasOAuth(spec: UpstreamConfig): spec is OAuthUpstream {
  return 'oauth' in spec && spec.oauth !== undefined
}

/** Returns an upstream's configured URL, the resource of its logins. `check` rejects one without URL. */
export function getAddress(spec: OAuthUpstream): string {
  const address = 'url' in spec ? spec.url : spec.server
  if (address === undefined) throw new Error('an upstream with "oauth" needs "server"')
  return address
}

/** Returns true if each caller logs in to this upstream with a browser. */
export function hasBrowserLogins(spec: UpstreamConfig): spec is OAuthUpstream {
  return spec.enabled && hasOAuth(spec) && spec.oauth.grant === 'code' && isPerCaller(spec)
}

export function hasCallerLogins({ upstreams }: Config): boolean {
  return Object.values(upstreams).some(hasBrowserLogins)
}

/** Returns true if each caller has its own login. */
export function isPerCaller({ oauth }: Pick<OAuthUpstream, 'oauth'>): boolean {
  const isDelegated = oauth.grant === 'exchange' || oauth.grant === 'id-jag'
  return oauth.account === 'caller' || (isDelegated && oauth.subject?.file === undefined)
}
