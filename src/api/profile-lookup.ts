import type { Config } from './index.ts'
import type { Principal } from './exchange.ts'
import { ANONYMOUS, compileCallers, principalKey } from './principal.ts'

/** The caller of a list and the requested profile, if any. */
export interface ProfileViewer {
  readonly principal: Principal
  readonly profile?: string | undefined
}

const DEFAULT = 'default'
const NOBODY = principalKey(ANONYMOUS)

/**
 * Finds a viewer's profile: the requested one, else the first that lists the viewer, else `default`. Undefined if
 * there is none, or the viewer may not use it.
 */
export function createProfileLookup({
  profiles = {},
  auth,
}: Pick<Config, 'profiles' | 'auth'>): (viewer: ProfileViewer) => string | undefined {
  const matchers = new Map(
    Object.entries(profiles).map(([name, { principals }]) => [
      name,
      principals === undefined ? undefined : compileCallers(principals, auth),
    ]),
  )
  const assigned = [...matchers].flatMap(([name, isFor]) => (isFor === undefined ? [] : [name]))
  // Anonymous callers have no subject that a glob could match.
  const isAdmitted = (name: string, principal: Principal): boolean => {
    const isFor = matchers.get(name)
    return matchers.has(name) && (isFor === undefined || (principalKey(principal) !== NOBODY && isFor(principal)))
  }
  // Cached: every call looks it up, with one principal object per caller.
  const assignments = new WeakMap<Principal, { readonly name: string | undefined }>()
  const assign = (principal: Principal): string | undefined => {
    const name = [...assigned, DEFAULT].find(one => isAdmitted(one, principal))
    assignments.set(principal, { name })
    return name
  }
  return ({ principal, profile }) => {
    if (profile !== undefined) return isAdmitted(profile, principal) ? profile : undefined
    const before = assignments.get(principal)
    return before === undefined ? assign(principal) : before.name
  }
}
