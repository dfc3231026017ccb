import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../fixtures/free-port.ts'
import { directory, gateway, serving, type Serving } from '../cli/run.ts'
import { assertEveryView, openPage, skip } from './opened-page.ts'

const server = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`))

/** A machine of somebody who has never been here, with two servers of the field. */
async function machine(t: TestContext): Promise<{
  start(): Promise<Serving>
  link(): Promise<string>
}> {
  const port = await freePort()
  const home = await directory(t, { 'files/hello.txt': 'hello\n' })
  const run = directory(t, {
    'gateway.yaml': JSON.stringify({
      version: 1,
      listeners: { main: { type: 'http', port } },
      upstreams: {
        everything: { type: 'stdio', command: process.execPath, args: [server('everything'), 'stdio'] },
        files: { type: 'stdio', command: process.execPath, args: [server('filesystem'), `${home}/files`] },
      },
      ui: {},
    }),
  })
  const cwd = await run
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: home,
    XDG_STATE_HOME: `${home}/state`,
    XDG_CACHE_HOME: `${home}/cache`,
  }
  return {
    async start() {
      const started = serving(t, ['serve', '--set', 'log.level=info', '--set', 'log.format=json'], {
        cwd,
        env,
      })
      await started.logged('serving')
      return started
    },
    async link() {
      const { code, stdout, stderr } = await gateway(['ui', '--no-open'], { cwd, env })
      assert.equal(code, 0, stderr)
      return stdout.trim()
    },
  }
}

test(
  'a stranger tries tools of real servers, and keeps the page over a gateway that is killed',
  { skip },
  async t => {
    const { start, link } = await machine(t)
    const first = await start()
    const { page } = await openPage(t, await link())
    await page.getByLabel('Servers', { exact: true }).locator('tr', { hasText: 'everything' }).waitFor()
    await page.getByRole('link', { name: 'Tools', exact: true }).click()
    await page.getByRole('button', { name: 'Ask all servers' }).click()
    await page.getByLabel('Search').fill('elicitation-request')
    await page.getByRole('link', { name: 'everything__trigger-elicitation-request', exact: true }).click()
    await page.getByRole('button', { name: 'Call it' }).click()
    await page.locator('.asked').waitFor()
    await assertEveryView(page)
    await page.locator('.asked').getByLabel(/name/i).first().fill('Ada')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.result', { hasText: 'Ada' }).waitFor()

    await page.evaluate(
      "location.hash = '#/tools?name=everything__trigger-long-running-operation&of=everything'",
    )
    await page.getByLabel(/^duration/).fill('1')
    await page.getByLabel(/^steps/).fill('4')
    await page.getByRole('button', { name: 'Call it' }).click()
    await page.locator('progress').first().waitFor()
    await page.locator('.result', { hasText: 'completed' }).waitFor()

    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    await page.locator('.live', { hasText: 'connecting' }).waitFor()
    await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
    await assertEveryView(page)
    await start()
    await page.locator('h1', { hasText: 'Who is there?' }).waitFor()
    await page.getByText('The gateway no longer knows this browser').waitFor()
    await assertEveryView(page)
    await page.goto(await link())
    await page.getByLabel('Servers', { exact: true }).locator('tr', { hasText: 'files' }).waitFor()
    await page.locator('.live', { hasText: /^live$/ }).waitFor()
  },
)
