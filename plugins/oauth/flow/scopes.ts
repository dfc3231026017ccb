/** Scope that lets its holder renew a login without a browser (OpenID Connect). */
const OFFLINE = 'offline_access'

/** Sources of the scopes of a login, in their order. */
interface ScopeSources {
  /** Scopes that a challenge named for this operation. */
  readonly challenged: readonly string[] | undefined
  /** Scopes that the resource knows of. */
  readonly ofResource: readonly string[] | undefined
  /** The bound of the configuration. */
  readonly bound: readonly string[] | undefined
  /** Scopes of the login before, which a new one keeps. */
  readonly before: readonly string[]
  /** Scopes that the authorization server knows of. */
  readonly ofServer: readonly string[] | undefined
}

/** The scopes that a login asks for; empty to leave them to the authorization server. */
export function scopesFor({
  challenged,
  ofResource,
  bound,
  before,
  ofServer,
}: ScopeSources): readonly string[] {
  const named = challenged ?? ofResource
  const wanted = named === undefined ? (bound ?? []) : within(named, bound)
  const scopes = union(before, wanted.length === 0 && bound !== undefined ? bound : wanted)
  return ofServer?.includes(OFFLINE) === true ? union(scopes, [OFFLINE]) : scopes
}

/** The scopes that the configuration allows. */
export function within(scopes: readonly string[], bound: readonly string[] | undefined): readonly string[] {
  return bound === undefined ? scopes : scopes.filter(scope => bound.includes(scope))
}

/** Each scope once, those of the first list first. */
export function union(one: readonly string[], other: readonly string[]): readonly string[] {
  return [...new Set([...one, ...other])]
}
