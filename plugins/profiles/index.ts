import type { CatalogEntry, Config, Dispatch, ExplainStep, Plugin, Report, Session } from '../../src/plugin.ts'
import {
  compileAllowedUris,
  compileForbiddenUris,
  gatewayError,
  compileGlobs,
  checkKnownName,
  readList,
  LISTS,
  readMap,
  METHODS,
  appendPointer,
  createProfileLookup,
  refuse,
  RPC,
  readText,
} from '../../src/plugin.ts'

type KnownNames = Parameters<NonNullable<Plugin['check']>>[2]['names']
/** The caller of a list and the requested profile. */
type ListCaller = Pick<Session, 'principal' | 'profile'>

/** Reports unknown upstreams and profiles. */
function checkProfiles(config: unknown, report: Report, names: KnownNames): void {
  const profiles = readMap(config, 'profiles')
  const upstream = { what: 'upstream', names: names.upstreams }
  for (const name of Object.keys(profiles)) {
    const pointer = appendPointer('/profiles', name)
    readList(profiles, name, 'upstreams').forEach((one, i) =>
      checkKnownName(one, upstream, `${pointer}/upstreams/${i}`, report),
    )
    for (const one of Object.keys(readMap(profiles, name, 'prefixes')))
      checkKnownName(one, upstream, appendPointer(`${pointer}/prefixes`, one), report)
  }
  const listeners = readMap(config, 'listeners')
  const profile = { what: 'profile', names: Object.keys(profiles) }
  for (const name of Object.keys(listeners))
    checkKnownName(
      readText(listeners, name, 'profile'),
      profile,
      `${appendPointer('/listeners', name)}/profile`,
      report,
    )
  checkPrefixes(config, report)
}

/** Rules by name could be bypassed with a profile's own names. */
function checkPrefixes(config: unknown, report: Report): void {
  const rules = findNameRules(config)
  if (rules === undefined) return
  const profiles = readMap(config, 'profiles')
  for (const name of Object.keys(profiles)) {
    if (Object.keys(readMap(profiles, name, 'prefixes')).length === 0) continue
    const message = `prefixes of a profile would bypass ${rules}, which use the gateway's names`
    const hint = 'remove "prefixes", or the rules by tool and prompt'
    report({ pointer: `${appendPointer('/profiles', name)}/prefixes`, message, hint })
  }
}

function findNameRules(config: unknown): string | undefined {
  const isByName = (route: unknown): boolean => NAME_KEYS.some(key => key in readMap(route, 'match'))
  if (readList(config, 'routes').some(isByName)) return 'routes'
  const rules = readMap(config, 'rateLimit', 'rules')
  return Object.keys(rules).some(name => 'tools' in readMap(rules, name)) ? 'rateLimit.rules' : undefined
}

const NAME_KEYS = ['tool', 'prompt']

/** Methods with instructions for clients. */
const INTRODUCTIONS = ['initialize', 'server/discover']

/**
 * Provides several views of one gateway. A profile narrows the filtered catalog under the names that clients use; a
 * hidden upstream is never called.
 */
export const profiles: Plugin<NonNullable<Config['profiles']>> = {
  name: 'profiles',
  claims: { section: 'profiles' },
  check: (config, report, { names }) => checkProfiles(config, report, names),
  setup({ config, options, hooks }) {
    const findProfile = compileProfiles(options, config)

    hooks.session.tap({ stage: 'identify' }, session => {
      if (findProfile(session) === 'none')
        // Do not suggest other profiles: they may belong to other callers.
        throw gatewayError('GW_PROFILE_UNKNOWN', { profile: session.profile, meant: '' })
    })
    // After the filters, to see the final names.
    const common = new Set<string>()
    const judgesUris = Object.values(options).some(({ resources }) => resources !== undefined)
    hooks.catalog.tap({ stage: 'transform', checksUris: judgesUris }, (entries, viewer) => {
      const profile = findProfile(viewer)
      if (profile === 'none') return []
      if (profile === 'all') return undefined
      return entries
        .filter(entry => common.has(entry.upstream) || profile.isVisible(entry))
        .map(entry => profile.renameEntry(entry))
    })
    hooks.dispatch.tap((next, { name, isInAllProfiles }) => {
      if (isInAllProfiles === true) common.add(name)
      return isInAllProfiles === true ? undefined : guardDispatch(next, name, findProfile)
    })
    hooks.explain.tap((steps, { exchange: { session } }) => [
      ...steps,
      explainView(findProfile, session.profile, session),
    ])
    hooks.response.tap({ methods: INTRODUCTIONS }, (answer, { session }) => {
      const profile = findProfile(session)
      if (!('result' in answer) || typeof profile === 'string') return undefined
      const { instructions } = profile
      return instructions === undefined ? undefined : { result: answer.result.edit(['instructions'], { instructions }) }
    })
  },
}

/** Explains which profile the caller uses. */
function explainView(findProfile: FindProfile, requestedName: string | undefined, viewer: Session): ExplainStep {
  const profile = findProfile(viewer)
  const base = { by: 'profiles', at: 'caller', does: 'passes' } as const
  if (profile === 'none')
    return { ...base, does: 'refuses', text: `profile "${String(requestedName)}" is not available to this caller` }
  if (profile === 'all') return { ...base, text: 'no profile applies to the caller' }
  return { ...base, text: `the caller uses the profile "${profile.name}"`, rule: `/profiles/${profile.name}` }
}

/** Lists pass, as they are shared by all profiles and filtered above. */
function guardDispatch(next: Dispatch, name: string, findProfile: FindProfile): Dispatch {
  return call => {
    const profile = findProfile(call.exchange.session)
    const isHidden = profile === 'none' || (profile !== 'all' && !profile.hasUpstream(name))
    if (!isHidden || METHODS.get(call.method)?.to === 'list') return next(call)
    return Promise.resolve(refuse(RPC.methodNotFound, `Method not found: ${call.method}`))
  }
}

type ProfilesConfig = NonNullable<Config['profiles']>
type ProfileSpec = ProfilesConfig[string]
type ProfileSection = 'tools' | 'prompts' | 'resources'

/** A compiled profile. */
interface ProfileView {
  readonly name: string
  readonly instructions: string | undefined
  hasUpstream(upstream: string): boolean
  isVisible(this: void, entry: CatalogEntry): boolean
  /** Renames the entry with the profile's prefix. */
  renameEntry(entry: CatalogEntry): CatalogEntry
}

/** Finds the viewer's profile: `all` if none applies, `none` if the requested one is not allowed. */
type FindProfile = (viewer: ListCaller) => ProfileView | 'all' | 'none'

/** Compiles the profiles once, as each request looks them up. */
function compileProfiles(options: ProfilesConfig, config: Config): FindProfile {
  const profiles = new Map(
    Object.entries(options).map(([name, spec]) => [name, createProfileView(name, spec, config)] as const),
  )
  const getProfileName = createProfileLookup({ profiles: options, auth: config.auth })
  return viewer => {
    const name = getProfileName(viewer)
    const profile = name === undefined ? undefined : profiles.get(name)
    return profile ?? (viewer.profile === undefined ? 'all' : 'none')
  }
}

function createProfileView(name: string, spec: ProfileSpec, config: Config): ProfileView {
  const upstreams = spec.upstreams === undefined ? undefined : new Set(spec.upstreams)
  const hasUpstream = (upstream: string): boolean => upstreams?.has(upstream) !== false
  const permits: Record<ProfileSection, (name: string) => boolean> = {
    tools: compilePermits(spec.tools),
    prompts: compilePermits(spec.prompts),
    resources: compilePermits(spec.resources, compileAllowedUris, compileForbiddenUris),
  }
  const prefixes = listPrefixes(spec, config)
  return {
    name,
    instructions: spec.instructions,
    hasUpstream,
    isVisible: ({ kind, upstream, exposed }) => hasUpstream(upstream) && permits[LISTS[kind].capability](exposed),
    renameEntry: entry => applyPrefix(entry, prefixes.get(entry.upstream)),
  }
}

function compilePermits(
  { allow, deny = [] }: NonNullable<ProfileSpec['tools']> = {},
  allows = compileGlobs,
  forbids = compileGlobs,
): (name: string) => boolean {
  const isAllowed = allow === undefined ? () => true : allows(allow)
  const isDenied = forbids(deny)
  return name => isAllowed(name) && !isDenied(name)
}

interface Prefix {
  readonly from: string
  readonly to: string
}

function listPrefixes({ prefixes = {} }: ProfileSpec, { upstreams }: Config): ReadonlyMap<string, Prefix> {
  const entries = Object.entries(prefixes).map(
    ([name, to]) => [name, { from: upstreams[name]?.prefix ?? `${name}__`, to }] as const,
  )
  return new Map(entries)
}

/** A name that filters have replaced has no prefix. */
function applyPrefix(entry: CatalogEntry, prefix: Prefix | undefined): CatalogEntry {
  if (prefix === undefined || LISTS[entry.kind].capability === 'resources') return entry
  if (!entry.exposed.startsWith(prefix.from)) return entry
  return { ...entry, exposed: prefix.to + entry.exposed.slice(prefix.from.length) }
}
