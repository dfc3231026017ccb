/** Key of a login: its owner, its resource and its authorization server. */
export interface GrantKey {
  /** `gateway`, or a digest of issuer and subject of a caller: `accountOf`. */
  readonly account: string
  /** Canonical URI of the MCP server as the configuration has it, so that no other server of the same host gets the token. */
  readonly resource: string
  /** Issuer of the authorization server, byte for byte. */
  readonly issuer: string
}

/** A caller, as `auth` has identified it. */
export interface CallerIdentity {
  readonly issuer: string
  readonly subject: string
}

/** Tokens of one login, and all that it takes to renew them. */
export interface Grant {
  readonly access: string
  /** The protected resource that the server named, where that is more than the server itself: tokens are asked for it. */
  readonly audience?: string
  readonly refresh?: string
  /** Milliseconds since 1970; absent where the server did not say. */
  readonly expiresAt?: number
  readonly scopesRequested: readonly string[]
  readonly scopesGranted: readonly string[]
  /** Scopes that calls were refused for since: the next login asks for them too. */
  readonly scopesWanted?: readonly string[]
  /** The caller, where it is the login of one. */
  readonly caller?: CallerIdentity
  /** The registration that it was made with. */
  readonly client: ClientIdentity
  /** Grows with each write to the vault, over all grants, and is never used again. */
  readonly generation: number
}

/** A grant as its maker has it: the vault counts generations. */
export type NewGrant = Omit<Grant, 'generation'>

/** A grant, whose it is, and when it was written, in milliseconds since 1970. */
export type StoredGrant = GrantKey & Grant & { readonly at: number }

/** Identity of this gateway at an authorization server. */
export interface ClientIdentity {
  readonly id: string
  readonly secret?: string
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  readonly redirectUri?: string
  /** End of the secret, in milliseconds since 1970. */
  readonly expiresAt?: number
}

/** A login that has begun in a browser and has not come back. */
export interface PendingLogin {
  /** `state` of the authorization request: random, known to the browser alone. */
  readonly state: string
  readonly account: string
  /** Milliseconds since 1970; at most ten minutes away. */
  readonly expiresAt: number
  /** All that the flow must remember, as plain JSON: verifier, issuer, upstream, redirect, scopes. */
  readonly value: Readonly<Record<string, unknown>>
}

/** A grant that was taken away because its authorization server refused it. */
export interface LostGrant extends GrantKey {
  /** One line for people, without a token. */
  readonly why: string
  readonly caller?: CallerIdentity
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Callers with logins at one server, and without. */
export interface CallerCounts {
  /** Callers that have a login. */
  readonly granted: number
  /** Accounts of callers whose login was lost. */
  readonly lost: readonly string[]
}

/** Grants on disk, sealed. Several processes may have it open. Rejects with GW_VAULT_* errors where the disk, the file or the key is no good. */
export interface Vault {
  /** The newest one where no issuer is given. */
  find(account: string, resource: string, issuer?: string): Promise<StoredGrant | undefined>
  list(): Promise<readonly StoredGrant[]>
  /**
   * Writes a grant and gives its generation. `over` is the generation that must be there, 0 for none; without it the grant
   * replaces whatever is there, as a login does. Undefined: another was faster, nothing is written. With `over` the caller and
   * the wanted scopes of the grant before stay.
   */
  put(key: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined>
  /** Removes that generation alone; false where another is there. With `why` it is remembered as lost. */
  remove(key: GrantKey, generation: number, why?: string): Promise<boolean>
  /** Notes scopes that calls of an account were refused for, with that generation of its grant. */
  addWantedScopes(
    account: string,
    resource: string,
    generation: number,
    scopes: readonly string[],
  ): Promise<void>
  /** Time at which an account last got a grant, in milliseconds since 1970; undefined where it has none. */
  getGrantTime(account: string, resource: string): number | undefined
  /** Counts at once what is open already; undefined where it is not, or cannot be read. */
  countCallers(resource: string): CallerCounts | undefined
  /** Those that were taken away, until a new login; those of one account at one resource, where that is said. */
  listLost(of?: Pick<GrantKey, 'account' | 'resource'>): Promise<readonly LostGrant[]>
  /** True where nobody else has it. It is over after so many milliseconds by itself. */
  lease(key: GrantKey, owner: string, ms: number): Promise<boolean>
  release(key: GrantKey, owner: string): Promise<void>
  /**
   * Notes that the refresh token of a grant goes out now. False where it went out before, by somebody who has not said what came
   * of it: then it must not go out again. A vault without this leaves that to the authorization server.
   */
  claimRefreshToken?(grant: NewGrant, owner: string): Promise<boolean>
  /** The refresh token was not used up, and may go out again. */
  returnRefreshToken?(grant: NewGrant, owner: string): Promise<void>
  registration(issuer: string, redirectUri: string): Promise<ClientIdentity | undefined>
  saveRegistration(issuer: string, redirectUri: string, client: ClientIdentity): Promise<void>
  /** Drops a registration that its server does not know any more. */
  dropRegistration(issuer: string, redirectUri: string): Promise<void>
  /** False where the account has too many open already. */
  savePending(login: PendingLogin): Promise<boolean>
  /** Gives it once: whoever comes second, or too late, gets nothing. */
  takePending(state: string): Promise<PendingLogin | undefined>
  /** Another value when another process has written. */
  version(): Promise<number>
  close(): void
}

/** Work of the flow for the grants: one request to the authorization server. */
export interface TokenEndpoint {
  /** Never rejects for what the server does; `signal` ends it after its own time, whoever waits. */
  refresh(key: GrantKey, grant: Grant, signal: AbortSignal): Promise<RefreshResult>
}

/** Answer of the authorization server to a refresh. */
export type RefreshResult =
  /** Without `refresh` the old refresh token stays good. */
  | { readonly kind: 'granted'; readonly grant: NewGrant }
  /** An error of OAuth. `invalid_grant` ends the grant; others, such as `invalid_client`, are no fault of it. */
  | { readonly kind: 'refused'; readonly error: string; readonly description?: string }
  /** No answer, a 5xx, a 429: the grant is as good as it was. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly retryAfterMs?: number }

/** Access that a request to an upstream gets. */
export type Access =
  | { readonly kind: 'token'; readonly token: string; readonly generation: number }
  /** A login is needed. `why` is one line for people. */
  | { readonly kind: 'login'; readonly why: string }
  /** The token is over, and the authorization server cannot be reached now. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** Tokens for requests to upstreams. */
export interface Grants {
  /** A token that is good now, refreshed ahead of its expiry. */
  access(account: string, resource: string): Promise<Access>
  /** The token of that generation was refused with 401: one forced refresh for all who say so. */
  renewRefused(account: string, resource: string, generation: number): Promise<Access>
}

/** Account of the gateway itself. */
export const GATEWAY_ACCOUNT = 'gateway'

/** Verbs of logins for the owner. */
export const VERBS = [
  'login.begin',
  'login.finish',
  'login.device',
  'login.device.wait',
  'login.list',
  'login.logout',
] as const
