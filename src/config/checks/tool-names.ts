import type { Report } from '../../util/finding.ts'
import { appendPointer } from '../../util/finding.ts'
import { compileGlobs } from '../../util/globs.ts'
import { readList, readMap, readText, readValue } from '../../util/plain-data.ts'
import { findSimilar } from '../../util/suggest.ts'
import type { SeenKind } from '../keys.gen.ts'
import { ADDED_TOOLS, SEEN_PATHS, TOOL_PATHS } from '../keys.gen.ts'
import { visitPath } from './globs.ts'

type NameSection = 'tools' | 'prompts'

/** Original names per upstream; absent if unknown. */
type KnownNames = ReadonlyMap<string, Readonly<Partial<Record<NameSection, readonly string[]>>>>

/** A configuration value that refers to names, and the valid names. */
interface NameReference {
  readonly pointer: string
  readonly value: unknown
  readonly names: readonly string[]
  readonly subject: string
  /** Exempts globs that may match something without a known list. */
  readonly isExempt?: (glob: string) => boolean
}

/** Exposed names by kind; absent if not fully known. */
type VisibleNames = Partial<Record<NameSection, readonly string[]>>

const SECTIONS: readonly NameSection[] = ['tools', 'prompts']
const GLOB_KEYS = ['allow', 'deny', 'override'] as const
const MAPS = ['rename', 'describe', 'timeout'] as const

/** Warns about rules that match no listed tool or prompt, likely typos. */
export function checkUnmatched(config: unknown, knownNames: KnownNames, report: Report): void {
  for (const [upstream, lists] of knownNames)
    for (const section of SECTIONS) {
      const names = lists[section]
      if (names !== undefined) checkOwn(config, upstream, section, names, report)
    }
  const visible: VisibleNames = {}
  for (const section of SECTIONS) {
    const names = listExposedNames(config, section, knownNames)
    if (names !== undefined) visible[section] = checkShared(config, section, names, report)
  }
  for (const [path, kinds] of Object.entries(SEEN_PATHS)) checkSeen(config, path, kinds, visible, report)
}

/** Upstream sections use the upstream's original names. */
function checkOwn(
  config: unknown,
  upstream: string,
  section: NameSection,
  names: readonly string[],
  report: Report,
): void {
  const spec = readMap(config, 'upstreams', upstream)
  const pointer = appendPointer('/upstreams', upstream)
  const reference = { names, subject: `no ${section.slice(0, -1)} of "${upstream}"` }
  checkFilter({ ...reference, pointer: `${pointer}/${section}`, value: spec[section] }, report)
  if (section !== 'tools') return
  for (const path of TOOL_PATHS) {
    const keys = path.split('/').slice(3)
    checkGlobs({ ...reference, pointer: `${pointer}/${keys.join('/')}`, value: readValue(spec, ...keys) }, report)
  }
}

/** Exposed names of all upstreams; undefined if any list is unknown. */
function listExposedNames(config: unknown, section: NameSection, knownNames: KnownNames): string[] | undefined {
  const names: string[] = []
  for (const [upstream, spec] of Object.entries(readMap(config, 'upstreams'))) {
    if (readMap({ spec }, 'spec')['enabled'] === false) continue
    const own = knownNames.get(upstream)?.[section]
    if (own === undefined) return undefined
    names.push(...listExposed(config, upstream, section, own))
  }
  return names
}

/** Checks `filters` and profiles, which use exposed names. Returns all names, including renamed ones. */
function checkShared(config: unknown, section: NameSection, names: readonly string[], report: Report): string[] {
  const filtered = [...names, ...listRenamed(readMap(config, 'filters', section), names)]
  const subject = describeMissing([section])
  const filters = { pointer: `/filters/${section}`, value: readMap(config, 'filters', section) }
  checkFilter({ ...filters, names, subject }, report)
  for (const [profile, spec] of Object.entries(readMap(config, 'profiles'))) {
    const pointer = `${appendPointer('/profiles', profile)}/${section}`
    const value = readMap({ spec }, 'spec', section)
    checkFilter({ pointer, value, names: filtered, subject }, report)
  }
  return section === 'tools' ? [...filtered, ...ADDED_TOOLS] : filtered
}

/** Checks rules that use exposed names. */
function checkSeen(
  config: unknown,
  path: string,
  kinds: readonly SeenKind[],
  visible: VisibleNames,
  report: Report,
): void {
  const sections = SECTIONS.filter(section => kinds.includes(section))
  const lists = sections.map(section => visible[section])
  const names = lists.flatMap(list => list ?? [])
  if (lists.includes(undefined)) return
  const isExempt = kinds.includes('resources') ? canBeUri : undefined
  visitPath(config, path, (value, pointer) => {
    if (isSentElsewhere(config, pointer)) return
    const at = { pointer, value, names, subject: describeMissing(sections), ...(isExempt && { isExempt }) }
    if (typeof value === 'string') checkGlob(value, pointer, at, report)
    else checkGlobs(at, report)
  })
}

/** True for conditions of a route with `to`: its upstream may accept unlisted names. */
function isSentElsewhere(config: unknown, pointer: string): boolean {
  const [, section, index = ''] = pointer.split('/')
  const route = section === 'routes' ? readList(config, 'routes')[Number(index)] : undefined
  return readMap({ route }, 'route')['to'] !== undefined
}

/** True if a glob may match a URI. */
function canBeUri(glob: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(glob) || /^([a-z][a-z0-9+.-]*)?[*?[{\\]/i.test(glob)
}

function describeMissing(sections: readonly NameSection[]): string {
  return `no ${sections.map(section => section.slice(0, -1)).join(' or ')} of any upstream`
}

function listExposed(config: unknown, upstream: string, section: NameSection, own: readonly string[]): string[] {
  const spec = readMap(config, 'upstreams', upstream)
  const prefix = readText(spec, 'prefix') ?? `${upstream}__`
  return [...own, ...listRenamed(spec[section], own)].map(name => prefix + name)
}

/** New names from a filter's `rename`. */
function listRenamed(filter: unknown, names: readonly string[]): string[] {
  const rename = readMap({ filter }, 'filter', 'rename')
  return names.flatMap(name => (Object.hasOwn(rename, name) ? [String(rename[name])] : []))
}

function checkFilter(reference: NameReference, report: Report): void {
  const filter = readMap({ filter: reference.value }, 'filter')
  for (const key of GLOB_KEYS)
    checkGlobs({ ...reference, pointer: `${reference.pointer}/${key}`, value: filter[key] }, report)
  for (const key of MAPS)
    for (const name of Object.keys(readMap(filter, key)))
      if (!reference.names.includes(name))
        reportUnmatched(name, appendPointer(`${reference.pointer}/${key}`, name), reference, report)
}

/** Checks the items of a list, or the keys of a map. */
function checkGlobs(reference: NameReference, report: Report): void {
  const { pointer, value } = reference
  const globs = Array.isArray(value)
    ? Object.entries(value.map(String))
    : Object.keys(readMap({ value }, 'value')).map(glob => [glob, glob] as const)
  for (const [key, glob] of globs) checkGlob(glob, appendPointer(pointer, key), reference, report)
}

function checkGlob(glob: string, pointer: string, reference: NameReference, report: Report): void {
  if (reference.isExempt?.(glob) === true || reference.names.some(compileGlobs(glob))) return
  reportUnmatched(glob, pointer, reference, report)
}

function reportUnmatched(pattern: string, pointer: string, { names, subject }: NameReference, report: Report): void {
  const suggestion = findSimilar(pattern, names.filter(isPlainName))
  report({
    pointer,
    message: `"${pattern}" matches ${subject}`,
    hint: suggestion === undefined ? undefined : `did you mean "${suggestion}"?`,
    severity: 'warning',
  })
}

/** Excludes names with characters that could control a terminal. */
function isPlainName(name: string): boolean {
  return /^[\w./-]{1,128}$/.test(name)
}
