import type { Config } from './index.ts'
import type { Principal } from './exchange.ts'
import { ANONYMOUS, compileCallers, principalKey } from './principal.ts'

/** Caller for whom a list is made, and the profile that it asked for, if any. */
export interface ProfileViewer {
  readonly principal: Principal
  readonly profile?: string | undefined
}

/** Profile of callers that have no other. */
const DEFAULT = 'default'
const NOBODY = principalKey(ANONYMOUS)

/**
 * Finds the name of a viewer's profile: the one that it asked for, else the first that names the viewer, else `default`.
 * Undefined where there is none, or the one asked for is not for this viewer.
 */
export function createProfileLookup({
  profiles = {},
  auth,
}: Pick<Config, 'profiles' | 'auth'>): (viewer: ProfileViewer) => string | undefined {
  const known = new Map(
    Object.entries(profiles).map(([name, { principals }]) => [
      name,
      principals === undefined ? undefined : compileCallers(principals, auth),
    ]),
  )
  const assigned = [...known].flatMap(([name, isFor]) => (isFor === undefined ? [] : [name]))
  // Nobody in particular has no subject that a glob could mean.
  const isAdmitted = (name: string, principal: Principal): boolean => {
    const isFor = known.get(name)
    return (
      known.has(name) && (isFor === undefined || (principalKey(principal) !== NOBODY && isFor(principal)))
    )
  }
  // Every call asks, and a caller's principal is one object for as long as he is known.
  const given = new WeakMap<Principal, { readonly name: string | undefined }>()
  const assign = (principal: Principal): string | undefined => {
    const name = [...assigned, DEFAULT].find(one => isAdmitted(one, principal))
    given.set(principal, { name })
    return name
  }
  return ({ principal, profile }) => {
    if (profile !== undefined) return isAdmitted(profile, principal) ? profile : undefined
    const before = given.get(principal)
    return before === undefined ? assign(principal) : before.name
  }
}
