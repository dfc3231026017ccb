import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { testClient, testUpstream } from '../../../src/testing/index.ts'
import type { TestUpstream } from '../../../src/testing/index.ts'
import { directory, gateway, PACKAGE, SERVER, serving } from './run.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const HTTP = { main: { type: 'http', port: 0 } }
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

async function server(t: TestContext): Promise<TestUpstream> {
  const web = await testUpstream({ tools: { echo: () => 'said', hang: () => new Promise(() => undefined) } })
  cleanup(t, () => web.stop())
  return web
}

function configFor(web: TestUpstream, more: object = {}): string {
  return JSON.stringify({
    version: 1,
    listeners: HTTP,
    upstreams: { web: { type: 'http', url: web.url } },
    ...more,
  })
}

test('serve says where it listens and what it serves, writes nothing to stdout, and ends with 0 on SIGTERM', async t => {
  const web = await server(t)
  const cwd = await directory(t, { 'gateway.yaml': configFor(web) })
  const { child, exit, logged } = serving(t, ['serve'], { cwd })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))

  const { url } = await logged('listening')
  const { upstreams, tools } = await logged('serving')
  const client = await testClient(String(url))
  const { result } = await client.request('tools/call', { name: 'web__echo', arguments: {} })
  await client.close()
  child.kill('SIGTERM')

  assert.deepEqual([upstreams, tools], [1, 2])
  assert.deepEqual(result?.['content'], [{ type: 'text', text: 'said' }])
  assert.equal(await exit, 0)
  assert.equal(stdout, '')
})

test('serve names a port in use before it starts any server', async t => {
  const web = await server(t)
  const port = Number(new URL(web.url).port)
  const touch = { type: 'stdio', command: 'sh', args: ['-c', 'touch started; exec cat'] }
  const config = { version: 1, listeners: { main: { type: 'http', port } }, upstreams: { touch } }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config) })

  const { code, stderr } = await gateway(['serve'], { cwd })

  assert.equal(code, 4)
  assert.match(stderr, new RegExp(`GW_LISTEN.*:${port}\\b.*in use`))
  assert.equal(existsSync(join(cwd, 'started')), false)
})

test('a second signal does not wait for what is still open', async t => {
  const web = await server(t)
  const cwd = await directory(t, { 'gateway.yaml': configFor(web, { shutdown: { grace: '60s' } }) })
  const { child, exit, logged } = serving(t, ['serve'], { cwd })
  const client = await testClient(String((await logged('listening'))['url']))
  client.request('tools/call', { name: 'web__hang', arguments: {} }).catch(() => undefined)
  await web.waitForCall('tools/call')

  child.kill('SIGINT')
  await logged('stopping; a second signal stops immediately')
  child.kill('SIGTERM')

  assert.equal(await exit, 143)
  await client.close()
})

test('SIGHUP reads the configuration again; an invalid one changes nothing and is explained', async t => {
  const web = await server(t)
  const cwd = await directory(t, { 'gateway.yaml': configFor(web) })
  const { child, logged, stderr } = serving(t, ['serve'], { cwd })
  const url = String((await logged('listening'))['url'])
  await logged('serving')

  await writeFile(join(cwd, 'gateway.yaml'), configFor(web, { filters: { tools: { deny: ['*hang'] } } }))
  child.kill('SIGHUP')
  await logged('configuration reloaded')
  await writeFile(join(cwd, 'gateway.yaml'), configFor(web, { cash: 1 }))
  child.kill('SIGHUP')
  await logged('configuration reload failed, keeping the running one')
  const client = await testClient(url)
  const { result } = await client.request('tools/list')
  await client.close()

  assert.match(stderr(), /gateway\.yaml:1:\d+ \/cash unknown key/)
  assert.deepEqual(
    (result?.['tools'] as { name: string }[]).map(({ name }) => name),
    ['web__echo'],
  )
})

test('a reload refuses what serve refuses, and the running configuration stays', async t => {
  const web = await server(t)
  const cwd = await directory(t, { 'gateway.yaml': configFor(web) })
  const { child, logged, stderr } = serving(t, ['serve'], { cwd })
  const { url } = await logged('listening')

  await writeFile(join(cwd, 'gateway.yaml'), configFor(web, { listeners: {} }))
  child.kill('SIGHUP')
  const first = await logged('configuration reload failed, keeping the running one')
  await writeFile(join(cwd, 'gateway.yaml'), '# nothing yet\n')
  child.kill('SIGHUP')
  const second = await logged('gateway.yaml:1:1 the file is empty – start with "version: 1"')

  assert.equal(first['code'], 'GW_NO_LISTENER', stderr())
  assert.equal(second['level'], 'error')
  const empty = await Promise.all([gateway(['serve'], { cwd }), gateway(['validate'], { cwd })])
  for (const { code, stderr } of empty) {
    assert.equal(code, 3)
    assert.match(stderr, /gateway\.yaml:1:1 the file is empty – start with "version: 1"/)
  }
  const client = await testClient(String(url))
  const { result } = await client.request('tools/call', { name: 'web__echo', arguments: {} })
  await client.close()
  assert.match(JSON.stringify(result), /said/)
})

test('on stdio, stdout carries protocol and nothing else, whatever plugins print', async t => {
  const web = await server(t)
  const plugins = { loud: { use: './loud.ts' } }
  const cwd = await directory(t, {
    'gateway.yaml': configFor(web, { listeners: {}, plugins }),
    'loud.ts': `export default { name: 'loud', setup({ hooks }) {
      console.log('setting up')
      hooks.request.tap({ methods: ['tools/list'] }, () => { console.info('asked'); void Promise.reject(new Error('stray')) })
    } }`,
  })
  const { child, exit, logged, stderr } = serving(t, ['serve', '--stdio'], { cwd })
  const lines: string[] = []
  const answered = new Promise<void>(resolve => {
    createInterface({ input: child.stdout }).on('line', line => {
      lines.push(line)
      if (line.includes('"id":2')) resolve()
    })
  })

  send(child.stdin, { id: 1, method: 'initialize', params: HELLO })
  send(child.stdin, { method: 'notifications/initialized' })
  send(child.stdin, { id: 2, method: 'tools/list' })
  await answered
  const stray = await logged('unhandled rejection')
  child.stdin.end()

  assert.equal(await exit, 0)
  for (const line of lines) assert.equal((JSON.parse(line) as { jsonrpc: string }).jsonrpc, '2.0')
  assert.deepEqual([stray['code'], stray['reason']], ['GW_INTERNAL', 'stray'])
  assert.match(stderr(), /setting up/)
  assert.match(stderr(), /asked/)
})

test('wrap puts one command behind stdio, silently, and ends with its client', async t => {
  const cwd = await directory(t)
  const { child, exit, stderr } = serving(
    t,
    ['wrap', '--', process.execPath, '--no-warnings', SERVER, '--mode', 'good'],
    { cwd },
  )
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  send(child.stdin, { id: 1, method: 'initialize', params: HELLO })
  const hello = JSON.parse(String((await answers.next()).value)) as {
    result: { serverInfo: { name: string } }
  }

  send(child.stdin, { method: 'notifications/initialized' })
  send(child.stdin, { id: 2, method: 'tools/call', params: { name: 'echo', arguments: { message: 'hi' } } })
  let reply: { id?: number; result?: unknown } = {}
  while (reply.id !== 2) reply = JSON.parse(String((await answers.next()).value)) as typeof reply
  child.stdin.end()

  assert.equal(hello.result.serverInfo.name, 'bad-server')
  assert.deepEqual((reply.result as { content: unknown }).content, [{ type: 'text', text: 'hi' }])
  assert.equal(await exit, 0)
  assert.equal(stderr(), '')
})

test('wrap --http prints its address', async t => {
  const { child, exit } = serving(t, ['wrap', '--http', '0', '--', process.execPath, SERVER], {
    cwd: PACKAGE,
  })
  const url = await new Promise<string>(resolve => createInterface({ input: child.stderr }).once('line', resolve))

  const client = await testClient(url)
  const { result } = await client.request('tools/call', { name: 'echo', arguments: { message: 'over http' } })
  await client.close()
  child.kill('SIGTERM')

  assert.deepEqual(result?.['content'], [{ type: 'text', text: 'over http' }])
  assert.equal(await exit, 0)
})

test('wrap without a command says how to give one', async () => {
  const [none, stray] = await Promise.all([gateway(['wrap']), gateway(['wrap', 'npx', 'server'])])

  assert.deepEqual([none.code, stray.code], [2, 2])
  assert.match(stray.stderr, /put -- before the command: gateway wrap -- npx server/)
})

function send(to: NodeJS.WritableStream, message: object): void {
  to.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
