import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { directory, gateway, serving } from '../../cli/run.ts'
import { enter } from './requests.ts'
import { countIn, isOff, ofBoth, opened } from './setting.ts'
import { until } from '../setting.ts'

describe('the page of several workers', { skip: isOff }, () => {
  test('is served by each, to whoever has logged in at one, and shows the calls and clients of all', async t => {
    const made = await opened(t, { listeners: { main: { type: 'http', port: 0, limits: { sessions: 90 } } } })
    const { json } = await made.enter()
    await made.call(3)
    await until(async () => Number((await json('calls')).newest) === 6)

    for (const { calls, kept, newest } of await ofBoth(() => json('calls?tool=web'))) {
      assert.deepEqual([kept, newest], [6, 6])
      assert.deepEqual(
        (calls as JsonObject[]).map(({ id, name }) => [id, name]),
        [6, 5, 4, 3, 2, 1].map(id => [id, 'web__echo']),
      )
    }
    const texts = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async id => (await json(`call?id=${id}`)).arguments),
    )
    assert.deepEqual(
      texts.map(text => (JSON.parse(String(text)) as JsonObject).text).sort(),
      [0, 1, 2, 3, 4, 5].map(turn => `call ${turn}`),
    )
    assert.equal((await made.enter().then(one => one.ask('call?id=7'))).status, 404)
    for (const { calls } of await ofBoth(() => json('calls?after=4&limit=1')))
      assert.equal((calls as JsonObject[])[0]?.id, 6)

    const [{ figures, workers, servers } = {}] = await ofBoth(() => json('overview'))
    assert.equal(
      (figures as JsonObject[]).reduce((sum, one) => sum + Number(one.calls), 0),
      6,
    )
    assert.deepEqual(
      (workers as JsonObject[]).map(({ worker, ready }) => [worker, ready]),
      [
        [1, true],
        [2, true],
      ],
    )
    assert.deepEqual((servers as JsonObject[]).map(({ name }) => name).sort(), ['all', 'web'])

    for (const { clients } of await ofBoth(() => json('clients'))) {
      const callers = (clients as JsonObject[]).filter(({ calls }) => Number(calls) > 0)
      assert.deepEqual(
        callers.map(({ calls, open }) => [calls, open]),
        [[6, 0]],
      )
    }
    const { values } = await json('config?search=limits/sessions&defaults=yes')
    const shown = (values as JsonObject[]).find(
      ({ pointer }) => pointer === '/listeners/main/limits/sessions',
    )
    assert.equal(shown?.value, 90)
    for (const { tools, total } of await ofBoth(() => json('tools?server=web'))) {
      assert.equal(total, 2)
      assert.equal(new Set((tools as JsonObject[]).map(({ name }) => name)).size, 2)
    }
  })

  test('says what another configuration would change of the whole, not of the part of one worker', async t => {
    const made = await opened(t, { cache: { maxEntries: 1000 } })
    await made.call(1)
    const { json } = await made.enter()
    const text = await readFile(`${made.cwd}/gateway.yaml`, 'utf8')
    for (const plan of await ofBoth(() => json('plan', { yaml: text }))) {
      assert.deepEqual([plan.changes, plan.settings], [false, []])
      assert.deepEqual((plan.servers as JsonObject).kept, ['all', 'web'])
    }
    const config = JSON.parse(text) as { upstreams: JsonObject }
    const next = {
      ...config,
      upstreams: { web: config.upstreams.web },
      filters: { tools: { deny: ['web__ask'] } },
      cache: { maxEntries: 500 },
    }
    const { servers, tools, settings } = await json('plan', { yaml: JSON.stringify(next) })
    assert.deepEqual((servers as JsonObject).stopped, ['all'])
    assert.ok(((tools as JsonObject).removed as string[]).includes('web__ask'))
    assert.deepEqual([...(settings as string[])].sort(), ['cache', 'filters'])
    const { problems } = await json('plan', { yaml: 'version: 2' })
    assert.ok(Array.isArray(problems))
    assert.deepEqual((await made.ps()).upstreams.map(({ name }) => name).sort(), ['all', 'web'])
  })

  test('tells of calls that another worker has served', async t => {
    const made = await opened(t)
    const { events } = await made.enter()
    const streams = [await events('events'), await events('events')]
    cleanup(t, () => streams.forEach(stream => stream.close()))
    await made.call(2)
    await until(() => streams.every(stream => countIn(stream) === 4))
    // Nothing is told twice.
    await made.call(1)
    await until(() => streams.every(stream => countIn(stream) >= 6))
    assert.deepEqual(streams.map(countIn), [6, 6])
  })

  test('goes on at the next worker when one is killed: nobody logs in anew, and no call is forgotten', async t => {
    const made = await opened(t)
    const { events, ask, json } = await made.enter()
    const streams = [await events('events'), await events('events')]
    cleanup(t, () => streams.forEach(stream => stream.close()))
    await made.call(2)
    await until(async () => Number((await json('calls')).newest) === 4)
    const [first] = (await made.ps()).workers
    process.kill(Number(first?.pid), 'SIGKILL')
    await until(() => streams.some(stream => stream.isOver()))
    assert.deepEqual(streams.map(stream => stream.isOver()).sort(), [false, true])
    await until(async () => (await made.ps()).workers.every(({ ready }) => ready))
    assert.deepEqual(
      (await ofBoth(() => ask('session'))).map(({ status }) => status),
      [200, 200, 200, 200],
    )
    for (const { newest } of await ofBoth(() => json('calls'))) assert.equal(newest, 4)
    await made.call(1)
    await until(async () => Number((await json('calls')).newest) === 6)
    const left = streams.find(stream => !stream.isOver())
    await until(() => left !== undefined && countIn(left) === 6)
    const { workers } = await json('overview')
    assert.deepEqual(
      (workers as JsonObject[]).map(({ restarts }) => restarts),
      [1, 0],
    )
  })
})

describe('the page of a replica', () => {
  test('says that there are others, which it does not show', { skip: isOff || skip }, async t => {
    const redis = await redisFor(t)
    const key = { id: 'a', key: Buffer.alloc(32, 5).toString('base64') }
    const cluster = { redis: redis.url, keys: [key] }
    const [here, there] = [await opened(t, { cluster }), await opened(t, { cluster })]
    const [one, other] = [await here.enter(), await there.enter()]
    assert.equal((await one.json('session')).replica, '')
    await here.call(1)
    await until(async () => Number((await one.json('calls')).newest) === 2)
    for (const { status } of await ofBoth(() => one.ask('calls'))) assert.equal(status, 200)
    assert.equal(Number((await other.json('calls')).newest), 0)
    const config = { version: 1, listeners: { main: { type: 'http', port: 0 } }, ui: {}, cluster }
    const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config) })
    const alone = serving(t, ['serve'], { cwd })
    await alone.logged('serving')
    const { stdout } = await gateway(['ui', '--no-open'], { cwd })
    assert.match(String((await (await enter(stdout.trim())).json('session')).replica), /^r[0-9a-f]{16}$/)
  })
})
