import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { openPage, skip as skipChromium } from './opened-page.ts'

const PROGRAM = '/usr/sbin/nginx'
const isThere = existsSync(PROGRAM)
const PATIENCE_MS = 20_000

/** Why tests behind nginx are left out: on a machine of somebody's own only. */
export const skipNginx =
  isThere || process.env.CI !== undefined ? false : `${PROGRAM} is not installed; apt-get install nginx-light brings it`

/** Real nginx before a gateway: all below `/tools/gw/` is passed on, by the `proxy_pass` that is given. Returns its origin. */
export async function startNginx(t: TestContext, proxyPass: string): Promise<string> {
  if (!isThere) throw new Error(`${PROGRAM} is not installed`)
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configOf(port, proxyPass))
  const child = spawn(PROGRAM, ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  cleanup(t, async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const origin = `http://127.0.0.1:${port}`
  const end = Date.now() + PATIENCE_MS
  while (
    !(await fetch(origin)
      .then(() => true)
      .catch(() => false))
  ) {
    if (child.exitCode !== null || Date.now() > end) throw new Error('nginx does not run')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return origin
}

/** As docs/dashboard.md has it, with all files in the folder of the test. */
function configOf(port: number, proxyPass: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
master_process off;
pid nginx.pid;
events {}
http {
  access_log off;
  ${kinds.map(kind => `${kind}_temp_path ${kind};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location /tools/gw/ {
      proxy_pass ${proxyPass};
      proxy_buffering off;
    }
  }
}
`
}

const skip = skipChromium === false ? skipNginx : skipChromium
const KEY = 'key-of-somebody-behind-nginx'
const HASH = `sha256:${createHash('sha256').update(KEY).digest('hex')}`
const AUTH = { keys: [{ name: 'ada', hash: HASH, scopes: ['ui:read', 'ui:act'] }] }

type Way = readonly [what: string, ui: JsonObject, passOf: (origin: string) => string, auth?: typeof AUTH]
const WAYS: readonly Way[] = [
  ['takes the prefix away', {}, origin => `${origin}/`, AUTH],
  ['leaves the prefix', { path: '/tools/gw/ui' }, origin => origin],
]

for (const [what, ui, passOf, auth] of WAYS)
  test(
    `below /tools/gw, behind nginx that ${what}, ${auth === undefined ? 'without' : 'with'} auth`,
    { skip },
    async t => {
      const made = await setting(t, { ui, ...(auth === undefined ? {} : { auth }) })
      const front = await startNginx(t, passOf(made.origin))
      const token = auth === undefined ? new URL(await made.link()).hash : ''
      const { page, requests, problems } = await openPage(t, `${front}/tools/gw/ui${token}`)
      if (auth !== undefined) {
        await page.getByLabel(/API key/).fill(KEY)
        await page.getByRole('button', { name: 'Log in' }).click()
      }
      await page.locator('td', { hasText: 'web' }).first().waitFor()
      await page.locator('.live', { hasText: /^live$/ }).waitFor()
      await page.getByRole('button', { name: 'Restart web' }).click()
      await page.evaluate("location.hash = '#/calls'")
      await page.getByText('No matching calls').waitFor()
      // The event that a call is there comes through nginx as it happens.
      const headers = { authorization: `Bearer ${KEY}` }
      const called = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'web__echo', arguments: { text: 'x' } },
      }
      const opening = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      }
      const send = (body: JsonObject, more: Record<string, string> = {}): Promise<Response> =>
        fetch(`${made.origin}/mcp`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...(auth === undefined ? {} : headers),
            ...more,
          },
          body: JSON.stringify(body),
        })
      const opened = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: opening })
      await opened.text()
      const session = opened.headers.get('mcp-session-id')
      await (await send(called, session === null ? {} : { 'mcp-session-id': session })).text()
      await page.locator('td', { hasText: 'web__echo' }).first().waitFor()
      await page.reload()
      await page.locator('td', { hasText: 'web__echo' }).first().waitFor()
      const [cookie] = await page.context().cookies(`${front}/tools/gw/ui/api/x`)
      assert.equal(cookie?.path, '/tools/gw/ui/api')
      assert.deepEqual(
        requests.filter(url => !url.startsWith(`${front}/tools/gw/ui`)),
        [],
      )
      // A browser says of a login page that its first question was refused.
      assert.deepEqual(
        problems.filter(text => auth === undefined || !/401/.test(text)),
        [],
      )
    },
  )
