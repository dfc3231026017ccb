import type { Config, Principal } from '../../src/plugin.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Never requested: refresh tokens are between the client and its issuer. */
export const OFFLINE = 'offline_access'

/** Adds implied scopes transitively. */
export type ScopeExpander = (principal: Principal) => Principal

export function createScopeExpander(implies: AuthConfig['implies']): ScopeExpander {
  const direct = new Map(Object.entries(implies))
  if (direct.size === 0) return principal => principal
  return principal => {
    const scopes = new Set(principal.scopes)
    // Iterating a set includes members that are added meanwhile, each once.
    for (const scope of scopes) for (const implied of direct.get(scope) ?? []) scopes.add(implied)
    return scopes.size === principal.scopes.length
      ? principal
      : Object.freeze({ ...principal, scopes: Object.freeze([...scopes]) })
  }
}

/** Lists all scopes used in rules. */
export function listScopes(rules: AuthConfig['rules']): string[] {
  return [...new Set(rules.flatMap(({ scopes = [] }) => scopes))]
}
