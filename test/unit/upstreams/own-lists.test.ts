import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { closeAfter, testGateway, type TestGateway } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'
import { CHANGED, changesHeard, heardToggle, isShown, listening } from '../fixtures/dynamic-tool.ts'
import { fixture } from '../fixtures/upstream-bench.ts'

const SERVER = fixture('everything.mjs')
/** A legacy client that a server may ask something. */
const ASKABLE = { era: 'legacy', capabilities: { elicitation: {} } } as const

type Overrides = Readonly<Record<string, unknown>>

/** A gateway before one server on a pipe, whose tool `test_trigger_tool_change` shows or hides `test_dynamic_tool`. */
async function gatewayBefore(t: TestContext, overrides: Overrides): Promise<TestGateway> {
  const args = ['--disable-warning=ExperimentalWarning', SERVER, '--stdio', '--era', 'dual']
  const it = { type: 'stdio', command: process.execPath, args, prefix: '', ...overrides }
  return closeAfter(t, await testGateway({ config: { fit: false, upstreams: { it } } }))
}

test('a client whose calls go to a second process of a server hears of its changes, and is shown the lists of that process', async t => {
  const gateway = await gatewayBefore(t, {})
  const client = await listening(t, gateway, ASKABLE)
  const other = await listening(t, gateway, { era: 'modern' })
  const atFirst = await isShown(client)
  assert.equal(await isShown(other), atFirst)

  for (const expected of [!atFirst, atFirst, !atFirst]) {
    await heardToggle(client)
    assert.equal(await isShown(client), expected)
    assert.equal(await isShown(other), atFirst, 'the lists of the main process are as before')
  }
  assert.equal(changesHeard(other), 0)
  await heardToggle(other)

  assert.equal(await isShown(other), !atFirst)
  assert.equal(await isShown(client), !atFirst)
})

test('what one session does to its own process changes its lists, and those of nobody else', async t => {
  const gateway = await gatewayBefore(t, { isolation: 'session', era: 'legacy' })
  const client = await listening(t, gateway, { era: 'legacy' })
  const other = await listening(t, gateway, { era: 'legacy' })
  const atFirst = await isShown(client)
  await isShown(other)

  await heardToggle(client)

  assert.equal(await isShown(client), !atFirst)
  assert.equal(await isShown(other), atFirst)
  for (const expected of [!atFirst, atFirst]) {
    await heardToggle(other)
    assert.equal(await isShown(other), expected)
  }
  assert.equal(await isShown(client), !atFirst)
  assert.equal(changesHeard(client), 0, 'what others do to theirs is not told')
})

test('what a process of a modern server lists is heard of it, too', async t => {
  const gateway = await gatewayBefore(t, { isolation: 'session' })
  const client = await listening(t, gateway, { era: 'legacy' })
  const other = await listening(t, gateway, { era: 'legacy' })
  const atFirst = await isShown(client)
  await isShown(other)

  for (const expected of [!atFirst, atFirst, !atFirst]) {
    await heardToggle(client)
    assert.equal(await isShown(client), expected)
    assert.equal(await isShown(other), atFirst)
  }
  assert.equal(changesHeard(other), 0)
})

test('a tool that only the own process of a session has is called there, and its list is asked for once', async t => {
  const gateway = await gatewayBefore(t, { isolation: 'session', era: 'legacy' })
  const client = await listening(t, gateway, { era: 'legacy' })
  const other = await listening(t, gateway, { era: 'legacy' })
  const call = { name: 'test_dynamic_tool', arguments: {} }
  await isShown(other)
  if (await isShown(client)) {
    await heardToggle(client)
    assert.equal(await isShown(client), false)
    assert.notEqual((await client.request('tools/call', call)).error, undefined, 'it is hidden here')
    assert.equal((await other.request('tools/call', call)).error, undefined)
  }
  await heardToggle(client)
  await isShown(client)
  const { misses } = (await upstreamOf(gateway)).cache

  for (let round = 0; round < 3; round++) assert.equal((await client.request('tools/call', call)).error, undefined)

  assert.equal((await upstreamOf(gateway)).cache.misses, misses)
})

test('when the own process of a session dies, its client hears that its lists are those of a new one', async t => {
  const gateway = await gatewayBefore(t, { isolation: 'session', era: 'legacy' })
  const client = await listening(t, gateway, { era: 'legacy' })
  const atFirst = await isShown(client)
  const before = new Set(await pids(gateway))
  await heardToggle(client)
  assert.equal(await isShown(client), !atFirst)
  const [own] = (await pids(gateway)).filter(pid => !before.has(pid))
  assert.ok(own !== undefined)
  const heard = client.nextNotification(CHANGED)

  process.kill(own, 'SIGKILL')

  await heard
  assert.equal(await isShown(client), atFirst)
})

test('lists of a session are those of all again once its process has ended for want of calls', async t => {
  const gateway = await gatewayBefore(t, { isolation: 'principal', era: 'legacy', idle: '300ms' })
  const client = await listening(t, gateway, { era: 'legacy' })
  const atFirst = await isShown(client)
  await heardToggle(client)
  assert.equal(await isShown(client), !atFirst)

  await until(async () => (await pids(gateway)).length === 0, 'all its processes rest')
  await until(async () => (await isShown(client)) === atFirst, 'the list is as at first')
})

test('a server that rests is not woken to tell that lists of a process that ended are those of all', async t => {
  const gateway = await gatewayBefore(t, { isolation: 'principal', era: 'legacy', idle: '300ms' })
  const client = await listening(t, gateway, { era: 'legacy' })
  const atFirst = await isShown(client)
  await heardToggle(client)
  assert.equal(await isShown(client), !atFirst)
  const heard = client.nextNotification(CHANGED)
  const starts = (): number => gateway.log.filter(({ message }) => message === 'upstream ready').length
  assert.equal(starts(), 1)

  await heard

  assert.equal(await isShown(client), atFirst)
  assert.equal(starts(), 1)
})

async function upstreamOf({ gateway }: TestGateway): Promise<{
  runtime?: { instances: { pid?: number }[] }
  cache: { misses: number }
}> {
  const { upstreams } = (await gateway.control('ps')) as { upstreams: never[] }
  const [upstream] = upstreams
  assert.ok(upstream !== undefined)
  return upstream
}

async function pids(gateway: TestGateway): Promise<number[]> {
  return ((await upstreamOf(gateway)).runtime?.instances ?? []).flatMap(({ pid }) => pid ?? [])
}
