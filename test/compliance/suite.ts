import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { parse, stringify } from 'yaml'

/** The revisions whose requirement sets the suite has frozen. */
export const REVISIONS = ['2025-11-25', '2026-07-28']

/** Outcome of one scenario. */
export interface Row {
  scenario: string
  passed: number
  /** The ids of the checks that failed or warned, each with what it said. */
  failures: { id: string; message: string }[]
  scored: boolean
  expected: boolean
}

/** Outcome of one requirement set. `ok` is the suite's own verdict against the baseline. */
export interface Report {
  revision: string
  ok: boolean
  rows: Row[]
  output: string
}

interface Check {
  id: string
  status: string
  errorMessage?: string
}

const PACKAGE = packageDirectory()

/** All that may fail before a fixture of one era, or of both (`dual`), each with its reason. */
export function baselineOf(era: string): string {
  return fileURLToPath(new URL(`expected-failures.${era}.yml`, import.meta.url))
}

/** Runs the server scenarios of `revision` at `url`. Without a baseline no failure is expected. */
export async function runSuite(url: string, revision: string, baseline?: string): Promise<Report> {
  const results = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    const args = ['server', '--url', url, '--requirements', revision, '--output-dir', results]
    if (baseline !== undefined) {
      const own = `${results}.yml`
      await writeFile(own, stringify({ server: await baselineFor(revision, baseline) }))
      args.push('--expected-failures', own)
    }
    const { ok, output } = await run(join(PACKAGE, 'dist', 'index.js'), args)
    const scored = await scoredScenarios(revision)
    const expected = await expectedScenarios(revision, baseline)
    const rows = await readRows(results, scored, expected)
    if (rows.length === 0) throw new Error(`the conformance suite ran nothing:\n${output}`)
    return { revision, ok, rows, output }
  } finally {
    await Promise.all([rm(results, { recursive: true, force: true }), rm(`${results}.yml`, { force: true })])
  }
}

/** Runs one scenario at `url`, also one of an extension, which no requirement set has. */
export async function runScenario(
  url: string,
  scenario: string,
  version: string,
): Promise<{ ok: boolean; output: string }> {
  const options = ['--url', url, '--scenario', scenario, '--spec-version', version, '--force']
  return run(join(PACKAGE, 'dist', 'index.js'), ['server', ...options])
}

/** The report as a table, one line per scenario, with what failed below it. */
export function tableOf({ revision, rows }: Report): string {
  const lines = rows.flatMap(row => [lineOf(row), ...failuresOf(row)])
  const scored = rows.filter(row => row.scored)
  const clean = scored.filter(row => row.failures.length === 0)
  return [`${revision}: ${clean.length} of ${scored.length} scored scenarios pass`, ...lines].join('\n')
}

/** Two reports on one requirement set side by side: the server examined directly, and through the gateway. */
export function sideBySide(direct: Report, through: Report): string {
  const rows = through.rows.map(row => {
    const own = direct.rows.find(({ scenario }) => scenario === row.scenario)
    return `  ${scoreOf(own).padStart(7)} ${scoreOf(row).padStart(8)}  ${row.scenario}${row.scored ? '' : ' (not scored)'}`
  })
  const sums = `  ${sumOf(direct).padStart(7)} ${sumOf(through).padStart(8)}  checks of scored scenarios: passed/failed`
  return [through.revision, '   direct  through  scenario', ...rows, sums].join('\n')
}

function scoreOf(row: Row | undefined): string {
  return row === undefined ? '-' : `${row.passed}/${row.passed + row.failures.length}`
}

function sumOf({ rows }: Report): string {
  const scored = rows.filter(row => row.scored)
  const passed = scored.reduce((sum, row) => sum + row.passed, 0)
  return `${passed}/${scored.reduce((sum, row) => sum + row.failures.length, 0)}`
}

/** All that the suite itself said about the baseline: unexpected failures and stale entries. */
export function verdictOf({ output }: Report): string {
  return /(Unexpected failures|Stale baseline)[^]*$/.exec(output)?.[0] ?? ''
}

function lineOf(row: Row): string {
  const state =
    row.failures.length === 0 ? 'passed' : row.scored ? (row.expected ? 'expected' : 'FAILED') : 'not scored'
  const count = `${row.passed}/${row.passed + row.failures.length}`
  return `  ${state.padEnd(10)} ${count.padStart(6)}  ${row.scenario}`
}

function failuresOf(row: Row): string[] {
  if (!row.scored) return []
  return row.failures.map(({ id, message }) => `${' '.repeat(21)}${id}: ${message.slice(0, 200)}`)
}

async function readRows(directory: string, scored: Set<string>, expected: Set<string>): Promise<Row[]> {
  const folders = await readdir(directory)
  const rows = folders.map(async folder => {
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
    const checks = await readChecks(join(directory, folder, 'checks.json'))
    const failures = checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, errorMessage }) => ({ id, message: errorMessage ?? '' }))
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length
    return { scenario, passed, failures, scored: scored.has(scenario), expected: expected.has(scenario) }
  })
  const order = [...scored]
  const rank = ({ scenario }: Row) => (order.includes(scenario) ? order.indexOf(scenario) : order.length)
  return (await Promise.all(rows)).sort((a, b) => rank(a) - rank(b) || a.scenario.localeCompare(b.scenario))
}

// A scenario that the suite could not finish leaves its folder empty.
async function readChecks(file: string): Promise<Check[]> {
  const written = await readFile(file, 'utf8').catch(() => undefined)
  if (written !== undefined) return JSON.parse(written) as Check[]
  return [{ id: 'unfinished', status: 'FAILURE', errorMessage: 'the scenario did not finish' }]
}

async function scoredScenarios(revision: string): Promise<Set<string>> {
  const file = join(PACKAGE, 'requirements', `${revision}.yaml`)
  return new Set((parse(await readFile(file, 'utf8')) as { server: string[] }).server)
}

async function expectedScenarios(revision: string, baseline?: string): Promise<Set<string>> {
  const entries = baseline === undefined ? [] : await baselineFor(revision, baseline)
  return new Set(entries.map(entry => entry.split(':')[0] ?? entry))
}

/** A baseline by revision: an entry for a scenario that a revision does not have would be stale there. */
async function baselineFor(revision: string, file: string): Promise<readonly string[]> {
  const entries = parse(await readFile(file, 'utf8')) as Record<string, string[] | null> | null
  return entries?.[revision] ?? []
}

function run(program: string, args: string[]): Promise<{ ok: boolean; output: string }> {
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: 240_000 }
  return new Promise(resolve => {
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stripVTControlCharacters(stdout + stderr) }),
    )
  })
}

function packageDirectory(): string {
  const manifest = findPackageJSON('@modelcontextprotocol/conformance', import.meta.url)
  if (!manifest) throw new Error('@modelcontextprotocol/conformance is not installed: run "npm install"')
  return dirname(manifest)
}
