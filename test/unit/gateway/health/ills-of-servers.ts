import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, TestClock } from '../../../../src/testing/index.ts'
import { loginServer } from '../../../fixtures/oauth/login-server.ts'
import { directoryWith } from '../../../fixtures/sandbox.ts'
import { stateOf } from '../../plugins/oauth/vault/kit.ts'
import { type Case, gatewayOf, web } from './ill.ts'
import { until } from './told.ts'

const MOODY = fileURLToPath(new URL('moody-server.mjs', import.meta.url))

/** A gateway before a server on a pipe that is in a mood; its owner can change that. */
async function moody(t: TestContext, mood: object | undefined, clock?: TestClock) {
  const directory = directoryWith(t, { 'none.txt': '' })
  copyFileSync(MOODY, join(directory, 'server.mjs'))
  const become = (next: object): void => writeFileSync(join(directory, 'mood.json'), JSON.stringify(next))
  if (mood !== undefined) become(mood)
  const server = { type: 'stdio', command: process.execPath, args: ['server.mjs'], cwd: directory }
  const gateway = await gatewayOf(
    t,
    { upstreams: { moody: server } },
    { directory, ...(clock === undefined ? {} : { clock }) },
  )
  const restart = (): Promise<JsonObject> => gateway.gateway.control('upstream.restart', { upstream: 'moody' })
  return { gateway, become, restart }
}

/** Findings about one server. */
export const SERVER_ILLS: Readonly<Record<string, Case>> = {
  'upstream-failed': {
    level: 'error',
    fix: /gateway logs moody .*gateway restart moody/,
    async make(t) {
      const { gateway, become, restart } = await moody(t, undefined)
      return {
        gateway,
        async cure() {
          become({})
          await restart()
        },
      }
    },
  },
  'upstream-stopped': {
    level: 'info',
    fix: /^gateway start web$/,
    async make(t) {
      const gateway = await gatewayOf(t, {}, { upstreams: { web: await web(t) } })
      await gateway.gateway.control('upstream.stop', { upstream: 'web' })
      return { gateway, cure: () => gateway.gateway.control('upstream.start', { upstream: 'web' }) }
    },
  },
  'upstream-needs-login': {
    level: 'warning',
    fix: /^gateway login web$/,
    async make(t) {
      const server = closeAfter(t, await loginServer((await web(t)).url))
      const upstreams = { web: { type: 'http', url: server.url, oauth: {} } }
      const gateway = await gatewayOf(t, { state: { directory: stateOf(t) }, upstreams })
      return {
        gateway,
        async cure() {
          const redirectUri = 'http://127.0.0.1:9/oauth/callback'
          const begun = await gateway.gateway.control('login.begin', { upstream: 'web', redirectUri })
          const back = await fetch(String(begun.url), { redirect: 'manual' })
          await gateway.gateway.control('login.finish', { url: back.headers.get('location') })
        },
      }
    },
  },
  'upstream-degraded': {
    level: 'warning',
    fix: /gateway logs moody/,
    async make(t) {
      const clock = new TestClock()
      const { gateway, become, restart } = await moody(t, { noise: 1100 }, clock)
      await until('it has said it all', () => gateway.gateway.health.findings.length > 0)
      return {
        gateway,
        async cure() {
          become({})
          await restart()
          clock.advance(10_000)
        },
      }
    },
  },
  'upstream-lists': {
    level: 'warning',
    fix: /^gateway restart moody$/,
    async make(t) {
      const { gateway, become, restart } = await moody(t, { lists: 'broken' })
      const client = closeAfter(t, await testClient(gateway))
      await client.request('tools/list')
      return {
        gateway,
        async cure() {
          become({})
          await restart()
          await client.request('tools/list')
        },
      }
    },
  },
  'upstream-restarts': {
    level: 'warning',
    fix: /gateway logs moody .*gateway restart moody/,
    async make(t) {
      const clock = new TestClock()
      const { gateway, restart } = await moody(t, {}, clock)
      const row = () => gateway.gateway.upstreams.get('moody')?.status()
      let last: number | undefined
      const isNew = (): boolean => {
        const { state, pid } = row() ?? {}
        // A start has a deadline of its own.
        if (state === 'failed') clock.advance(10_000)
        return state === 'ready' && pid !== undefined && pid !== last
      }
      for (let death = 0; death < 5; death++) {
        await until('it runs', isNew)
        last = row()?.pid
        process.kill(last ?? NaN, 'SIGKILL')
      }
      await until('it runs', isNew)
      return { gateway, cure: restart }
    },
  },
  'breaker-open': {
    level: 'warning',
    fix: /or the gateway log$/,
    async make(t) {
      const clock = new TestClock()
      const server = await web(t)
      const breaker = { failures: 3, open: '30s' }
      const upstreams = { web: { type: 'http', url: server.url, breaker, retry: false } }
      const gateway = await gatewayOf(t, { upstreams }, { clock })
      const client = closeAfter(t, await testClient(gateway))
      const call = () => client.request('tools/call', { name: 'web__run' })
      await call()
      await server.stop()
      for (let turn = 0; turn < 3; turn++) await call()
      return {
        gateway,
        async cure() {
          await server.start()
          clock.advance(60_000)
          await call()
        },
      }
    },
  },
}
