/** The tables of BENCHMARKS.md, each from its part of a result; empty where that was not measured. */
import type { Cost } from '../alone/cost.ts'
import { limitOf } from '../alone/limits.ts'
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

/** All that each plugin adds to one call: without any I/O, and over sockets. */
export function aloneTable({ works, plugins = [] }: Result): string {
  const subjects = works.find(({ key }) => key === 'alone')?.subjects ?? []
  const bare = cpuOf(BARE, subjects)
  const raw = cpuOf('raw', subjects)
  const own = new Map(plugins.map(plugin => [plugin.label, plugin]))
  const labels = new Set([BARE, ...own.keys(), ...subjects.map(({ label }) => label)])
  labels.delete('raw')
  const rows = [...labels].flatMap(label => {
    const inProcess = own.get(label)
    const sockets = socketCells(cpuOf(label, subjects), label === BARE ? undefined : bare, raw)
    if (inProcess === undefined && sockets[0] === '') return []
    const limit = limitOf(label)
    const atMost = limit === undefined ? '' : `≤ ${limit}`
    return [[label, atMost, costCell(inProcess?.pipe), costCell(inProcess?.http), ...sockets]]
  })
  const head = ['small call, 16 in flight', 'at most', 'in process, pipe: µs', 'in process, HTTP: µs']
  const overSockets = ['over sockets: CPU µs', 'more than 0 plugins', 'CPU ÷ raw']
  return rows.length === 0 ? '' : markdown([...head, ...overSockets], rows)
}

function socketCells(cpu: number | undefined, bare: number | undefined, raw: number | undefined): string[] {
  if (cpu === undefined) return ['', '', '']
  return [short(cpu), bare === undefined ? '' : (cpu - bare).toFixed(1), times(cpu, raw)]
}

/** The undisturbed rounds, and the median of all. */
function costCell(cost: Cost | undefined): string {
  return cost === undefined ? '' : `${cost.least.toFixed(1)} (${cost.more.toFixed(1)})`
}

const BARE = 'gateway, 0 plugins'

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
