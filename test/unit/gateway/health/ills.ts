import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createPins } from '../../../../plugins/pins/definition.ts'
import { writeLock } from '../../../../plugins/pins/lock-file.ts'
import { type JsonObject, type PluginApi } from '../../../../src/plugin.ts'
import { definePlugin } from '../../../fixtures/define-plugin.ts'
import { closeAfter, testClient, TestClock } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { freePort } from '../../../fixtures/free-port.ts'
import { directoryWith } from '../../../fixtures/sandbox.ts'
import { authority } from '../../fixtures/certificates.ts'
import { callOf, connect, setting as paying } from '../../plugins/approve/setting.ts'
import { replica, replicas } from '../../plugins/cluster/setting.ts'
import { type Case, gatewayOf, type Ill, METRICS, web } from './ill.ts'
import { until } from './told.ts'

const DAY_MS = 86_400_000
/** Time for which a replica shows what Redis has refused, and after which it looks again who else is there. */
const REFUSAL_MS = 30_000
const LOOK_MS = 10_000

async function certified(t: TestContext, days: number): Promise<Ill> {
  const root = authority()
  const issue = (ends: number) => root.certify('localhost', new Date(Date.now() + ends * DAY_MS + 60_000))
  const { cert, key } = issue(days)
  const directory = directoryWith(t, { 'cert.pem': cert, 'key.pem': key })
  const tls = { cert: 'cert.pem', key: 'key.pem' }
  const listeners = { plain: { type: 'http', port: 0 }, main: { type: 'http', port: 0, path: '/s', tls } }
  const upstreams = { web: { type: 'http', url: (await web(t)).url } }
  const gateway = await gatewayOf(t, { listeners, upstreams }, { directory })
  return {
    gateway,
    async cure() {
      const next = issue(90)
      writeFileSync(join(directory, 'cert.pem'), next.cert)
      writeFileSync(join(directory, 'key.pem'), next.key)
      await gateway.gateway.reload(gateway.gateway.generation.loaded)
    },
  }
}

/** A gateway with a plugin that taps no more after a reload. */
async function mended(t: TestContext, tap: (hooks: PluginApi['hooks']) => void): Promise<Ill> {
  let isMended = false
  const broken = definePlugin({ name: 'broken', setup: ({ hooks }) => (isMended ? undefined : tap(hooks)) })
  const gateway = await gatewayOf(t, {}, { upstreams: { web: await web(t) }, plugins: [broken] })
  const client = closeAfter(t, await testClient(gateway))
  await client.request('tools/list')
  await client.request('tools/call', { name: 'web__run' })
  return {
    gateway,
    async cure() {
      isMended = true
      await gateway.gateway.reload(gateway.gateway.generation.loaded)
    },
  }
}

/** A gateway whose spans nobody takes, until a collector comes. */
async function untraced(t: TestContext): Promise<Ill> {
  const port = await freePort()
  const tracing = { endpoint: `http://127.0.0.1:${port}`, every: 5, timeout: '300ms' }
  const gateway = await gatewayOf(t, { tracing }, { upstreams: { web: await web(t) } })
  const client = closeAfter(t, await testClient(gateway))
  await client.request('tools/call', { name: 'web__run' })
  return {
    gateway,
    async cure() {
      const collector = createServer((request, response) => request.resume().once('end', () => response.end()))
      await once(collector.listen(port, '127.0.0.1'), 'listening')
      cleanup(t, () => void collector.close().closeAllConnections())
      await client.request('tools/call', { name: 'web__run' })
    },
  }
}

/** A gateway before a server whose tool is not as it was accepted. */
async function drifted(t: TestContext, pins: 'withhold' | 'warn'): Promise<Ill> {
  const directory = directoryWith(t, { 'none.txt': '' })
  const tool = (description: string): JsonObject => ({ name: 'run', description, inputSchema: { type: 'object' } })
  const accept = (description: string): void =>
    writeLock(
      join(directory, 'gateway.lock'),
      new Map([['web', createPins({ lists: { tools: [tool(description)] } })]]),
    )
  accept('Says a text.')
  const server = await web(t)
  server.offer.methods.set('tools/list', () => ({ tools: [tool('Says a text, and sends it to us.')] }))
  const gateway = await gatewayOf(t, { pins }, { directory, upstreams: { web: server } })
  const client = closeAfter(t, await testClient(gateway))
  await client.request('tools/list')
  return {
    gateway,
    async cure() {
      accept('Says a text, and sends it to us.')
      await gateway.gateway.reload(gateway.gateway.generation.loaded)
      await client.request('tools/list')
    },
  }
}

/** Findings about the gateway itself. */
export const ILLS: Readonly<Record<string, Case>> = {
  'no-upstreams': {
    level: 'info',
    fix: /"upstreams"/,
    async make(t) {
      const gateway = await gatewayOf(t, { upstreams: {} })
      const { url } = await web(t)
      const listeners = { main: { type: 'http', port: 0 } }
      const next = { version: 1, ...METRICS, listeners, upstreams: { web: { type: 'http', url } } }
      return { gateway, cure: () => gateway.gateway.reload(next) }
    },
  },
  'config-refused': {
    level: 'error',
    fix: /gateway validate .*gateway reload/,
    async make(t) {
      const gateway = await gatewayOf(t, {}, { upstreams: { web: await web(t) } })
      const good = gateway.gateway.generation.loaded
      await gateway.gateway.reload({ version: 1, upstreams: { x: { type: 'nothing' } } }).catch(() => undefined)
      return { gateway, cure: () => gateway.gateway.reload(good) }
    },
  },
  'plugin-failed': {
    level: 'warning',
    fix: /Fix the plugin; then: gateway reload/,
    make: t =>
      mended(t, hooks => hooks.request.tap({ methods: ['tools/call'] }, () => Promise.reject(new Error('no room')))),
  },
  'tools-hidden': {
    level: 'warning',
    fix: /gateway explain web__run/,
    make: t => mended(t, hooks => hooks.catalog.tap((all, { kind }) => (kind === 'tools' ? [] : all))),
  },
  'plugin-health': {
    level: 'warning',
    fix: /author of the plugin/,
    async make(t) {
      const state = { isMended: false }
      const broken = definePlugin({
        name: 'broken',
        setup: ({ hooks }) =>
          hooks.health.tap(() => {
            if (!state.isMended) throw new Error('out of order')
            return undefined
          }),
      })
      const gateway = await gatewayOf(t, {}, { upstreams: { web: await web(t) }, plugins: [broken] })
      return { gateway, cure: async () => void (state.isMended = true) }
    },
  },
  'tracing-unsent': { level: 'warning', fix: /tracing\.endpoint/, make: untraced },
  'certificate-ends': { level: 'warning', fix: /gateway reload$/, make: t => certified(t, 3) },
  'certificate-ended': { level: 'error', fix: /gateway reload$/, make: t => certified(t, -1) },
  'cluster-store-away': {
    level: 'warning',
    fix: /Check Redis/,
    needsRedis: true,
    async make(t) {
      const { gateways, redis } = await replicas(t, 1, METRICS)
      const [gateway] = gateways
      if (gateway === undefined) throw new Error('there is no replica')
      await redis.stop()
      return { gateway, cure: () => redis.start() }
    },
  },
  'cluster-store-refuses': {
    level: 'error',
    fix: /permissions .* add memory to Redis/,
    needsRedis: true,
    async make(t) {
      const clock = new TestClock()
      const { gateways, redis } = await replicas(t, 1, METRICS, clock)
      const [gateway] = gateways
      if (gateway === undefined) throw new Error('there is no replica')
      await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
      return {
        gateway,
        async cure() {
          await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
          // Redis answers in order: what it has refused before is known when this is there.
          await gateway.gateway.control('cluster.replicas')
          clock.advance(REFUSAL_MS)
        },
      }
    },
  },
  'cluster-mixed': {
    level: 'warning',
    fix: /same version and configuration.*gateway replicas/,
    needsRedis: true,
    async make(t) {
      const clock = new TestClock()
      const { gateways, redis } = await replicas(t, 1, METRICS, clock)
      const [gateway] = gateways
      if (gateway === undefined) throw new Error('there is no replica')
      const { upstreams } = gateway.gateway.generation.loaded.config
      const same = { ...METRICS, upstreams: upstreams as unknown as JsonObject }
      const other = await replica(t, redis, { ...same, cache: false })
      clock.advance(LOOK_MS)
      return {
        gateway,
        async cure() {
          await other.gateway.close()
          await replica(t, redis, same)
          clock.advance(LOOK_MS)
        },
      }
    },
  },
  'nearly-overloaded': {
    level: 'warning',
    fix: /^Increase memory/,
    async make(t) {
      // One per cent of the memory, or of the heap: any process has more than a thousandth of one, and is given a hundredth here.
      const gateway = await gatewayOf(
        t,
        { overload: { keepAlive: 1, refuse: 100 } },
        { upstreams: { web: await web(t) } },
      )
      const held: Buffer[] = []
      const piece = 64 * 1024 * 1024
      await until('a hundredth of the memory is in use', async () => {
        if (gateway.gateway.health.findings.length > 0) return true
        if (held.length < 64) held.push(Buffer.alloc(piece, 1))
        await new Promise(resolve => setTimeout(resolve, 300))
        return gateway.gateway.health.findings.length > 0
      })
      const roomy = { ...gateway.gateway.generation.loaded.config, overload: { keepAlive: 92, refuse: 95 } }
      return { gateway, cure: () => gateway.gateway.reload(roomy) }
    },
  },
  overloaded: {
    level: 'error',
    fix: /^Increase memory/,
    async make(t) {
      const clock = new TestClock()
      const gateway = await gatewayOf(t, {}, { upstreams: { web: await web(t) }, clock })
      // Three looks in a row come two seconds late.
      for (let look = 0; look < 3; look++) clock.advance(2250)
      return { gateway, cure: async () => undefined }
    },
  },
  'pins-held': { level: 'warning', fix: /gateway lock diff web$/, make: t => drifted(t, 'withhold') },
  'pins-changed': { level: 'warning', fix: /gateway lock diff web$/, make: t => drifted(t, 'warn') },
  'pins-no-lock': {
    level: 'warning',
    fix: /^Run "gateway lock"/,
    async make(t) {
      const directory = directoryWith(t, { 'none.txt': '' })
      const gateway = await gatewayOf(t, { pins: 'withhold' }, { directory, upstreams: { web: await web(t) } })
      return {
        gateway,
        async cure() {
          writeFileSync(join(directory, 'gateway.lock'), JSON.stringify({ lockfileVersion: 1, upstreams: {} }))
          await gateway.gateway.reload(gateway.gateway.generation.loaded)
        },
      }
    },
  },
  'approvals-waiting': {
    level: 'info',
    fix: /^gateway approvals list$/,
    async make(t) {
      const { gateway } = await paying(t, { by: ['owner'] }, { config: METRICS })
      const client = await connect(t, gateway, {})
      const running = client.request('tools/call', callOf(7))
      await until('it waits', () => gateway.gateway.health.findings.length > 0)
      return {
        gateway,
        async cure() {
          const { approvals } = (await gateway.gateway.control('approvals.list')) as {
            approvals: { id: string }[]
          }
          await gateway.gateway.control('approvals.approve', { id: approvals[0]?.id ?? '' })
          await running
        },
      }
    },
  },
}
