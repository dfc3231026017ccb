import { globs } from '../../util/globs.ts'
import { listAt, mapAt, textAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import { suggest } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'

type Section = 'tools' | 'prompts'

/** What each upstream lists by its own names; a list that is not known is absent. */
export type KnownNames = ReadonlyMap<string, Readonly<Partial<Record<Section, readonly string[]>>>>

/** What one part of the configuration says of names, and what they may be. */
interface Said {
  readonly pointer: string
  readonly value: unknown
  readonly section: Section
  readonly names: readonly string[]
  readonly whose: string
}

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
  for (const section of SECTIONS) checkShared(config, section, known, report)
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
  const said = { section, names, whose: `no ${section.slice(0, -1)} of "${upstream}"` }
  checkFilter({ ...said, pointer: `${pointer}/${section}`, value: spec[section] }, report)
  if (section !== 'tools') return
  const retried = { ...said, pointer: `${pointer}/retry/tools`, value: listAt(spec, 'retry', 'tools') }
  checkGlobs(retried, report)
  const cached = { ...said, pointer: `${pointer}/cache/tools`, value: mapAt(spec, 'cache', 'tools') }
  checkKeys(cached, report)
}

/** `filters` and profiles speak of the names that clients see: those of all upstreams. */
function checkShared(config: unknown, section: Section, known: KnownNames, report: Report): void {
  const upstreams = Object.entries(mapAt(config, 'upstreams')).filter(
    ([, spec]) => mapAt({ spec }, 'spec')['enabled'] !== false,
  )
  const names: string[] = []
  for (const [upstream] of upstreams) {
    const own = known.get(upstream)?.[section]
    // What is not known yet may have any name.
    if (own === undefined) return
    names.push(...exposed(config, upstream, section, own))
  }
  const filtered = [...names, ...renamed(mapAt(config, 'filters', section), names)]
  const whose = `no ${section.slice(0, -1)} of any upstream`
  const filters = { pointer: `/filters/${section}`, value: mapAt(config, 'filters', section) }
  checkFilter({ ...filters, section, names, whose }, report)
  for (const [profile, spec] of Object.entries(mapAt(config, 'profiles'))) {
    const pointer = `${pointerTo('/profiles', profile)}/${section}`
    const value = mapAt({ spec }, 'spec', section)
    checkFilter({ pointer, value, section, names: filtered, whose }, report)
  }
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
}

function checkGlobs(said: Said, report: Report): void {
  if (!Array.isArray(said.value)) return
  said.value.forEach((glob: unknown, i) => {
    if (!said.names.some(globs(String(glob)))) unmatched(String(glob), `${said.pointer}/${i}`, said, report)
  })
}

function checkKeys(said: Said, report: Report): void {
  for (const glob of Object.keys(mapAt({ map: said.value }, 'map')))
    if (!said.names.some(globs(glob))) unmatched(glob, pointerTo(said.pointer, glob), said, report)
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
