/** The tables of BENCHMARKS.md, each from its part of a result; empty where that was not measured. */
import type { SubjectResult, WorkResult } from '../measure.ts'
import type { Notes } from './notes.ts'
import type { ProfileResult } from '../profile/profiles.ts'
import type { Result } from './result.ts'
import type { SoakResult } from '../soak.ts'
import { HEAD, markdown, short, subjectCells, times, whole } from './table.ts'

const GROWTH = /^grow-/
const FUNCTIONS = 8
/** Parts below this are summed up. */
const LEAST_SHARE = 0.01

/** Every work but those that have a section of their own. */
export function callTables({ works }: Result): readonly string[] {
  const shown = works.filter(({ key }) => !GROWTH.test(key) && key !== 'alone')
  const titles = [...new Set(shown.map(({ title }) => title))]
  return titles.map(title => {
    const rows = shown.filter(work => work.title === title)
    return `### ${title}\n\n${callTable(rows)}`
  })
}

function callTable(works: readonly WorkResult[]): string {
  const rows = works.flatMap(({ concurrency, subjects }) =>
    subjects.map((subject, nth) => [
      nth === 0 ? String(concurrency) : '',
      ...subjectCells(subject, subjects),
    ]),
  )
  return markdown(['in flight', ...HEAD.slice(1)], rows)
}

/** All that each plugin adds to one call. */
export function aloneTable({ works }: Result): string {
  const subjects = works.find(({ key }) => key === 'alone')?.subjects ?? []
  const bare = cpuOf('gateway, 0 plugins', subjects)
  const raw = cpuOf('raw', subjects)
  const rows = subjects.flatMap(({ label }) => {
    const cpu = cpuOf(label, subjects)
    if (cpu === undefined || label === 'raw') return []
    const more = bare === undefined ? '' : (cpu - bare).toFixed(1)
    return [[label, short(cpu), label.startsWith('gateway, 0') ? '' : more, times(cpu, raw)]]
  })
  return rows.length === 0
    ? ''
    : markdown(['small call, HTTP→HTTP, 16', 'CPU µs', 'more than 0 plugins', 'CPU ÷ raw'], rows)
}

function cpuOf(label: string, subjects: readonly SubjectResult[]): number | undefined {
  const subject = subjects.find(result => result.label === label)
  return subject !== undefined && 'measured' in subject ? subject.measured.cpu : undefined
}

const PEERED = ['mcp-hub', 'mcp-proxy', 'supergateway', 'mcp-remote', 'SDK v1 gateway', 'SDK v2 gateway']
const OURS = ['direct', 'raw', 'nginx', 'gateway, 0 plugins', 'gateway, all plugins']

/** CPU per call and requests per second of everybody, 16 in flight. */
export function peersTable({ works }: Result): string {
  const shown = works.filter(
    ({ concurrency, subjects }) => concurrency === 16 && subjects.some(({ label }) => PEERED.includes(label)),
  )
  const labels = [...OURS, ...PEERED]
  const rows = shown.map(({ title, subjects }) => [title, ...labels.map(label => cellOf(label, subjects))])
  return rows.length === 0 ? '' : markdown(['CPU µs · requests/s', ...labels], rows)
}

function cellOf(label: string, subjects: readonly SubjectResult[]): string {
  const subject = subjects.find(result => result.label === label)
  if (subject === undefined) return ''
  if ('failed' in subject) return 'fails'
  const { cpu, rps } = subject.measured
  return `${short(cpu)} · ${whole(rps)}`
}

/** One table over the wirings in microseconds, and the heaviest functions of each. */
export function profileSections({ profiles, works }: Result, notes: Notes): readonly string[] {
  if (profiles.length === 0) return []
  const costs = profiles.map(profile => costOf(profile, works))
  const names = [...new Set(profiles.flatMap(({ parts }) => parts.filter(big).map(({ name }) => name)))]
  const rows = names.map(name => [
    name,
    ...profiles.map(({ parts }, nth) =>
      micros(parts.find(part => part.name === name)?.share ?? 0, costs[nth] ?? 0),
    ),
  ])
  const small = profiles.map(({ parts }, nth) => {
    const rest = parts.filter(part => !names.includes(part.name)).reduce((sum, { share }) => sum + share, 0)
    return micros(rest, costs[nth] ?? 0)
  })
  const table = markdown(
    ['µs of CPU per call', ...profiles.map(({ title }) => title)],
    [['all of it', ...costs.map(cost => short(cost))], ...rows, ['everything else', ...small]],
  )
  return [table, ...profiles.map((profile, nth) => functionsTable(profile, costs[nth] ?? 0, notes))]
}

function big({ share }: { share: number }): boolean {
  return share >= LEAST_SHARE
}

/** The cost without the profiler, where it was measured. */
function costOf({ wiring, cpu }: ProfileResult, works: readonly WorkResult[]): number {
  const work = works.find(({ key, concurrency }) => key === `small-${wiring}` && concurrency === 16)
  return cpuOf('gateway, all plugins', work?.subjects ?? []) ?? cpu ?? Number.NaN
}

function functionsTable({ title, wiring, functions }: ProfileResult, cost: number, notes: Notes): string {
  const rows = functions.slice(0, FUNCTIONS).map(({ name, share }) => [`\`${name}\``, micros(share, cost)])
  const note = notes.of(`profile ${wiring}`)
  return [`### ${title}`, note, markdown(['function, by its own time', 'µs'], rows)]
    .filter(part => part !== '')
    .join('\n\n')
}

function micros(share: number, cost: number): string {
  return share === 0 ? '–' : (share * cost).toFixed(share * cost >= 10 ? 1 : 2)
}

export function startRows({ starts }: Result): string {
  const bare = starts.find(({ key }) => key === 'node')?.median
  const rows = starts.map(({ title, median, best }) => [
    title,
    short(median),
    short(best),
    times(median, bare),
  ])
  return rows.length === 0 ? '' : markdown(['command', 'median ms', 'best ms', '÷ node -e 0'], rows)
}

export function memoryRows({ memory }: Result): string {
  const rows = memory.map(({ title, unit, value }) => [title, `${short(value)} ${unit}`])
  return rows.length === 0 ? '' : markdown(['resident memory', ''], rows)
}

/** One sample for each minute. */
export function soakTable(soak: SoakResult | undefined): string {
  if (soak === undefined) return ''
  const minutes = Array.from({ length: Math.floor(soak.ms / 60_000) + 1 }, (_, minute) => minute)
  const at = (minute: number): string =>
    short(soak.samples.find(([when]) => when >= minute)?.[1] ?? soak.samples.at(-1)?.[1])
  const words = `A soak of ${Math.round(soak.ms / 60_000)} minutes, ${whole(soak.calls)} calls (${soak.commit}, ${soak.date}): ${soak.slope.toFixed(2)} MB per minute over the second half.`
  return `${words}\n\n${markdown(['minute', ...minutes.map(String)], [['RSS MB', ...minutes.map(at)]])}`
}

export function roadRows({ road }: Result): string {
  return road.length === 0
    ? ''
    : markdown(
        ['work', 'µs'],
        road.map(({ title, micros }) => [title.trim(), short(micros)]),
      )
}
