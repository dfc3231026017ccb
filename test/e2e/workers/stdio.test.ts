import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'
import { directory, gateway, serving, type Serving } from '../cli/run.ts'
import type { Ps } from './setting.ts'

interface Client extends Serving {
  readonly cwd: string
  /** Sends a request, and waits for its answer. */
  ask(method: string, params?: JsonObject): Promise<JsonObject>
  /** Resolves when the gateway's end of its stdout is closed. */
  readonly closed: Promise<void>
  ps(): Promise<Ps>
}

/** A client on the pipe of a gateway of two workers. */
async function onPipe(t: TestContext, ...flags: string[]): Promise<Client> {
  const web = closeAfter(t, await testUpstream({ tools: { echo: args => JSON.stringify(args) } }))
  const whole = {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { web: { type: 'http', url: web.url } },
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(whole) })
  const running = serving(t, ['serve', '--workers', '2', '--stdio', ...flags], { cwd })
  const waiting = new Map<unknown, (answer: JsonObject) => void>()
  const lines = createInterface({ input: running.child.stdout })
  lines.on('line', line => {
    const answer = JSON.parse(line) as JsonObject
    waiting.get(answer.id)?.(answer)
  })
  const closed = new Promise<void>(resolve => running.child.stdout.once('close', resolve))
  let last = 0
  const ask = (method: string, params: JsonObject = {}): Promise<JsonObject> => {
    const id = ++last
    const answered = new Promise<JsonObject>(resolve => waiting.set(id, resolve))
    running.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return answered
  }
  const ps = async (): Promise<Ps> => {
    // Its first answers come before its control socket is open.
    await running.logged('serving')
    return JSON.parse((await gateway(['ps', '--json'], { cwd })).stdout) as Ps
  }
  return { ...running, cwd, ask, closed, ps }
}

const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
const ECHO = { name: 'web__echo', arguments: { text: 'hello' } }

test('a client on stdin has the first of several workers, beside those that come over HTTP', async t => {
  const client = await onPipe(t, '--with-listeners')
  const { result: greeting } = await client.ask('initialize', HELLO)
  assert.match(JSON.stringify(greeting), /"protocolVersion":"2025-06-18"/)
  for (let call = 0; call < 3; call++)
    assert.match(JSON.stringify(await client.ask('tools/call', ECHO)), /hello/)
  const url = String((await client.logged('listening'))['url'])
  for (let turn = 0; turn < 3; turn++) {
    const other = closeAfter(t, await testClient(url))
    assert.equal((await other.request('tools/call', ECHO)).status, 200)
  }
  assert.equal((await client.ps()).workers.length, 2)

  client.child.stdin.end()

  assert.equal(await client.exit, 0, 'a gateway that was started for one client ends with it')
})

test('when the worker of a client on stdin dies, its client sees the end of the pipe', async t => {
  const client = await onPipe(t, '--with-listeners')
  await client.ask('initialize', HELLO)
  const [first] = (await client.ps()).workers
  assert.ok(first)

  process.kill(first.pid, 'SIGKILL')

  await client.closed
  assert.equal(await client.exit, 0)
})

test('a client on stdin alone is served, too', async t => {
  const client = await onPipe(t)
  await client.ask('initialize', HELLO)
  assert.match(JSON.stringify(await client.ask('tools/call', ECHO)), /hello/)
  client.child.stdin.end()
  assert.equal(await client.exit, 0)
})
