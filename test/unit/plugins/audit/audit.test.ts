import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { verifyChain } from '../../../../plugins/audit/commands.ts'
import { loadConfig } from '../../../../src/config/index.ts'
import { createGateway } from '../../../../src/gateway/gateway.ts'
import { refuse, type Plugin } from '../../../../src/plugin.ts'
import { definePlugin } from '../../../fixtures/define-plugin.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../../../src/testing/index.ts'
import { callsIn, directoryFor, linesOf } from './kit.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const TOOLS = {
  echo: () => 'hi',
  fails: () => ({ content: [], isError: true }),
  breaks: () => ({ code: -32001, message: 'it broke with hunter2 in hand' }),
  guarded: () => 'never',
  hangs: (_args: JsonObject, { signal }: { signal: AbortSignal }) =>
    new Promise<string>(resolve => signal.addEventListener('abort', () => resolve('late'), { once: true })),
}

/** Refuses one tool, and whoever says that it is nobody. */
const guard: Plugin = definePlugin({
  name: 'guard',
  setup({ hooks }) {
    hooks.request.tap({ methods: ['tools/call'] }, ({ params }) =>
      params?.name === 'web__guarded' ? refuse(-32602, 'not for you') : undefined,
    )
    hooks.authenticate.tap(({ header }) =>
      header('x-nobody').length > 0
        ? { status: 401, error: { code: -32001, message: 'no token', data: { code: 'GW_NO_TOKEN' } } }
        : undefined,
    )
  },
})

interface Both {
  readonly gateway: TestGateway
  readonly web: TestUpstream
}

async function gatewayIn(t: TestContext, directory: string, config: JsonObject): Promise<Both> {
  const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
  const gateway = await testGateway({
    upstreams: { web },
    plugins: [guard],
    directory,
    config,
  })
  return { gateway, web }
}

function only(line: JsonObject, members: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(line).filter(([member]) => members.includes(member)))
}

function assertDetails(line: JsonObject, era: string): void {
  const deep = { tags: 'array(2)', on: 'boolean' }
  assert.deepEqual(line.shape, { path: 'string(13)', limit: 'number', deep })
  assert.deepEqual([line.client, line.era, line.principal], ['test-client', era, 'anonymous'])
  assert.equal(typeof line.session, era === 'legacy' ? 'string' : 'undefined')
  assert.ok(Number(line.bytesIn) > 100 && Number(line.bytesOut) > 10 && Number(line.ms) > 0)
}

describe('the audit', () => {
  for (const era of ['legacy', 'modern'] as const) {
    test(`has exactly one line for each call of a ${era} client, whatever came of it`, async t => {
      const directory = await directoryFor(t)
      const { gateway, web } = await gatewayIn(t, directory, { audit: { file: 'audit.jsonl', chain: true } })
      const client = await testClient(gateway, { era })
      const call = (tool: string, args = {}): Promise<unknown> =>
        client.request('tools/call', { name: `web__${tool}`, arguments: args })
      await client.request('tools/list')
      await call('echo', { path: '/secret/place', limit: 3, deep: { tags: ['a', 'b'], on: true } })
      await call('fails')
      await call('breaks')
      await call('guarded')
      await call('missing')
      const hanging = client.start('tools/call', { name: 'web__hangs' })
      await web.waitForCall('tools/call', ({ params }) => params?.name === 'hangs')
      await hanging.cancel()
      await hanging.reply
      while (web.listCalls('tools/call').at(-1)?.isCancelled !== true) await passed(5)
      await client.close()
      await gateway.gateway.close()

      const file = join(directory, 'audit.jsonl')
      const calls = await callsIn(file)
      const told = calls.map(call => only(call, ['name', 'upstream', 'original', 'outcome', 'by', 'code', 'reason']))
      const owned = { upstream: 'web' }
      assert.deepEqual(told, [
        { name: 'web__echo', ...owned, original: 'echo', outcome: 'ok' },
        { name: 'web__fails', ...owned, original: 'fails', outcome: 'is_error' },
        { name: 'web__breaks', ...owned, original: 'breaks', outcome: 'error', code: -32001 },
        { name: 'web__guarded', outcome: 'refused', by: 'guard', code: -32602, reason: 'not for you' },
        { name: 'web__missing', outcome: 'refused', by: 'catalog', code: -32602 },
        {
          name: 'web__hangs',
          ...owned,
          original: 'hangs',
          outcome: 'cancelled',
          code: -32603,
          reason: 'GW_CANCELLED',
        },
      ])
      assertDetails(calls[0] ?? {}, era)
      assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length)
      assert.equal((await verifyChain(file)).isIntact, true)
      assert.equal((await stat(file)).mode & 0o777, 0o600)
    })
  }

  test('goes on in the same file through a reload', async t => {
    const directory = await directoryFor(t)
    const config = { audit: { file: 'audit.jsonl', chain: true } }
    const { gateway } = await gatewayIn(t, directory, config)
    const client = await testClient(gateway)
    await client.request('tools/call', { name: 'web__echo' })
    const { url } = gateway.gateway.generation.graph.upstreams.get('web')?.upstream.spec as { url: string }
    await gateway.gateway.reload({
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      upstreams: { web: { type: 'http', url, prefix: 'w_' } },
      ...config,
    })
    await client.request('tools/call', { name: 'w_echo' })
    await client.close()
    await gateway.gateway.close()

    const file = join(directory, 'audit.jsonl')
    assert.deepEqual(
      (await callsIn(file)).map(({ name }) => name),
      ['web__echo', 'w_echo'],
    )
    assert.equal((await linesOf(file)).filter(({ kind }) => kind === 'opened').length, 1)
    assert.equal((await verifyChain(file)).isIntact, true)
  })

  test('says who was not let in and why, and a flood of them is a few lines', async t => {
    const directory = await directoryFor(t)
    const { gateway } = await gatewayIn(t, directory, { audit: { file: 'audit.jsonl' } })
    const knock = (): Promise<Response> =>
      fetch(gateway.url, { method: 'POST', headers: { 'x-nobody': '1', authorization: 'Bearer abcdef' } })
    for (let i = 0; i < 120; i++) assert.equal((await knock()).status, 401)
    await gateway.gateway.close()

    const lines = (await linesOf(join(directory, 'audit.jsonl'))).filter(({ kind }) => kind === 'refused')
    const { listener, path, status, code, outcome } = lines[0] ?? {}
    assert.deepEqual(
      { listener, path, status, code, outcome },
      {
        listener: 'main',
        path: '/mcp',
        status: 401,
        code: -32001,
        outcome: 'GW_NO_TOKEN',
      },
    )
    const named = lines.filter(line => line.more === undefined).length
    const more = lines.reduce((sum, line) => sum + Number(line.more ?? 0), 0)
    assert.equal(named + more, 120)
    assert.ok(!JSON.stringify(lines).includes('abcdef'))
  })
})

describe('the audit in trouble', () => {
  test('refuses calls while it cannot be written, where that is wanted', async t => {
    const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
    const upstreams = { web: { type: 'http', url: web.url } }
    const audit = { file: '/dev/full', onFailure: 'refuse' }
    const failed = Promise.withResolvers<void>()
    const log = { debug() {}, info() {}, warn() {}, error: () => failed.resolve(), child: () => log }
    const gateway = await createGateway({ version: 1, upstreams, audit }, { log })
    const alive = setInterval(() => undefined, 1000)
    cleanup(t, () => clearInterval(alive))
    cleanup(t, () => gateway.close())
    const connection = await gateway.connect()
    await connection.request('tools/call', { name: 'web__echo' })
    await failed.promise

    await assert.rejects(connection.request('tools/call', { name: 'web__echo' }), /cannot write the audit log/)
    assert.equal(web.listCalls('tools/call').length, 1)
    await assert.rejects(gateway.start(), /ENOSPC/)
  })

  test('has the line of a call before its caller has the answer, where calls need it', async t => {
    const directory = await directoryFor(t)
    const audit = { file: 'audit.jsonl', chain: true, onFailure: 'refuse' }
    const { gateway } = await gatewayIn(t, directory, { audit })
    const client = await testClient(gateway)

    const missing: number[] = []
    for (let n = 0; n < 50; n++) {
      await client.request('tools/call', { name: 'web__echo', arguments: { n } })
      const written = readFileSync(join(directory, 'audit.jsonl'), 'utf8').split('"name":"web__echo"').length - 1
      if (written !== n + 1) missing.push(n)
    }
    await client.close()
    await gateway.gateway.close()

    assert.deepEqual(missing, [])
  })

  test('has no secret in it, nor have metrics and the log, whatever way it came', async t => {
    const directory = await directoryFor(t)
    const secrets = Array.from({ length: 200 }, (_, i) => `s3cr3t-${i}-"+/%-${Math.random().toString(36).slice(2)}`)
    const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
    const headers = Object.fromEntries(secrets.map((_, i) => [`x-key-${i}`, `\${KEY_${i}}`]))
    const upstreams = { web: { type: 'http', url: web.url, headers } }
    await writeFile(
      join(directory, 'gateway.yaml'),
      JSON.stringify({
        version: 1,
        listeners: { main: { type: 'http', port: 0 } },
        upstreams,
        audit: { file: 'audit.jsonl', values: '*', methods: '*' },
        metrics: {},
      }),
    )
    const environment = Object.fromEntries(secrets.map((secret, i) => [`KEY_${i}`, secret]))
    const config = await loadConfig({ cwd: directory, environment })
    const gateway = await testGateway({ config, directory })
    const client = await testClient(gateway, { era: 'legacy' })
    const use = (secret: string): Promise<unknown> => {
      const base64 = Buffer.from(secret).toString('base64')
      const hex = Buffer.from(secret).toString('hex')
      const args = { [secret]: secret, base64, hex, url: encodeURIComponent(secret), text: `a ${secret} b` }
      return Promise.all([
        client.request('tools/call', { name: 'web__echo', arguments: args }),
        client.request('tools/call', { name: `web__${secret}`, arguments: args }),
        client.request('tools/call', { name: 'web__breaks', arguments: args }),
        client.request('resources/read', { uri: `https://u:${secret}@host/${secret}?key=${secret}` }),
        client.request(secret, {}),
      ])
    }
    for (let i = 0; i < secrets.length; i += 10) await Promise.all(secrets.slice(i, i + 10).map(use))
    const scraped = await (await fetch(new URL('/metrics', gateway.url))).text()
    await client.close()
    await gateway.gateway.close()

    const written = JSON.stringify(await linesOf(join(directory, 'audit.jsonl')))
    assert.ok((await callsIn(join(directory, 'audit.jsonl'))).length >= 1000)
    const all = written + scraped + JSON.stringify(gateway.log)
    const found = secrets.filter(secret =>
      [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
        .concat(['base64', 'base64url', 'hex'].map(form => Buffer.from(secret).toString(form as 'hex')))
        .some(form => all.includes(form) || all.includes(JSON.stringify(form).slice(1, -1))),
    )
    assert.deepEqual(found, [])
  })
})
