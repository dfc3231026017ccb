/** Login key. */
export interface GrantKey {
  /** `gateway`, or the hash of a caller's issuer and subject. */
  readonly account: string
  /** Canonical URI of the configured server, so that no other server on the same host gets the token. */
  readonly resource: string
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
  /** Missing scopes of rejected calls; the next login requests them too. */
  readonly scopesWanted?: readonly string[]
  /** The caller, if it is a caller's login. */
  readonly caller?: CallerIdentity
  /** Client registration that was used. */
  readonly client: ClientIdentity
  /** Increases with each write over all grants, and is never reused. */
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

/** A login that is pending in a browser. */
export interface PendingLogin {
  /** `state` of the authorization request: random and known to the browser only. */
  readonly state: string
  readonly account: string
  /** Milliseconds since 1970; at most ten minutes ahead. */
  readonly expiresAt: number
  /** Flow state as JSON: verifier, issuer, upstream, redirect, scopes. */
  readonly value: Readonly<Record<string, unknown>>
}

/** A grant that was removed because its authorization server rejected it. */
export interface LostGrant extends GrantKey {
  /** One line without secrets. */
  readonly why: string
  readonly caller?: CallerIdentity
  /** Milliseconds since 1970. */
  readonly at: number
}

/** One upstream's callers by login state. */
export interface CallerCounts {
  /** Callers with a login. */
  readonly granted: number
  /** Accounts whose login was lost. */
  readonly lost: readonly string[]
}

/**
 * Sealed grants, shared by several processes. Rejects with GW_VAULT_* errors if the disk, file or key is unusable.
 */
export interface Vault {
  /** Returns the latest grant if no issuer is given. */
  find(account: string, resource: string, issuer?: string): Promise<StoredGrant | undefined>
  list(): Promise<readonly StoredGrant[]>
  /**
   * Writes a grant and returns its generation. `over` is the expected current generation, 0 for none; undefined if
   * another one is there. With `over` caller and wanted scopes are retained. Without it the grant replaces any other,
   * as a login does.
   */
  put(key: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined>
  /** Removes this generation; returns false if another one is there. With `why` it is recorded as lost. */
  remove(key: GrantKey, generation: number, why?: string): Promise<boolean>
  /** Stores missing scopes from rejected calls in the grant with that generation. */
  addWantedScopes(account: string, resource: string, generation: number, scopes: readonly string[]): Promise<void>
  /** An account's latest grant time, in milliseconds since 1970; undefined if it has none. */
  getGrantTime(account: string, resource: string): number | undefined
  /** Counts synchronously; undefined if the vault is not open or not readable. */
  countCallers(resource: string): CallerCounts | undefined
  /** Lists lost grants since the last login; optionally for one account at one resource. */
  listLost(of?: Pick<GrantKey, 'account' | 'resource'>): Promise<readonly LostGrant[]>
  /** Takes the lease; returns false if another owner has it. It expires after `ms`. */
  lease(key: GrantKey, owner: string, ms: number): Promise<boolean>
  release(key: GrantKey, owner: string): Promise<void>
  /**
   * Records that a grant's refresh token is being used. Returns false if another process used it before with unknown
   * outcome: it must not be used again. Without this method the authorization server detects reuse.
   */
  claimRefreshToken?(grant: NewGrant, owner: string): Promise<boolean>
  /** Records that the refresh token was not consumed and may be used again. */
  returnRefreshToken?(grant: NewGrant, owner: string): Promise<void>
  registration(issuer: string, redirectUri: string): Promise<ClientIdentity | undefined>
  saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): Promise<void>
  /** Drops a registration that its server no longer accepts. */
  dropRegistration(issuer: string, redirectUri: string): Promise<void>
  /** Returns false if the account has too many pending logins. */
  savePending(login: PendingLogin): Promise<boolean>
  /** Removes and returns a pending login; undefined if it is unknown or expired. */
  takePending(state: string): Promise<PendingLogin | undefined>
  /** Changes when another process has written. */
  version(): Promise<number>
  close(): void
}

/** Refreshes grants at the authorization server. */
export interface TokenEndpoint {
  /** Never rejects for server failures; `signal` aborts after the request timeout. */
  refresh(key: GrantKey, grant: Grant, signal: AbortSignal): Promise<RefreshResult>
}

export type RefreshResult =
  /** Without `refresh` the old refresh token stays valid. */
  | { readonly kind: 'granted'; readonly grant: NewGrant }
  /** An OAuth error. `invalid_grant` ends the grant; others, such as `invalid_client`, do not. */
  | { readonly kind: 'refused'; readonly error: string; readonly description?: string }
  /** No answer, 5xx or 429: the grant stays valid. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly retryAfterMs?: number }

/** Token for a request, or the reason why there is none. */
export type Access =
  | { readonly kind: 'token'; readonly token: string; readonly generation: number }
  /** A login is needed. */
  | { readonly kind: 'login'; readonly why: string }
  /** The token has expired, and the authorization server is unreachable. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** Tokens for requests to upstreams. */
export interface Grants {
  /** Returns a valid token, refreshed before it expires. */
  access(account: string, resource: string): Promise<Access>
  /** Renews a token that was rejected with 401, once for all callers with that generation. */
  renewRefused(account: string, resource: string, generation: number): Promise<Access>
}

/** The gateway's own account. */
export const GATEWAY_ACCOUNT = 'gateway'
