import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, request as send } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { parse } from 'yaml'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { type Setting, setting } from '../../unit/plugins/ui/setting.ts'
import { WIDTHS, assertView, openIn, skip, startChromium, violations } from './opened-page.ts'

/** A proxy that takes its prefix away, as `proxy_pass http://gateway/;` of nginx does. Returns its origin. */
function strippingProxy(t: TestContext, target: string, prefix: string): Promise<string> {
  return proxy(t, target, path => (path.startsWith(prefix) ? path.slice(prefix.length) : undefined))
}

/** Passes the name of the target, as nginx does by itself. */
async function proxy(t: TestContext, target: string, pathOf: (path: string) => string | undefined): Promise<string> {
  const { hostname: host, port } = new URL(target)
  const server = createServer((request, response) => {
    const path = pathOf(request.url ?? '/')
    if (path === undefined) return void response.writeHead(404).end()
    const headers = { ...request.headers, host: `${host}:${port}` }
    const onward = send({ host, port, path, method: request.method, headers }, reply => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      response.flushHeaders()
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const PAGES = ['overview', 'calls', 'tools', 'clients', 'approvals', 'cache', 'config', 'connect']

async function goTo(page: Page, hash: string, title: RegExp): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.locator('h1', { hasText: title }).waitFor()
  await page.locator('.empty, table, .detail').first().waitFor()
}

async function busy(t: TestContext): Promise<Setting> {
  const made = await setting(t, { approve: {} })
  const client = await made.client()
  await client.request('tools/list', {})
  for (const name of ['web__echo', 'web__boom', 'web__slow', 'web__echo'])
    await client.request('tools/call', { name, arguments: { text: 'hello' } })
  return made
}

test(
  'every page, in both themes and on every screen: accessible, within its width, from its origin alone',
  { skip },
  async t => {
    const made = await busy(t)
    const browser = await startChromium(t)
    for (const [width, dark] of [
      [WIDTHS[0], false],
      [WIDTHS[1], false],
      [WIDTHS[2], true],
    ] as const) {
      const { page, requests, problems } = await openIn(browser, await made.link(), { width, dark })
      for (const name of [...PAGES, 'calls?id=1', 'tools?name=web__echo&of=web']) {
        await goTo(page, `#/${name}`, new RegExp(`^${(name.split('?')[0] ?? '').slice(0, 4)}`, 'i'))
        await assertView(page, `${name} ${width} ${dark ? 'dark' : 'light'}`)
      }
      assert.deepEqual(
        requests.filter(url => !url.startsWith(`${made.origin}/ui/`)),
        [],
      )
      assert.deepEqual(problems, [])
      await page.context().close()
    }
  },
)

test('calls appear as they happen, and one is opened and found again by its address', { skip }, async t => {
  const made = await busy(t)
  const { page } = await openIn(await startChromium(t), await made.link())
  await goTo(page, '#/calls', /Calls/)
  await page.getByLabel('Tool').fill('slow')
  await page.locator('tbody tr').first().getByText('web__slow').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
  await (await made.client()).request('tools/call', { name: 'web__slow', arguments: {} })
  await page.locator('tbody tr').nth(1).waitFor()
  await page.getByRole('link', { name: 'web__slow' }).first().click()
  await page.getByText('server', { exact: true }).waitFor()
  const address = page.url()
  await page.reload()
  await page.getByText('server', { exact: true }).waitFor()
  assert.equal(page.url(), address)
  assert.equal(await page.getByLabel('Tool').inputValue(), 'slow')
})

test('details of a call open below its row, take the focus and return it there', { skip }, async t => {
  const made = await busy(t)
  const { page } = await openIn(await startChromium(t), await made.link())
  await goTo(page, '#/calls', /Calls/)
  const link = page.getByRole('link', { name: 'web__slow' })
  const row = page.locator('tr', { has: link })
  for (const close of [
    () => page.keyboard.press('Escape'),
    () => page.getByRole('button', { name: 'Close' }).click(),
  ]) {
    await link.click()
    await row.locator('+ tr .way').waitFor()
    assert.equal(await page.evaluate('document.activeElement?.className'), 'detail')
    await close()
    await page.locator('.detail').waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement?.textContent'), 'web__slow')
  }
})

test('a table sorted by a click on its heading is sorted the same after a reload', { skip }, async t => {
  const made = await busy(t)
  const { page } = await openIn(await startChromium(t), await made.link())
  await goTo(page, '#/calls?outcome=ok', /Calls/)
  const heading = page.getByRole('columnheader', { name: 'Target' })
  const targets = (): Promise<string[]> => page.locator('tbody a').allInnerTexts()
  await heading.getByRole('button').click()
  await page.locator('[aria-sort=ascending]', { hasText: 'Target' }).waitFor()
  assert.deepEqual(await targets(), ['web__echo', 'web__echo', 'web__slow'])
  await heading.getByRole('button').click()
  await page.reload()
  await page.locator('[aria-sort=descending]', { hasText: 'Target' }).waitFor()
  assert.deepEqual(await targets(), ['web__slow', 'web__echo', 'web__echo'])
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'ok')
})

test('a tool is found, tried, and its call explained by keyboard alone', { skip }, async t => {
  const made = await busy(t)
  const { page } = await openIn(await startChromium(t), await made.link())
  await goTo(page, '#/tools', /Tools/)
  const press = (...keys: string[]): Promise<void> =>
    keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve())
  const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent.trim()')
  const tabTo = async (text: string): Promise<void> => {
    for (let i = 0; i < 40 && (await focused()) !== text; i++) await press('Tab')
    assert.equal(await focused(), text)
  }
  await press('?')
  await page.getByRole('dialog').getByText('Go to the filter').waitFor()
  await assertView(page, 'keys')
  await press('Escape', '/')
  await page.keyboard.type('slow')
  await page.locator('tbody tr').first().getByText('web__slow').waitFor()
  await tabTo('web__slow')
  await press('Enter')
  await page.getByText('Try it').waitFor()
  await tabTo('Visibility and permissions')
  await press('Enter')
  await tabTo('Explain')
  await press('Enter')
  await page.locator('.steps').getByText('web').first().waitFor()
  await tabTo('Call')
  await press('Enter')
  await page.locator('.result', { hasText: 'done' }).waitFor()
  await tabTo('Show the call')
  await press('Enter')
  await page.locator('h1', { hasText: 'Calls' }).waitFor()
  await page.locator('tbody tr').first().waitFor()
  await tabTo('web__slow')
  await press('Enter')
  await page.locator('.way').waitFor()
  await press('Escape')
  assert.equal(await focused(), 'web__slow')
})

test('a tool is tried by keyboard alone: its form, its progress, its result', { skip }, async t => {
  const made = await busy(t)
  const { page } = await openIn(await startChromium(t), await made.link())
  await goTo(page, '#/overview', /Overview/)
  const press = async (key: string, until: string, most = 60): Promise<void> => {
    for (let i = 0; i < most; i++) {
      await page.keyboard.press(key)
      const focused = await page.evaluate<string>("(document.activeElement?.textContent ?? '').trim()")
      if (focused === until) return
    }
    assert.fail(`${until} cannot be reached by ${key}`)
  }
  await page.evaluate('document.activeElement?.blur()')
  await press('Tab', 'Tools')
  await page.keyboard.press('Enter')
  await page.locator('h1', { hasText: 'Tools' }).waitFor()
  assert.equal(await page.evaluate('document.activeElement?.textContent'), 'Tools')
  await page.locator('tbody tr').first().waitFor()
  await press('Tab', 'web__slow')
  await page.keyboard.press('Enter')
  await page.getByText('Try it').waitFor()
  await press('Shift+Tab', 'Call')
  await page.keyboard.press('Enter')
  await page.locator('progress').waitFor()
  await page.locator('.result', { hasText: 'done' }).waitFor()
})

test('what servers and clients write is text, in every field', { skip }, async t => {
  const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
  const properties = {
    [evil]: { type: 'string', title: evil, description: evil, enum: [evil], default: evil },
  }
  const tool = { name: 'evil', title: evil, description: evil, inputSchema: { type: 'object', properties } }
  const bad = closeAfter(
    t,
    await testUpstream({
      ...{ name: evil, version: evil, capabilities: { tools: {} } },
      methods: {
        'tools/list': () => ({ tools: [tool] }),
        'tools/call': () => ({
          content: [{ type: 'text', text: evil }],
          structuredContent: { [evil]: evil },
        }),
      },
    }),
  )
  const made = await setting(t, { upstreams: { bad: { type: 'http', url: bad.url } } })
  const client = closeAfter(t, await testClient(made.gateway, { info: { name: evil, version: evil } }))
  await client.request('tools/list', {})
  const { result } = await client.request('tools/call', { name: 'bad__evil', arguments: { [evil]: evil } })
  assert.match(JSON.stringify(result), /owned/)
  await client.request('tools/call', { name: evil, arguments: { x: evil } })
  const { page, problems } = await openIn(await startChromium(t), await made.link())
  for (const name of [
    'overview',
    'calls',
    'calls?id=1',
    'calls?id=2',
    'tools',
    'tools?name=bad__evil',
    'clients',
    `calls?tool=${encodeURIComponent(evil)}`,
    `tools?name=${encodeURIComponent(evil)}`,
    `connect?url=javascript:${encodeURIComponent(evil)}`,
  ]) {
    await goTo(page, `#/${name}`, /./)
    await page.waitForTimeout(50)
    assert.equal(
      await page.locator('#app script, #app img, #app iframe, #app [onerror], #app a[href^="javascript"]').count(),
      0,
      name,
    )
    assert.doesNotMatch(await page.title(), /owned/, name)
  }
  assert.deepEqual(
    problems.filter(text => !/40\d/.test(text)),
    [],
  )
})

test('a page of another port of this host reads and does nothing, though it has the cookie', { skip }, async t => {
  const made = await busy(t)
  const browser = await startChromium(t)
  const { page } = await openIn(browser, await made.link())
  const other = closeAfter(t, await testGateway({ config: { ui: {} } }))
  const thief = await page.context().newPage()
  await thief.goto(new URL('/ui/', other.url).href)
  const tried = await thief.evaluate(async origin => {
    const ask = async (path: string, init: RequestInit): Promise<string> => {
      const reply = await fetch(`${origin}/ui/api/${path}`, { credentials: 'include', ...init }).catch(() => undefined)
      return reply === undefined ? 'blocked' : String(reply.status)
    }
    const json = { 'content-type': 'application/json', 'x-tapgate-ui': 'x' }
    return Promise.all([
      ask('calls', {}),
      ask('reload', { method: 'POST', headers: json, body: '{}' }),
      ask('reload', {
        method: 'POST',
        mode: 'no-cors',
        headers: { 'content-type': 'text/plain' },
        body: '{}',
      }),
      ask('events', { mode: 'no-cors' }),
    ])
  }, made.origin)
  assert.deepEqual(
    tried.filter(status => status === '200'),
    [],
  )
  const isEmpty = await thief.evaluate<boolean>(`(async () => {
    const one = document.createElement('iframe')
    one.src = ${JSON.stringify(`${made.origin}/ui/`)}
    document.body.append(one)
    await new Promise(resolve => setTimeout(resolve, 300))
    return one.contentDocument === null || one.contentDocument.body.textContent === ''
  })()`)
  assert.ok(isEmpty)
})

test('a page that loses its gateway comes back to it by itself', { skip }, async t => {
  const made = await busy(t)
  const { page } = await openIn(await startChromium(t), await made.link())
  // A page shows "live" before its stream is open.
  const streaming = page.waitForResponse(reply => reply.url().endsWith('/api/events'))
  await page.reload()
  await streaming
  await page.context().setOffline(true)
  made.gateway.gateway.generation.graph.hooks.getRunner('stopping')?.(0)
  await page.locator('.live', { hasText: 'connecting' }).waitFor()
  await page.context().setOffline(false)
  await page.locator('.live', { hasText: /^live$/ }).waitFor()
  // What failed meanwhile is asked for again.
  await page.getByRole('alert').first().waitFor({ state: 'detached' })
})

test('a page that is not configured stays in the menu, with lines that configure it', { skip }, async t => {
  const made = await setting(t, { cache: false })
  const { page } = await openIn(await startChromium(t), await made.link())
  const lines: string[] = []
  for (const name of ['Approvals', 'Logins', 'Cache', 'Tasks and agents']) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.locator('h1', { hasText: name }).waitFor()
    lines.push(await page.getByLabel('Lines for gateway.yaml').innerText())
    assert.deepEqual(await violations(page), [])
  }
  const directory = await mkdtemp(join(tmpdir(), 'work-'))
  cleanup(t, () => rm(directory, { recursive: true }))
  const config = { ...(parse(lines.join('\n').replace('[work]', `[${directory}]`)) as JsonObject), ui: {} }
  const all = await setting(t, config)
  const { parts } = await (await all.opened()).json('session')
  assert.deepEqual(parts, ['approvals', 'logins', 'cache', 'agents'])
})

test(
  'what Connect says can be pasted: an address, the own command of a client, and where a key is needed',
  { skip },
  async t => {
    const hash = `sha256:${createHash('sha256').update('key').digest('hex')}`
    for (const config of [{}, { auth: { keys: [{ name: 'ada', hash, scopes: ['ui:read'] }] } }]) {
      const made = await setting(t, config)
      const { page } = await openIn(await startChromium(t), await made.link())
      const shown = async (client: string, label: string): Promise<string> => {
        await page.evaluate(`location.hash = '#/connect?client=${client}'`)
        await page.locator('h2', { hasText: new RegExp(`^${client.replace('-', ' ')}$`, 'i') }).waitFor()
        return (await page.getByLabel(label, { exact: true }).allInnerTexts()).join('')
      }
      const isKeyed = 'auth' in config
      const header = isKeyed ? " --header 'Authorization: Bearer KEY'" : ''
      assert.match(
        await shown('claude-code', 'Command'),
        new RegExp(`^claude mcp add .* ${made.gateway.url}${header}$`),
      )
      assert.equal(await shown('cursor', 'Command'), isKeyed ? '' : `gateway connect cursor --http ${made.gateway.url}`)
      assert.match(
        await shown('codex', 'Entry'),
        isKeyed ? /http_headers = \{ Authorization = "Bearer KEY" \}$/ : /mcp"$/,
      )
      const { mcp } = JSON.parse(await shown('opencode', 'Entry')) as { mcp: Record<string, JsonObject> }
      assert.deepEqual(Object.values(mcp)[0]?.headers, isKeyed ? { Authorization: 'Bearer KEY' } : undefined)
      assert.equal(await page.getByText('gateway key new').count(), isKeyed ? 1 : 0)
      assert.deepEqual(await violations(page), [])
    }
  },
)

test('behind auth and a proxy, somebody logs in with a key, and out', { skip }, async t => {
  const key = 'key-of-somebody-who-looks'
  const hash = `sha256:${createHash('sha256').update(key).digest('hex')}`
  const made = await setting(t, { auth: { keys: [{ name: 'ada', hash, scopes: ['ui:read'] }] } })
  const front = await strippingProxy(t, made.origin, '/tools/gw')
  const { page } = await openIn(await startChromium(t), `${front}/tools/gw/ui/`)
  assert.deepEqual(await violations(page), [])
  await page.getByLabel(/API key/).fill('wrong-key-of-somebody')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel(/API key/).fill(key)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('h1', { hasText: 'Overview' }).waitFor()
  await page.getByText('ada (read-only)').waitFor()
  assert.equal(await page.getByRole('button', { name: /Restart|Start|Retry/ }).count(), 0)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.locator('h1', { hasText: 'Log in' }).waitFor()
  cleanup(t, () => page.context().close())
})
