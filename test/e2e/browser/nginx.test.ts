import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { setting } from '../../unit/plugins/ui/setting.ts'
import { skip as skipChromium } from './chromium.ts'
import { skipNginx, startNginx } from './nginx.ts'
import { openPage } from './opened-page.ts'

const skip = skipChromium === false ? skipNginx : skipChromium
const KEY = 'key-of-somebody-behind-nginx'
const HASH = `sha256:${createHash('sha256').update(KEY).digest('hex')}`
const AUTH = { keys: [{ name: 'ada', hash: HASH, scopes: ['ui:read', 'ui:act'] }] }

const WAYS: readonly (readonly [string, JsonObject, (origin: string) => string])[] = [
  ['takes the prefix away', {}, origin => `${origin}/`],
  ['leaves the prefix', { path: '/tools/gw/ui' }, origin => origin],
]

for (const [what, ui, passOf] of WAYS)
  for (const auth of [undefined, AUTH])
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
        await page.getByText('No calls yet').waitFor()
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
