import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { queryCalls, queryUsage, type StoredCall } from '../../../../plugins/activity/writer.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const SECRET = 'hunter2-hunter2-hunter2'

interface Lab {
  readonly gateway: TestGateway
  readonly client: TestClient
  readonly file: string
  /** All calls so far, the oldest first. */
  calls(): Promise<StoredCall[]>
}

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'activity-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function lab(t: TestContext, activity: JsonObject = {}, directory = directoryOf(t)): Promise<Lab> {
  const tools = {
    search: () => 'found',
    fails: () => ({ content: [], isError: true }),
  }
  const web = closeAfter(t, await testUpstream({ tools }))
  const config = { activity, upstreams: { web: { headers: { 'x-key': SECRET } } } }
  const gateway = await testGateway({ upstreams: { web }, config, directory })
  cleanup(t, () => gateway.gateway.close())
  const client = closeAfter(t, await testClient(gateway))
  const file = join(directory, '.gateway/activity.db')
  const calls = async (): Promise<StoredCall[]> => {
    await gateway.gateway.control('activity.flush')
    return queryCalls(file, { limit: 1000 }).reverse()
  }
  return { gateway, client, file, calls }
}

describe('activity', () => {
  test('keeps who called what and what came of it, with names and types of arguments alone', async t => {
    const { client, calls, file } = await lab(t)
    const args = { path: '/private/thing', deep: { n: 1 }, list: [1] }
    await client.request('tools/call', { name: 'web__search', arguments: args })
    await client.request('tools/call', { name: 'web__fails' })
    await client.request('tools/call', { name: 'web__unknown' })
    await client.request('tools/list')

    const kept = await calls()
    assert.deepEqual(
      kept.map(({ name, outcome, upstream, code }) => [name, outcome, upstream, code]),
      [
        ['web__search', 'ok', 'web', 0],
        ['web__fails', 'is_error', 'web', 0],
        ['web__unknown', 'refused', '', -32602],
      ],
    )
    const [first] = kept
    assert.equal(first?.shape, '{"path":"string(14)","deep":{"n":"number"},"list":"array(1)"}')
    assert.equal(first.args, '')
    assert.equal(first.era, 'modern')
    assert.ok(first.bytesIn > 0 && first.bytesOut > 0)
    assert.equal(readFileSync(file).includes('/private/thing'), false)
  })

  test('is for its owner alone, and has no secret in it', async t => {
    const { client, calls, file } = await lab(t, { values: ['web__search'] })
    await client.request('tools/call', { name: 'web__search', arguments: { q: SECRET, [SECRET]: 1 } })

    const [kept] = await calls()

    assert.equal(kept?.args, '{"q":"***","***":1}')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    for (const suffix of ['', '-wal']) assert.equal(readFileSync(file + suffix).includes(SECRET), false)
  })

  test('finds calls by tool, failure and time, and sums them up', async t => {
    const { client, calls, file } = await lab(t)
    for (const name of ['web__search', 'web__search', 'web__fails']) await client.request('tools/call', { name })
    await calls()

    const named = (wanted: Parameters<typeof queryCalls>[1]): string[] =>
      queryCalls(file, wanted).map(({ name }) => name)
    assert.deepEqual(named({ tool: '*fails' }), ['web__fails'])
    assert.deepEqual(named({ failed: true }), ['web__fails'])
    assert.deepEqual(named({ since: Date.now() + 60_000 }), [])
    assert.deepEqual(named({ limit: 1 }), ['web__fails'])
    assert.deepEqual(named({ after: 2 }), ['web__fails'])
    assert.deepEqual(named({ principal: 'anonymous', limit: 2 }), ['web__fails', 'web__search'])
    const [most] = queryUsage(file, 0)
    assert.deepEqual([most?.name, most?.calls, most?.failures, most?.callers], ['web__search', 2, 0, 1])
  })

  test('keeps so many calls, and no older ones', async t => {
    const { client, calls } = await lab(t, { maxCalls: 100 })
    for (let n = 0; n < 130; n++) await client.request('tools/call', { name: 'web__unknown' })
    const before = await calls()
    // The next process begins with a look at what is too much.
    assert.ok(before.length >= 100)
    const directory = directoryOf(t)
    const old = await lab(t, { keep: 1 }, directory)
    await old.client.request('tools/call', { name: 'web__unknown' })
    await old.calls()
    await old.gateway.gateway.close()
    const next = await lab(t, { keep: 1 }, directory)
    await next.client.request('tools/call', { name: 'web__search' })

    assert.deepEqual(
      (await next.calls()).map(({ name }) => name),
      ['web__search'],
    )
  })

  test('two gateways write to one file', async t => {
    const directory = directoryOf(t)
    const [one, two] = [await lab(t, {}, directory), await lab(t, {}, directory)]
    await Promise.all(
      [one, two].flatMap(({ client }) =>
        Array.from({ length: 20 }, () => client.request('tools/call', { name: 'web__search' })),
      ),
    )
    await one.gateway.gateway.close()
    await two.gateway.gateway.close()

    assert.equal(queryCalls(one.file, { limit: 1000 }).length, 40)
  })

  test('a damaged file is set aside, and hurts no call', async t => {
    const directory = directoryOf(t)
    const first = await lab(t, {}, directory)
    await first.client.request('tools/call', { name: 'web__search' })
    await first.calls()
    await first.gateway.gateway.close()
    writeFileSync(first.file, 'this is no database, it is something else altogether, and long enough for that')
    const { client, calls, gateway } = await lab(t, {}, directory)
    const { result } = await client.request('tools/call', { name: 'web__search' })

    assert.ok(result !== undefined)
    assert.equal((await calls()).length, 1)
    assert.match(readFileSync(`${first.file}.damaged`, 'utf8'), /no database/)
    assert.ok(gateway.log.some(({ message }) => String(message).includes('damaged')))
  })

  test('a file that cannot be written hurts no call, and is told', async t => {
    const { client, gateway } = await lab(t, { file: '/proc/nothing/activity.db' })
    const { result } = await client.request('tools/call', { name: 'web__search' })
    await gateway.gateway.control('activity.flush')

    assert.ok(result !== undefined)
    assert.ok(gateway.log.some(({ message }) => message === 'cannot write activity'))
  })

  test('a file that is full loses its oldest calls', async t => {
    const { client, calls } = await lab(t, { maxSize: '256KiB', values: ['*'] })
    const text = 'x'.repeat(7000)
    for (let n = 0; n < 60; n++) {
      await client.request('tools/call', { name: 'web__unknown', arguments: { n, text } })
      if (n % 10 === 9) await calls()
    }

    const kept = await calls()
    assert.ok(kept.length > 5 && kept.length < 60, `${kept.length} are kept`)
    assert.ok(kept.at(-1)?.args.startsWith('{"n":59') === true)
  })
})
