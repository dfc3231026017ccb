import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { GatewayError } from '../../../../src/errors/errors.ts'
import { listenHttp } from '../../../../src/listeners/http/http-listener.ts'
import { FakeGate, makeListener, realClock } from './fake-gate.ts'
import { until } from '../../../fixtures/until.ts'
import { modern, send, serve, SPEC } from './client.ts'

const CALL = modern('tools/list')

test('probes tell that we live, whether we can serve, and no reasons', async t => {
  const { gate, url } = await serve(t)

  const live = await send(url, { method: 'GET', path: '/livez' })
  const ready = await send(url, { method: 'GET', path: '/readyz' })
  gate.ready = { ready: false, upstreams: {}, health: { level: 'ok', findings: [] } }
  const unready = await send(url, { method: 'GET', path: '/readyz' })
  const head = await send(url, { method: 'HEAD', path: '/livez' })

  assert.equal(live.status, 200)
  assert.deepEqual(ready.json, {
    ready: true,
    upstreams: { files: { state: 'ready' }, web: { state: 'failed' } },
  })
  assert.equal(unready.status, 503)
  assert.deepEqual([head.status, head.text], [200, ''])
})

test('/healthz says what /livez says: that we live, whatever can be called', async t => {
  const { gate, url } = await serve(t)
  gate.ready = { ready: false, upstreams: {}, health: { level: 'ok', findings: [] } }

  const healthy = await send(url, { method: 'GET', path: '/healthz' })
  const head = await send(url, { method: 'HEAD', path: '/healthz?verbose=1' })
  const posted = await send(url, { method: 'POST', path: '/healthz', body: '{}' })

  assert.deepEqual([healthy.status, healthy.json], [200, { status: 'alive' }])
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD, OPTIONS'])
})

test('other paths are 404 in JSON, other methods 405', async t => {
  const { url } = await serve(t)

  const unknown = await send(url, { method: 'GET', path: '/.well-known/oauth-protected-resource' })
  const put = await send(url, { method: 'PUT', body: '{}' })
  const query = await send(url, { ...CALL, path: '/mcp?x=1' })

  assert.deepEqual([unknown.status, unknown.json.error], [404, 'not_found'])
  assert.deepEqual([put.status, put.headers.allow], [405, 'GET, POST, DELETE, OPTIONS'])
  assert.equal(query.status, 200)
})

test('an address that others reach needs the configuration to say so', () => {
  const make = (spec: object) => makeListener(listenHttp, { ...SPEC, ...spec }, new FakeGate(), realClock)

  for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.com']) {
    assert.throws(
      () => make({ host }),
      (error: unknown) => error instanceof GatewayError && error.code === 'GW_LISTEN',
    )
    make({ host, exposeWithoutAuth: true })
  }
  for (const host of ['localhost', '127.0.0.1', '127.0.0.2', '::1', '[::1]']) make({ host })
})

test('a port that is taken is an error that names the address', async t => {
  const { url } = await serve(t)
  const second = makeListener(listenHttp, { ...SPEC, port: Number(url.port) }, new FakeGate(), realClock)

  await assert.rejects(
    second.start(),
    (error: unknown) => error instanceof GatewayError && error.code === 'GW_LISTEN' && error.message.includes(url.port),
  )
  await second.stop(0)
})

test(
  'gateways that share a port all serve on it, and one goes on when another has stopped',
  { skip: process.platform === 'linux' ? false : 'shared ports need Linux' },
  async t => {
    const spec = { reusePort: true }
    const first = await serve(t, spec)
    const port = Number(first.url.port)
    const second = await serve(t, { ...spec, port })
    second.gate.ready = { ready: false, upstreams: {}, health: { level: 'ok', findings: [] } }
    const seen = async (): Promise<number> => (await send(first.url, { method: 'GET', path: '/readyz' })).status
    const statuses = new Set<number>()
    await until(async () => statuses.add(await seen()).size === 2, 'an answer of each')

    await first.listener.stop(0)

    assert.deepEqual(statuses, new Set([200, 503]))
    assert.equal(await seen(), 503)
  },
)

test('more connections than the limit are turned away', async t => {
  const { url } = await serve(t, { limits: { ...SPEC.limits, connections: 2 } })
  const sockets = [connect(Number(url.port), url.hostname), connect(Number(url.port), url.hostname)]
  await Promise.all(sockets.map(socket => once(socket, 'connect')))

  await assert.rejects(send(url, CALL))
  for (const socket of sockets) socket.destroy()
})

test('a stop does not wait for connections that say nothing', async t => {
  const { listener, url } = await serve(t)
  const silent = connect(Number(url.port), url.hostname)
  await once(silent, 'connect')
  await send(url, CALL)
  const closed = once(silent, 'close')
  silent.resume()

  const started = performance.now()
  await listener.stop(8000)
  await closed

  assert.ok(performance.now() - started < 4000)
})
