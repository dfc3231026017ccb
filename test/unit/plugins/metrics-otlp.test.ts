import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { AddressInfo } from 'node:net'
import type { IncomingMessage } from 'node:http'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestGateway } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { until } from '../../fixtures/until.ts'

const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
const HISTOGRAMS = ['mcp.server.operation', 'mcp.client.operation', 'mcp.server.session', 'mcp.client.session']

interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: JsonObject }[]
  readonly startTimeUnixNano: string
  readonly timeUnixNano: string
  readonly asDouble?: number
  readonly count?: string
  readonly bucketCounts?: readonly string[]
  readonly explicitBounds?: readonly number[]
}

interface Data {
  readonly aggregationTemporality?: number
  readonly isMonotonic?: boolean
  readonly dataPoints: readonly Point[]
}

interface OtlpMetric {
  readonly name: string
  readonly unit?: string
  readonly histogram?: Data
  readonly sum?: Data
  readonly gauge?: Data
}

interface Export {
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly resource: Readonly<Record<string, unknown>>
  readonly metrics: ReadonlyMap<string, OtlpMetric>
}

/** A collector's endpoint for metrics; without a reply it hangs. */
async function collector(t: TestContext, reply: object | null = {}): Promise<{ url: string; exports: Export[] }> {
  const exports: Export[] = []
  const server = createServer((request, response) => {
    void json(request).then(body => {
      exports.push({ path: request.url, headers: request.headers, ...read(body as never) })
      if (reply === null) return
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => void server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, exports }
}

function read(body: {
  resourceMetrics: [{ resource: Pick<Point, 'attributes'>; scopeMetrics: [{ metrics: OtlpMetric[] }] }]
}): Pick<Export, 'resource' | 'metrics'> {
  const [{ resource, scopeMetrics }] = body.resourceMetrics
  const { metrics } = scopeMetrics[0]
  return { resource: valuesOf(resource), metrics: new Map(metrics.map(metric => [metric.name, metric])) }
}

function valuesOf({ attributes }: Pick<Point, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

async function gatewayOf(
  t: TestContext,
  config: JsonObject,
  environment: Record<string, string> = {},
): Promise<{ gateway: TestGateway; url: string }> {
  const tools = { a: () => 'a', fails: () => ({ content: [], isError: true }) }
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = await testGateway({ upstreams: { web }, config, environment })
  cleanup(t, () => gateway.gateway.close())
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  for (const name of ['web__a', 'web__fails', 'web__a', 'unknown']) await client.request('tools/call', { name })
  return { gateway, url: web.url }
}

test('a collector receives the four histograms of MCP with the units, bounds and attributes of the conventions', async t => {
  const { url, exports } = await collector(t)
  const headers = { 'x-key': 'secret-of-the-collector' }
  const { gateway, url: server } = await gatewayOf(t, { metrics: { otlp: { endpoint: url, headers } } })
  await gateway.gateway.close()

  const [{ headers: sent, metrics, resource } = assert.fail()] = exports
  assert.equal(exports.length, 1)
  assert.equal(exports[0]?.path, '/v1/metrics')
  assert.equal(sent['x-key'], headers['x-key'])
  assert.equal(typeof resource['service.instance.id'], 'string')
  for (const name of HISTOGRAMS) {
    const { unit, histogram } = metrics.get(`${name}.duration`) ?? assert.fail(name)
    assert.equal(unit, 's')
    assert.equal(histogram?.aggregationTemporality, 2)
    for (const { explicitBounds, bucketCounts = [], count } of histogram.dataPoints) {
      assert.deepEqual(explicitBounds, BOUNDS)
      assert.equal(bucketCounts.length, BOUNDS.length + 1)
      assert.equal(String(bucketCounts.reduce((sum, one) => sum + Number(one), 0)), count)
    }
  }
  const find = (name: string, attributes: Record<string, unknown>): string | undefined =>
    metrics.get(`${name}.duration`)?.histogram?.dataPoints.find(point => isSubset(attributes, valuesOf(point)))?.count
  const call = { 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool' }
  assert.equal(find('mcp.server.operation', { ...call, 'gen_ai.tool.name': 'web__a' }), '2')
  assert.equal(
    find('mcp.server.operation', { ...call, 'gen_ai.tool.name': 'web__fails', 'error.type': 'tool_error' }),
    '1',
  )
  const refused = { ...call, 'error.type': '-32602', 'rpc.response.status_code': '-32602' }
  assert.equal(find('mcp.server.operation', refused), '1')
  const { hostname, port } = new URL(server)
  const address = { 'network.transport': 'tcp', 'server.address': hostname, 'server.port': port }
  assert.equal(find('mcp.client.operation', { ...call, ...address, 'gen_ai.tool.name': 'a' }), '2')
  assert.equal(find('mcp.client.session', { ...address, 'tapgate.upstream': 'web' }), '1')
  assert.equal(find('mcp.server.session', { 'network.transport': 'tcp' }), '1')
})

test('a collector receives the other metrics too: sums that grow and gauges', async t => {
  const { url, exports } = await collector(t)
  await gatewayOf(t, { metrics: { otlp: { endpoint: `${url}/v1/metrics`, every: '1s' } } })
  const calls = (): number => pointsOf(exports.at(-1), 'tapgate_calls', 'sum').reduce((all, value) => all + value, 0)
  await until(() => calls() >= 4)

  assert.equal(exports.at(-1)?.metrics.get('tapgate_calls')?.sum?.isMonotonic, true)
  assert.deepEqual(pointsOf(exports.at(-1), 'tapgate_sessions', 'gauge'), [1])
  assert.ok(Number(pointsOf(exports.at(-1), 'process_resident_memory_bytes', 'gauge')[0]) > 1e6)
})

test('the variables of OpenTelemetry turn the export on and supply its settings', async t => {
  const { url, exports } = await collector(t)
  await gatewayOf(
    t,
    { metrics: {} },
    {
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b,x-token=a+b==',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
      OTEL_SERVICE_NAME: 'my-gateway',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,service.name=other',
    },
  )
  await until(() => exports.length > 0)

  const [{ headers, resource } = assert.fail()] = exports
  assert.deepEqual([headers['x-team'], headers['x-token']], ['a b', 'a+b=='])
  assert.deepEqual([resource['service.name'], resource['deployment.environment.name']], ['my-gateway', 'prod'])
})

test('a missing collector is logged once, and delays neither calls nor the stop', async t => {
  const otlp = { endpoint: `http://127.0.0.1:${await freePort()}`, every: '1s' }
  const { gateway } = await gatewayOf(t, { metrics: { otlp } })
  const failures = (): number => gateway.log.filter(({ message }) => message === 'metric export failed').length
  await until(() => failures() > 0)
  await gateway.gateway.close()
  assert.equal(failures(), 1)
})

test('an unusable variable is named in the log without its value, and hinders nothing', async t => {
  const { url, exports } = await collector(t)
  const warningsOf = async (environment: Record<string, string>): Promise<string> => {
    const variables = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: url, ...environment }
    const { gateway, log } = await testGateway({ config: { metrics: {} }, environment: variables })
    await gateway.close()
    return JSON.stringify(log.filter(({ level }) => level === 'warn'))
  }
  for (const value of ['-1', '0.5', 'Infinity', '1e21', 'soon'])
    assert.match(await warningsOf({ OTEL_METRIC_EXPORT_INTERVAL: value }), /OTEL_METRIC_EXPORT_INTERVAL/)
  for (const headers of ['x-key=se%0Acret', 'x-key: secret', 'x-key secret=secret']) {
    const logged = await warningsOf({ OTEL_EXPORTER_OTLP_HEADERS: headers })
    assert.match(logged, /"header":"x-key"/)
    assert.doesNotMatch(logged, /cret/)
  }
  assert.match(await warningsOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), /gRPC/)
  assert.equal(exports.length, 9)
  assert.match(await warningsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }), /http:\/\//)
  await warningsOf({ OTEL_SDK_DISABLED: 'true' })
  await warningsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/base?key=1` })
  assert.deepEqual(
    exports.slice(9).map(({ path }) => path),
    ['/base/v1/metrics?key=1'],
  )
})

test('an interval below one second and an invalid header are errors in the configuration', async () => {
  for (const otlp of [{ every: '0s' }, { every: '999ms' }, { every: 0 }, { headers: { 'x-key': 'a\nb' } }])
    await assert.rejects(testGateway({ config: { metrics: { otlp } } }), { code: 'GW_CONFIG_INVALID' })
})

test('values that the collector rejects are logged', async t => {
  const partialSuccess = { rejectedDataPoints: '5', errorMessage: 'too old' }
  const { url } = await collector(t, { partialSuccess })
  const { gateway } = await gatewayOf(t, { metrics: { otlp: { endpoint: url } } })
  await gateway.gateway.close()
  assert.match(String(gateway.log.find(({ message }) => message === 'metric export failed')?.reason), /5.*too old/)
})

test('changed buckets start a new count, under the same id, which no other gateway in the process has', async t => {
  const { url, exports } = await collector(t)
  const config = { metrics: { otlp: { endpoint: url } } }
  const { gateway, url: server } = await gatewayOf(t, config)
  const upstreams = { web: { type: 'http', url: server } }
  const began = Date.now()
  await gateway.gateway.reload({ version: 1, upstreams, metrics: { ...config.metrics, buckets: [1, 2] } })
  await until(() => exports.length === 1)
  const client = await gateway.gateway.connect()
  await client.request('tools/call', { name: 'web__a' })
  await gateway.gateway.close()
  const other = await gatewayOf(t, config)
  await other.gateway.gateway.close()

  const [one, two, three] = exports.map(({ resource }) => resource['service.instance.id'])
  assert.deepEqual([one === two, one === three], [true, false])
  const [point] = exports[1]?.metrics.get('tapgate_call_duration_seconds')?.histogram?.dataPoints ?? []
  assert.deepEqual(point?.explicitBounds, [1, 2])
  assert.ok(Number(point.startTimeUnixNano) >= began * 1e6)
})

test('a stop soon after a reload waits for a hanging collector no longer than any other stop', async t => {
  const { url } = await collector(t, null)
  const config = { metrics: { otlp: { endpoint: url } } }
  const { gateway, url: server } = await gatewayOf(t, config)
  await gateway.gateway.reload({ version: 1, upstreams: { web: { type: 'http', url: server } }, ...config })
  const began = performance.now()
  await gateway.gateway.close()
  assert.ok(performance.now() - began < 3500)
})

test('the loop lag for Prometheus covers the time since its last scrape, whatever is exported', async t => {
  const { url, exports } = await collector(t)
  const { gateway } = await gatewayOf(t, { metrics: { otlp: { endpoint: url, every: '1s' } } })
  // The monitor measures from its first tick on, after 20 ms.
  await setTimeout(100)
  const end = performance.now() + 300
  while (performance.now() < end);
  await until(() => exports.length > 0)
  const text = await (await fetch(new URL('/metrics', gateway.url))).text()
  assert.ok(Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]) > 0.2)
})

function isSubset(part: Record<string, unknown>, of: Record<string, unknown>): boolean {
  return Object.entries(part).every(([key, value]) => of[key] === value)
}

function pointsOf(one: Export | undefined, name: string, kind: 'sum' | 'gauge'): number[] {
  return (one?.metrics.get(name)?.[kind]?.dataPoints ?? []).map(({ asDouble }) => asDouble ?? NaN)
}
