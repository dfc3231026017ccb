import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { directory, gateway, serving, type Serving } from './run.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }

test('two editors start the same configuration on stdio, though it names a port', async t => {
  const { cwd, port } = await configured(t)

  const editors = [1, 2].map(() => serving(t, ['serve', '--stdio'], { cwd }))
  for (const editor of editors) assert.match(await initialized(editor), /"protocolVersion":"2025-06-18"/)

  await assert.rejects(fetch(`http://127.0.0.1:${port}/mcp`))
  for (const { child } of editors) child.stdin.end()
  assert.deepEqual(await Promise.all(editors.map(({ exit }) => exit)), [0, 0])
})

test('a client on stdio that goes ends the gateway, however its listeners were asked for', async t => {
  const pipe = { pipe: { type: 'stdio' } }
  for (const [listeners, flags] of [
    [pipe, []],
    [pipe, ['--with-listeners']],
    [pipe, ['--watch']],
  ] as const) {
    const { cwd } = await configured(t, listeners)
    const editor = serving(t, ['serve', '--stdio', ...flags], { cwd })
    await initialized(editor)

    editor.child.stdin.end()

    assert.equal(await editor.exit, 0, JSON.stringify([listeners, flags]))
  }
})

test('with --with-listeners the others are open as long as the client on stdio is there', async t => {
  const { cwd } = await configured(t, { main: { type: 'http', port: 0 } })
  const editor = serving(t, ['serve', '--stdio', '--with-listeners'], { cwd })
  await initialized(editor)

  const { url } = await editor.logged('listening')
  const other = await testClient(String(url))
  const { result } = await other.request('tools/call', { name: 'web__echo', arguments: {} })
  await other.close()
  assert.match(JSON.stringify(result), /said/)

  editor.child.stdin.end()
  assert.equal(await editor.exit, 0)
})

test('--with-listeners without --stdio is a mistake', async t => {
  const { cwd } = await configured(t)

  const { code, stderr } = await gateway(['serve', '--with-listeners'], { cwd })

  assert.equal(code, 2)
  assert.match(stderr, /--with-listeners requires --stdio/)
})

async function configured(t: TestContext, listeners: object = {}): Promise<{ cwd: string; port: number }> {
  const web = await testUpstream({ tools: { echo: () => 'said' } })
  cleanup(t, () => web.stop())
  const port = await freePort()
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port }, ...listeners },
    upstreams: { web: { type: 'http', url: web.url } },
  }
  return { cwd: await directory(t, { 'gateway.yaml': JSON.stringify(config) }), port }
}

/** All that it answers to `initialize`. */
function initialized({ child, exit, stderr }: Serving): Promise<string> {
  const answer = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    void exit.then(code => reject(new Error(`it ended with ${code}:\n${stderr()}`)))
  })
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO })}\n`)
  return answer
}

test('commands of the configuration run once, however its listeners are asked for', async t => {
  const listeners = { own: { type: 'stdio' } }
  const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'said' } }))
  const profiles = { few: {} }
  for (const [more, flags] of [
    [{}, ['--stdio']],
    [{ listeners }, ['--stdio', '--profile', 'few']],
    [{ listeners }, ['--profile', 'few']],
    [{ listeners: { own: { type: '${KIND:-stdio}' } } }, ['--stdio']],
  ] as const) {
    const upstreams = { web: { type: 'http', url: web.url, headers: { 'X-Key': '${exec:sh count.sh}' } } }
    const cwd = await directory(t, {
      'gateway.yaml': JSON.stringify({ profiles, upstreams, ...more }),
      'count.sh': 'echo run >> runs; echo a-secret-of-the-keyring',
    })
    const editor = serving(t, ['serve', ...flags], { cwd })
    await initialized(editor)
    editor.child.stdin.end()
    assert.equal(await editor.exit, 0, editor.stderr())
    assert.equal(readFileSync(join(cwd, 'runs'), 'utf8'), 'run\n', JSON.stringify([more, flags]))
  }
})
