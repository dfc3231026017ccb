import type { Config, Principal } from '../../src/plugin.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Never asked for: whether a client gets refresh tokens is between it and its issuer. */
export const OFFLINE = 'offline_access'

/** Gives a principal what its scopes imply, and what that implies. */
export type ScopeExpander = (principal: Principal) => Principal

export function createScopeExpander(implies: AuthConfig['implies']): ScopeExpander {
  const direct = new Map(Object.entries(implies))
  if (direct.size === 0) return principal => principal
  return principal => {
    const scopes = new Set(principal.scopes)
    // A set gives what is added while it is walked through, and each only once.
    for (const scope of scopes) for (const implied of direct.get(scope) ?? []) scopes.add(implied)
    return scopes.size === principal.scopes.length
      ? principal
      : Object.freeze({ ...principal, scopes: Object.freeze([...scopes]) })
  }
}

/** Every scope that rules ask for, once. */
export function listScopes(rules: AuthConfig['rules']): string[] {
  return [...new Set(rules.flatMap(({ scopes = [] }) => scopes))]
}
