import { type Finding, type Report, pointerTo } from '../../util/finding.ts'
import { globs } from '../../util/globs.ts'
import { listAt, mapAt, textAt, valueAt } from '../../util/plain-data.ts'
import { suggest } from '../../util/suggest.ts'
import { ADDED_TOOLS, SEEN_PATHS, type SeenKind, TOOL_PATHS } from '../keys.gen.ts'
import { visitAt } from './globs.ts'

type Section = 'tools' | 'prompts'

/** Names that each upstream uses itself; a list that is not known is absent. */
type KnownNames = ReadonlyMap<string, Readonly<Partial<Record<Section, readonly string[]>>>>

/** Part of the configuration that speaks of names, and the names that it may use. */
interface Said {
  readonly pointer: string
  readonly value: unknown
  readonly names: readonly string[]
  readonly whose: string
  /** Globs that may be about something else, of which no list is known. */
  readonly isExempt?: (glob: string) => boolean
}

/** Names that clients see, by kind; those of a kind that is not known whole are absent. */
type Seen = Partial<Record<Section, readonly string[]>>

const SECTIONS: readonly Section[] = ['tools', 'prompts']
const LISTS = ['allow', 'deny'] as const
const MAPS = ['rename', 'describe', 'timeout'] as const

/** Reports what is said of tools and prompts that no server lists: mostly a name that was mistyped, and stays open. */
export function checkUnmatched(config: unknown, known: KnownNames, report: Report): void {
  for (const [upstream, lists] of known)
    for (const section of SECTIONS) {
      const names = lists[section]
      if (names !== undefined) checkOwn(config, upstream, section, names, report)
    }
  const seen: Seen = {}
  for (const section of SECTIONS) {
    const names = exposedBy(config, section, known)
    if (names !== undefined) seen[section] = checkShared(config, section, names, report)
  }
  for (const [path, kinds] of Object.entries(SEEN_PATHS)) checkSeen(config, path, kinds, seen, report)
}

/** Keys of one upstream speak of its own names. */
function checkOwn(
  config: unknown,
  upstream: string,
  section: Section,
  names: readonly string[],
  report: Report,
): void {
  const spec = mapAt(config, 'upstreams', upstream)
  const pointer = pointerTo('/upstreams', upstream)
  const said = { names, whose: `no ${section.slice(0, -1)} of "${upstream}"` }
  checkFilter({ ...said, pointer: `${pointer}/${section}`, value: spec[section] }, report)
  if (section !== 'tools') return
  for (const path of TOOL_PATHS) {
    const keys = path.split('/').slice(3)
    const at = { ...said, pointer: `${pointer}/${keys.join('/')}`, value: valueAt(spec, ...keys) }
    if (Array.isArray(at.value)) checkGlobs(at, report)
    else checkKeys(at, report)
  }
}

/** Names under which all upstreams offer theirs; undefined while one list is not known, as its names may be any. */
function exposedBy(config: unknown, section: Section, known: KnownNames): string[] | undefined {
  const names: string[] = []
  for (const [upstream, spec] of Object.entries(mapAt(config, 'upstreams'))) {
    if (mapAt({ spec }, 'spec')['enabled'] === false) continue
    const own = known.get(upstream)?.[section]
    if (own === undefined) return undefined
    names.push(...exposed(config, upstream, section, own))
  }
  return names
}

/** Checks `filters` and profiles, which speak of the names that clients see. Returns those, and the ones behind the filters. */
function checkShared(config: unknown, section: Section, names: readonly string[], report: Report): string[] {
  const filtered = [...names, ...renamed(mapAt(config, 'filters', section), names)]
  const whose = noneOf([section])
  const filters = { pointer: `/filters/${section}`, value: mapAt(config, 'filters', section) }
  checkFilter({ ...filters, names, whose }, report)
  for (const [profile, spec] of Object.entries(mapAt(config, 'profiles'))) {
    const pointer = `${pointerTo('/profiles', profile)}/${section}`
    const value = mapAt({ spec }, 'spec', section)
    checkFilter({ pointer, value, names: filtered, whose }, report)
  }
  return section === 'tools' ? [...filtered, ...ADDED_TOOLS] : filtered
}

/** Checks what speaks of tools, prompts and resources by the names that clients see. */
function checkSeen(
  config: unknown,
  path: string,
  kinds: readonly SeenKind[],
  seen: Seen,
  report: Report,
): void {
  const sections = SECTIONS.filter(section => kinds.includes(section))
  const lists = sections.map(section => seen[section])
  const names = lists.flatMap(list => list ?? [])
  if (lists.includes(undefined)) return
  const isExempt = kinds.includes('resources') ? mayBeUri : undefined
  visitAt(config, path, (value, pointer) => {
    if (isSentElsewhere(config, pointer)) return
    const at = { pointer, value, names, whose: noneOf(sections), ...(isExempt && { isExempt }) }
    if (Array.isArray(value)) checkGlobs(at, report)
    else if (typeof value === 'string') checkGlob(value, pointer, at, report)
    else checkKeys(at, report)
  })
}

/** True for the conditions of a route with a `to`: its server may answer to names that it does not list. */
function isSentElsewhere(config: unknown, pointer: string): boolean {
  const [, section, index = ''] = pointer.split('/')
  const route = section === 'routes' ? listAt(config, 'routes')[Number(index)] : undefined
  return mapAt({ route }, 'route')['to'] !== undefined
}

/** True for a glob that may match a URI: nothing before its first wildcard keeps it from being one. */
function mayBeUri(glob: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(glob) || /^([a-z][a-z0-9+.-]*)?[*?[{\\]/i.test(glob)
}

function noneOf(sections: readonly Section[]): string {
  return `no ${sections.map(section => section.slice(0, -1)).join(' or ')} of any upstream`
}

function exposed(config: unknown, upstream: string, section: Section, own: readonly string[]): string[] {
  const spec = mapAt(config, 'upstreams', upstream)
  const prefix = textAt(spec, 'prefix') ?? `${upstream}__`
  return [...own, ...renamed(spec[section], own)].map(name => prefix + name)
}

/** The other names that a filter gives. */
function renamed(filter: unknown, names: readonly string[]): string[] {
  const rename = mapAt({ filter }, 'filter', 'rename')
  return names.flatMap(name => (Object.hasOwn(rename, name) ? [String(rename[name])] : []))
}

function checkFilter(said: Said, report: Report): void {
  const filter = mapAt({ filter: said.value }, 'filter')
  for (const key of LISTS)
    checkGlobs({ ...said, pointer: `${said.pointer}/${key}`, value: filter[key] }, report)
  for (const key of MAPS)
    for (const name of Object.keys(mapAt(filter, key)))
      if (!said.names.includes(name)) unmatched(name, pointerTo(`${said.pointer}/${key}`, name), said, report)
  checkKeys({ ...said, pointer: `${said.pointer}/override`, value: filter.override }, report)
}

function checkGlobs(said: Said, report: Report): void {
  if (!Array.isArray(said.value)) return
  said.value.forEach((glob: unknown, i) => checkGlob(String(glob), `${said.pointer}/${i}`, said, report))
}

function checkKeys(said: Said, report: Report): void {
  for (const glob of Object.keys(mapAt({ map: said.value }, 'map')))
    checkGlob(glob, pointerTo(said.pointer, glob), said, report)
}

function checkGlob(glob: string, pointer: string, said: Said, report: Report): void {
  if (said.isExempt?.(glob) === true || said.names.some(globs(glob))) return
  unmatched(glob, pointer, said, report)
}

function unmatched(what: string, pointer: string, { names, whose }: Said, report: Report): void {
  const meant = suggest(what, names.filter(isPlainName))
  report({
    pointer,
    message: `"${what}" matches ${whose}`,
    hint: meant === undefined ? undefined : `did you mean "${meant}"?`,
    severity: 'warning',
  })
}

/** Names are the server's: what could steer a terminal is not repeated. */
function isPlainName(name: string): boolean {
  return /^[\w./-]{1,128}$/.test(name)
}

/** Length of a tool's name that the models behind most clients accept. */
const LONGEST = 64
/** More are counted. */
const MOST = 20

/** Tools that clients will see under a name too long for them; `known` has the names that each server uses itself. */
export function checkLongNames(
  config: unknown,
  known: ReadonlyMap<string, { readonly tools?: readonly string[] }>,
  report: (finding: Finding) => void,
): void {
  let count = 0
  for (const [upstream, { tools = [] }] of known)
    for (const tool of tools) {
      const name = exposedName(config, upstream, tool)
      if (name === undefined || name.length <= LONGEST || ++count > MOST) continue
      report(finding(upstream, tool, name))
    }
}

function finding(upstream: string, tool: string, name: string): Finding {
  return {
    pointer: pointerTo('/upstreams', upstream),
    message: `tool "${tool.slice(0, 200)}" has a name of ${name.length} characters for clients, and many take ${LONGEST} at most`,
    hint: `those are shown a shorter one, which gateway fit prints; to choose it, set upstreams.${upstream}.prefix, or upstreams.${upstream}.tools.rename`,
    severity: 'warning',
  }
}

/** The name that clients see; undefined where a filter hides the tool. */
function exposedName(config: unknown, upstream: string, tool: string): string | undefined {
  const spec = mapAt(config, 'upstreams', upstream)
  const filter = mapAt(spec, 'tools')
  if (isHidden(filter, tool)) return undefined
  const name = (textAt(spec, 'prefix') ?? `${upstream}__`) + (textAt(filter, 'rename', tool) ?? tool)
  const all = mapAt(config, 'filters', 'tools')
  return isHidden(all, name) ? undefined : (textAt(all, 'rename', name) ?? name)
}

function isHidden(filter: unknown, name: string): boolean {
  const fits = (glob: unknown): boolean => globs(String(glob))(name)
  const allow = listAt(filter, 'allow')
  return (allow.length > 0 && !allow.some(fits)) || listAt(filter, 'deny').some(fits)
}
