import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { findPackageJSON } from 'node:module'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import type { FrameLocator } from 'playwright-core'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import { listenOn } from '../../fixtures/listen.ts'
import { openPage, skip } from './opened-page.ts'

const HOST_PAGE = readFileSync(new URL('app-host.html', import.meta.url))

function createAppServer(name: string): JsonObject {
  const manifest = findPackageJSON(`@modelcontextprotocol/${name}`, import.meta.url)
  if (manifest === undefined) throw new Error(`${name} is not installed: run "npm install"`)
  const program = path.join(path.dirname(manifest), 'dist/index.js')
  return { type: 'stdio', command: process.execPath, args: [program, '--stdio'], env: { DEBUG_LOG_FILE: '/dev/null' } }
}

interface AppHost {
  /** Opens the host at a path of the gateway, and returns the frame of a tool's app. */
  open(path?: string): Promise<(tool: string) => FrameLocator>
  /** Tool calls that reached a server, as `server tool`. */
  readonly calls: string[]
}

/** A gateway in front of real app servers, and a host of its apps in a browser. */
async function startHost(t: TestContext, upstreams: JsonObject, config: JsonObject = {}): Promise<AppHost> {
  const pages = createServer((_, response) => response.setHeader('content-type', 'text/html').end(HOST_PAGE))
  const origin = `http://127.0.0.1:${await listenOn(t, pages)}`
  const calls: string[] = []
  const recorder = definePlugin<undefined>({
    name: 'recorder',
    setup({ hooks }) {
      hooks.settled.tap({ methods: ['tools/call'] }, ({ record }) => {
        if (record.upstream !== '') calls.push(`${record.upstream} ${record.original}`)
      })
    },
  })
  const listeners = { main: { type: 'http', port: 0, allowedOrigins: [origin] } }
  const gateway = closeAfter(t, await testGateway({ config: { listeners, upstreams, ...config }, plugins: [recorder] }))
  return {
    calls,
    open: async (profile = '') => {
      const { page } = await openPage(t, `${origin}?gateway=${encodeURIComponent(gateway.url + profile)}`)
      return tool => page.frameLocator(`iframe[name="${tool}"]`)
    },
  }
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

test('two real apps behind one URL show their results, and each reaches its own server', { skip }, async t => {
  const upstreams = { clock: createAppServer('server-basic-vanillajs'), debug: createAppServer('server-debug') }
  const { open, calls } = await startHost(t, upstreams)
  const frame = await open()

  const time = frame('clock__get-time').locator('#server-time', { hasText: TIME })
  const first = await time.innerText()
  await frame('debug__debug-tool').locator('#event-log', { hasText: 'Debug text content #1' }).waitFor()
  assert.ok(calls.includes('clock get-time') && calls.includes('debug debug-tool'), calls.join())

  calls.length = 0
  await frame('clock__get-time').getByRole('button', { name: 'Get Server Time' }).click()
  await time.filter({ hasNotText: first }).waitFor()
  await frame('debug__debug-tool').getByRole('button', { name: 'Call debug-refresh' }).click()
  await frame('debug__debug-tool').locator('#event-log', { hasText: 'Server timestamp' }).waitFor()
  assert.deepEqual(
    calls.filter(call => call !== 'debug debug-log'),
    ['clock get-time', 'debug debug-refresh'],
  )
})

test('two servers with the same app and tools are told apart by a profile for each', { skip }, async t => {
  const upstreams = {
    clock: createAppServer('server-basic-vanillajs'),
    watch: createAppServer('server-basic-vanillajs'),
  }
  const profiles = { clock: { upstreams: ['clock'] }, watch: { upstreams: ['watch'] } }
  const { open, calls } = await startHost(t, upstreams, { profiles })

  const both = await open()
  for (const name of ['clock__get-time', 'watch__get-time']) {
    await both(name).locator('#server-time', { hasText: TIME }).waitFor()
    await both(name).getByRole('button', { name: 'Get Server Time' }).click()
    await both(name).locator('#server-time', { hasText: '[ERROR]' }).waitFor()
  }
  assert.deepEqual(calls, ['clock get-time', 'watch get-time'])

  const one = await open('/watch')
  const time = one('watch__get-time').locator('#server-time', { hasText: TIME })
  const first = await time.innerText()
  await one('watch__get-time').getByRole('button', { name: 'Get Server Time' }).click()
  await time.filter({ hasNotText: first }).waitFor()
  assert.deepEqual(calls.slice(2), ['watch get-time', 'watch get-time'])
})
