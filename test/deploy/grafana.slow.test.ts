import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream, type TestGateway } from '../../src/testing/index.ts'
import { cleanup } from '../fixtures/cleanup.ts'
import { freePort } from '../fixtures/free-port.ts'
import { until } from '../fixtures/until.ts'

const DASHBOARD = new URL('../../deploy/grafana/tapgate.json', import.meta.url)
const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0
const skip =
  hasPrometheus || process.env.CI !== undefined
    ? false
    : 'prometheus is not installed: apt-get install prometheus (in CI this test fails without it)'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly type: string; readonly uid: string }
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[]
}

const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
  readonly panels: readonly Panel[]
  readonly templating: {
    readonly list: readonly { readonly type: string; readonly query: string | { query: string } }[]
  }
}

/** A Prometheus of its own, which reads the metrics of a gateway every 200 ms. Returns its URL. */
async function startPrometheus(t: TestContext, { url }: TestGateway): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  const file = join(folder, 'prometheus.yml')
  const port = await freePort()
  const job = { job_name: 'gateway', scrape_interval: '200ms', scrape_timeout: '200ms' }
  // YAML contains JSON.
  const jobs = [{ ...job, static_configs: [{ targets: [new URL(url).host] }] }]
  writeFileSync(file, JSON.stringify({ scrape_configs: jobs }))
  const child = spawn(
    'prometheus',
    [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  cleanup(t, async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const origin = `http://127.0.0.1:${port}`
  const isReady = async (): Promise<boolean> => {
    assert.equal(child.exitCode, null, 'prometheus has ended')
    return await fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await until(isReady, 'prometheus starts')
  return origin
}

/** Evaluates a query as Grafana would, with all instances and servers. Returns the values that are numbers. */
async function query(origin: string, expr: string): Promise<number[]> {
  const text = expr.replaceAll(/\$(instance|upstream)\b/g, '.*').replaceAll('$__rate_interval', '5s')
  const reply = await fetch(`${origin}/api/v1/query?${new URLSearchParams({ query: text }).toString()}`)
  const body = (await reply.json()) as {
    status: string
    error?: string
    data: { result: { value: [number, string] }[] }
  }
  assert.equal(body.status, 'success', `${text}: ${body.error ?? ''}`)
  return body.data.result.map(({ value }) => Number(value[1])).filter(Number.isFinite)
}

/** Calls that succeed, fail and are refused, a session that ends, and a new connection to the server. */
async function causeTraffic({ url, gateway }: TestGateway): Promise<void> {
  const client = await testClient({ url }, { era: 'legacy' })
  await client.request('tools/list', {})
  for (const name of ['web__a', 'web__fails', 'web__none']) await client.request('tools/call', { name })
  const id = client.initializeReply?.headers['mcp-session-id'] ?? assert.fail()
  await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': id } })
  await client.close()
  await gateway.upstreams.get('web')?.restart()
}

test('each query of the Grafana dashboard has data in a real Prometheus', { skip }, async t => {
  const tools = { a: () => 'a', fails: () => ({ content: [], isError: true }) }
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: { metrics: {} } }))
  const origin = await startPrometheus(t, gateway)
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const labels = dashboard.templating.list.flatMap(({ type, query: of }) =>
    type === 'query' && typeof of === 'object' ? (/^label_values\((\w+), \w+\)$/.exec(of.query)?.[1] ?? []) : [],
  )
  assert.ok(queries.length >= 20 && labels.length === 2)

  let lacking: string[] = []
  const hasAll = async (): Promise<boolean> => {
    await causeTraffic(gateway)
    const counts = await Promise.all([...queries, ...labels].map(async expr => (await query(origin, expr)).length))
    lacking = [...queries, ...labels].filter((_, index) => counts[index] === 0)
    return lacking.length === 0
  }
  await until(hasAll, 'data of all queries', 40_000).catch(() => undefined)
  assert.deepEqual(lacking, [])
})

test('the Grafana dashboard asks for its data source, and no two panels are at one place', () => {
  const { panels } = dashboard
  const charts = panels.filter(({ type }) => type !== 'row')
  const sources = charts.flatMap(({ datasource, targets = [] }) => [datasource, ...targets.map(one => one.datasource)])

  assert.ok(sources.every(source => source?.uid === '${datasource}'))
  assert.ok(dashboard.templating.list.some(({ type, query: of }) => type === 'datasource' && of === 'prometheus'))
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  )
  assert.equal(new Set(cells).size, cells.length)
  assert.ok(panels.every(({ gridPos: { x, w } }) => x + w <= 24))
})
