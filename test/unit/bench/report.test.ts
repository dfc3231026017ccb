import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cost } from '../../bench/alone/cost.ts'
import type { WorkResult } from '../../bench/measure.ts'
import { aloneTable } from '../../bench/output/sections.ts'
import { notesIn } from '../../bench/output/notes.ts'
import { niceTicks, plotOf } from '../../bench/output/plot.ts'
import { plotsOf } from '../../bench/output/growth-plots.ts'
import { functionsOf, partsOf, type Profile } from '../../bench/profile/profile-shares.ts'
import { reportOf } from '../../bench/output/report.ts'
import type { Result } from '../../bench/output/result.ts'
import { reachedBy } from '../../bench/targets.ts'

function cell(key: string, concurrency: number, cpus: Readonly<Record<string, number>>): WorkResult {
  const subjects = Object.entries(cpus).map(([label, cpu]) => ({
    label,
    measured: { calls: 1, rps: 1e6 / cpu, p50: 1, p95: 1, p99: 1, cpu, rss: cpu },
  }))
  return { key, title: `the work ${key}`, concurrency, subjects }
}

function resultWith(works: readonly WorkResult[]): Result {
  return {
    cpu: 'a processor',
    cores: 2,
    gigabytes: 4,
    platform: 'Linux',
    node: '24',
    version: '0',
    nginx: undefined,
    commit: 'c0ffee',
    date: '2026-01-01',
    mode: 'full',
    pinned: true,
    works,
    starts: [
      { key: 'node', title: 'node -e 0', median: 50, best: 50 },
      { key: 'version', title: 'gateway --version', median: 80, best: 80 },
      { key: 'validate', title: 'gateway validate', median: 400, best: 400 },
    ],
    memory: [],
    road: [],
    profiles: [],
    peers: [],
    remarks: ['mcp-hub: not to be had'],
    seconds: 1,
    load: 0.2,
  }
}

const WORKS = [16, 64].map(at =>
  cell('small-http-http', at, { raw: 50, 'gateway, all plugins': at === 16 ? 30 : 45 }),
)

test('each row says whether every figure of it is within its limit, and what was not measured', () => {
  const reached = reachedBy(resultWith(WORKS), undefined)
  const of = (key: string): readonly boolean[] | undefined =>
    reached.find(row => row.key === key)?.figures.map(({ isMet }) => isMet)
  assert.deepEqual(of('http-http'), [true, false])
  assert.deepEqual(of('commands'), [true, false])
  assert.deepEqual(of('stdio-stdio'), [])
})

test('the report gives the reason that the notes have for a row that is not met, and names what could not be had', () => {
  const notes = notesIn('# x\n\n## about\n\nWhat this is.\n\n## why http-http\n\nThe sockets\ncost it.\n')
  const text = reportOf(resultWith(WORKS), undefined, notes, ['tools'])
  assert.match(text, /\| \*\*not met\*\*: The sockets cost it\. \|/)
  assert.match(text, /What this is\./)
  assert.match(text, /mcp-hub: not to be had/)
  assert.match(text, /!\[tools\]\(test\/bench\/results\/tools\.svg\)/)
  assert.doesNotMatch(text, /## Memory/)
})

test('a plugin has one row with what it costs in process and over sockets, and is held to its limit in process', () => {
  const cost = (least: number): Cost => ({ more: least + 1, least })
  const result: Result = {
    ...resultWith([cell('alone', 16, { raw: 100, 'gateway, 0 plugins': 80, 'audit alone': 130 })]),
    plugins: [
      { label: 'audit alone', pipe: cost(2), http: cost(9) },
      { label: 'auth alone', pipe: cost(0), http: cost(3.5) },
    ],
  }
  const table = aloneTable(result)
  assert.match(table, /\| audit alone \| ≤ 4 \| 2\.0 \(3\.0\) \| 9\.0 \(10\.0\) \| 130 \| 50\.0 \| 1\.30 \|/)
  assert.match(table, /\| auth alone \| ≤ 3 \| 0\.0 \(1\.0\) \| 3\.5 \(4\.5\) \|(?: {2}\|){3}/)
  const row = reachedBy(result, undefined).find(({ key }) => key === 'plugins')
  assert.deepEqual(
    row?.figures.map(({ what, isMet }) => [what, isMet]),
    [
      ['auth', false],
      ['audit', true],
    ],
  )
})

test('a profile is divided among the parts of the program, without the time it waited or was not looked at', () => {
  const frame = (id: number, functionName: string, url: string): Profile['nodes'][number] => ({
    id,
    callFrame: { functionName, url, lineNumber: 4 },
  })
  const profile: Profile = {
    nodes: [
      frame(1, '(idle)', ''),
      frame(2, 'run', 'file:///a/dist/src/core/gate.js'),
      frame(3, '(garbage collector)', ''),
      frame(4, 'parse', 'node:_http_common'),
    ],
    samples: [2, 1, 2, 3, 4, 4],
    timeDeltas: [1e6, 1e6, 3e6, 1e6, 1e6, 5e6],
  }
  const window = { from: 1.5, until: 8 }
  assert.deepEqual(partsOf(profile, window), [
    { name: 'ours: src/core', share: 0.6 },
    { name: 'garbage collector', share: 0.2 },
    { name: 'Node: http', share: 0.2 },
  ])
  assert.equal(functionsOf(profile, window)[0]?.name, 'run  src/core/gate.js:5')
})

test('ordinates are round, begin at 0 and reach the highest value', () => {
  assert.deepEqual(niceTicks(37), [0, 10, 20, 30, 40])
  assert.deepEqual(niceTicks(0.9), [0, 0.25, 0.5, 0.75, 1])
  assert.deepEqual(niceTicks(4), [0, 1, 2, 3, 4])
})

test('a plot has a point for each value, in the order of its abscissas, and no raw signs in its words', () => {
  const series = [
    {
      label: 'a < b',
      points: [
        [10, 1],
        [1000, 3],
      ] as const,
    },
  ]
  const svg = plotOf({ title: 'T & U', x: 'x', y: 'y', isLogarithmic: true, series })
  const across = [...svg.matchAll(/cx="([\d.]+)"/g)].map(([, x]) => Number(x))
  assert.equal(across.length, 2)
  assert.ok((across[0] ?? 0) < (across[1] ?? 0))
  assert.match(svg, /a &lt; b/)
  assert.match(svg, /T &amp; U/)
})

test('there is a plot for what was measured at several points, and none for what failed at all but one', () => {
  const grown = cell('grow-tools', 16, { 10: 30, 100: 31, 1000: 33 })
  const failed: WorkResult = {
    ...cell('grow-upstreams', 16, { 1: 30 }),
    subjects: [{ label: '1', failed: 'gone' }],
  }
  assert.deepEqual([...plotsOf([grown, failed]).keys()], ['tools'])
})
