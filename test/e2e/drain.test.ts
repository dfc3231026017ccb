import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { serving, type Serving } from './cli/run.ts'
import { beforeServer } from './manners/places.ts'

const CONNECT = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
const CALL = { method: 'tools/call', params: { name: 'web__echo', arguments: {} } }
/** Longer than any test: what happens in it happens while requests are served. */
const LONG = '10m'

interface Draining extends Serving {
  readonly url: string
}

async function gateway(t: TestContext, shutdown: object): Promise<Draining> {
  const { cwd } = await beforeServer(t, { echo: () => 'said' }, { shutdown })
  const served = serving(t, ['serve'], { cwd })
  const { url } = await served.logged('listening')
  await served.logged('serving')
  return { ...served, url: String(url) }
}

async function say(url: string, message: object, session?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
}

async function open(url: string): Promise<string> {
  const answer = await say(url, CONNECT)
  await answer.text()
  return String(answer.headers.get('mcp-session-id'))
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(new URL('/readyz', url))
  await answer.text()
  return answer.ok
}

test('after SIGTERM it is not ready, and serves sessions and new clients until the delay is over', async t => {
  const { url, child, exit, logged } = await gateway(t, { delay: LONG })
  const session = await open(url)
  assert.equal(await isReady(url), true)

  child.kill('SIGTERM')
  await logged('draining: not ready, still serving')
  while (await isReady(url)) await new Promise(resolve => setTimeout(resolve, 20))

  for (const [message, of] of [
    [CALL, session],
    [CONNECT, undefined],
  ] as const) {
    const answer = await say(url, message, of)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('connection'), 'close', 'nobody keeps a connection to it')
    assert.match(await answer.text(), /said|protocolVersion/)
  }
  assert.equal((await fetch(new URL('/livez', url))).status, 200)

  child.kill('SIGTERM')
  assert.equal(await exit, 143, 'a second signal stops at once')
})

test('when the delay is over idle streams end with a time to come back, and it ends with 0', async t => {
  const { url, child, exit } = await gateway(t, { delay: 1000, grace: LONG })
  const session = await open(url)
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
  const stream = await fetch(url, { headers })
  assert.equal(stream.status, 200)

  child.kill('SIGTERM')

  const [, retry] = /^retry: (\d+)\n\n$/m.exec(await stream.text()) ?? []
  assert.ok(Number(retry) >= 500 && Number(retry) <= 1500, retry)
  assert.equal(await exit, 0)
  await assert.rejects(fetch(url), 'nobody listens any more')
})

test('Ctrl-C does not wait for load balancers', async t => {
  const { child, exit, stderr } = await gateway(t, { delay: LONG })

  child.kill('SIGINT')

  assert.equal(await exit, 0)
  assert.doesNotMatch(stderr(), /draining: not ready/)
})

test('one whose only client is on a pipe does not wait either', async t => {
  const listeners = { main: { type: 'stdio' } }
  const { cwd } = await beforeServer(t, {}, { listeners, shutdown: { delay: LONG } })
  const { child, exit, logged } = serving(t, ['serve'], { cwd })
  await logged('serving')

  child.kill('SIGTERM')

  assert.equal(await exit, 0)
})
