import {
  allowsUris,
  ANONYMOUS,
  callers,
  forbidsUris,
  globs,
  LISTS,
  principalKey,
  type CatalogEntry,
  type Config,
  type Principal,
} from '../../src/plugin.ts'

type Options = NonNullable<Config['profiles']>
type Spec = Options[string]
type Section = 'tools' | 'prompts' | 'resources'

/** One view, ready for use. */
interface Profile {
  readonly name: string
  readonly instructions: string | undefined
  /** True if it shows this upstream. */
  has(upstream: string): boolean
  shows(this: void, entry: CatalogEntry): boolean
  /** The entry under the name that it has here. */
  dressed(entry: CatalogEntry): CatalogEntry
}

/** A principal, and the profile it asked for, if any. */
interface Viewer {
  readonly principal: Principal
  readonly profile?: string | undefined
}

/** All profiles, and whose they are. */
export interface Profiles {
  /** The profile of this viewer: `all` where none applies, `none` where the one asked for is not for him. */
  find(viewer: Viewer): Profile | 'all' | 'none'
}

interface Known {
  readonly profile: Profile
  /** Undefined for anybody. */
  readonly isFor: ((principal: Principal) => boolean) | undefined
}

/** Profile of callers that have no other. */
const DEFAULT = 'default'
const NOBODY = principalKey(ANONYMOUS)

/** Prepares them once: looked up with every request. */
export function profilesOf(options: Options, config: Config): Profiles {
  const known = new Map<string, Known>()
  for (const [name, spec] of Object.entries(options)) {
    const isFor = spec.principals === undefined ? undefined : callers(spec.principals, config.auth)
    known.set(name, { profile: profileOf(name, spec, config), isFor })
  }
  const assigned = [...known.values()].filter(({ isFor }) => isFor !== undefined)
  // Every call asks, and a caller's principal is one object for as long as he is known.
  const given = new WeakMap<Principal, Profile | 'all'>()
  const assign = (principal: Principal): Profile | 'all' => {
    const own = assigned.find(one => isAdmitted(one, principal)) ?? known.get(DEFAULT)
    const profile = admitted(own, principal) ?? 'all'
    given.set(principal, profile)
    return profile
  }
  return {
    find: ({ principal, profile }) =>
      profile === undefined
        ? (given.get(principal) ?? assign(principal))
        : (admitted(known.get(profile), principal) ?? 'none'),
  }
}

function admitted(known: Known | undefined, principal: Principal): Profile | undefined {
  return known !== undefined && isAdmitted(known, principal) ? known.profile : undefined
}

/** True when a caller may have a profile. Nobody in particular has no subject that a glob could mean. */
function isAdmitted({ isFor }: Known, principal: Principal): boolean {
  return isFor === undefined || (principalKey(principal) !== NOBODY && isFor(principal))
}

function profileOf(name: string, spec: Spec, config: Config): Profile {
  const shown = spec.upstreams === undefined ? undefined : new Set(spec.upstreams)
  const has = (upstream: string): boolean => shown?.has(upstream) !== false
  const permits: Record<Section, (name: string) => boolean> = {
    tools: permitted(spec.tools),
    prompts: permitted(spec.prompts),
    resources: permitted(spec.resources, allowsUris, forbidsUris),
  }
  const prefixes = prefixesOf(spec, config)
  return {
    name,
    instructions: spec.instructions,
    has,
    shows: ({ kind, upstream, exposed }) => has(upstream) && permits[LISTS[kind].capability](exposed),
    dressed: entry => prefixed(entry, prefixes.get(entry.upstream)),
  }
}

function permitted(
  { allow, deny = [] }: NonNullable<Spec['tools']> = {},
  allows = globs,
  forbids = globs,
): (name: string) => boolean {
  const isAllowed = allow === undefined ? () => true : allows(allow)
  const isDenied = forbids(deny)
  return name => isAllowed(name) && !isDenied(name)
}

interface Prefix {
  readonly from: string
  readonly to: string
}

function prefixesOf({ prefixes = {} }: Spec, { upstreams }: Config): ReadonlyMap<string, Prefix> {
  const entries = Object.entries(prefixes).map(
    ([name, to]) => [name, { from: upstreams[name]?.prefix ?? `${name}__`, to }] as const,
  )
  return new Map(entries)
}

/** A name that the filters have changed altogether has no prefix to change. */
function prefixed(entry: CatalogEntry, prefix: Prefix | undefined): CatalogEntry {
  if (prefix === undefined || LISTS[entry.kind].capability === 'resources') return entry
  if (!entry.exposed.startsWith(prefix.from)) return entry
  return { ...entry, exposed: prefix.to + entry.exposed.slice(prefix.from.length) }
}
