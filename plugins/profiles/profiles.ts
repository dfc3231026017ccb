import {
  allowsUris,
  forbidsUris,
  globs,
  LISTS,
  profileNames,
  type CatalogEntry,
  type Config,
  type Viewer,
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

/** All profiles, and whose they are. */
export interface Profiles {
  /** The profile of this viewer: `all` where none applies, `none` where the one asked for is not for him. */
  find(viewer: Viewer): Profile | 'all' | 'none'
}

/** Prepares them once: looked up with every request. */
export function profilesOf(options: Options, config: Config): Profiles {
  const known = new Map(
    Object.entries(options).map(([name, spec]) => [name, profileOf(name, spec, config)] as const),
  )
  const nameOf = profileNames({ profiles: options, auth: config.auth })
  return {
    find: viewer => {
      const name = nameOf(viewer)
      const profile = name === undefined ? undefined : known.get(name)
      return profile ?? (viewer.profile === undefined ? 'all' : 'none')
    },
  }
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
