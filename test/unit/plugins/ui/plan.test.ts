import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { askAs, keysOf, posted, setting, type Setting } from './setting.ts'

/** The configuration of a setting as text, with other members. */
function textOf({ gateway }: Setting, changes: JsonObject = {}): string {
  const { config } = gateway.gateway.generation.loaded
  return JSON.stringify({ ...config, ...changes })
}

function upstreamsOf({ gateway }: Setting): JsonObject {
  return gateway.gateway.generation.loaded.config.upstreams
}

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'plan-'))
  cleanup(t, () => rmSync(made, { recursive: true, force: true }))
  return made
}

describe('the plan of a text', () => {
  test('names servers, tools and calls that another one would change, and changes none', async t => {
    const made = await setting(t)
    const client = await made.client()
    await client.request('tools/list', {})
    const { json } = await made.opened()
    const plan = await json('plan', {
      yaml: textOf(made, {
        filters: { tools: { deny: ['web__boom'] } },
        upstreams: { ...upstreamsOf(made), more: { type: 'stdio', command: 'no-such-program' } },
      }),
    })
    const servers = plan.servers as JsonObject
    assert.deepEqual([servers.started, servers.kept, plan.changes], [['more'], ['web'], true])
    assert.match(JSON.stringify(servers.unknown), /starts no server/)
    assert.deepEqual((plan.tools as JsonObject).removed, ['web__boom'])
    assert.ok((plan.settings as string[]).includes('filters'))
    assert.deepEqual([...made.gateway.gateway.upstreams.keys()], ['web'])
    assert.ok((await client.request('tools/call', { name: 'web__boom', arguments: {} })).result)
  })

  test('runs no program of it, no command for a secret, and no plugin', async t => {
    const made = await setting(t)
    const { json } = await made.opened()
    const place = folder(t)
    const touch = (name: string): string => `touch ${join(place, name)}`
    const commands = await json('plan', {
      yaml: textOf(made, {
        upstreams: {
          web: { type: 'stdio', command: '/bin/sh', args: ['-c', touch('server')] },
          other: {
            type: 'http',
            url: 'http://127.0.0.1:1/mcp',
            headers: { authorization: `\${exec:${touch('secret')}}` },
          },
        },
      }),
    })
    assert.deepEqual([commands.problems, commands.error], [undefined, undefined])
    assert.deepEqual((commands.servers as JsonObject).restarted, ['web'])
    // Whether it still has its tools is not known, so that none is told as gone.
    assert.deepEqual((commands.tools as JsonObject).removed, [])
    const plugin = await json('plan', {
      yaml: textOf(made, { plugins: { bad: { use: join(place, 'plugin.mjs') } } }),
    })
    assert.match(JSON.stringify(plugin.problems), /runs no code/)
    assert.deepEqual(readdirSync(place), [])
  })

  test('says in which line a text is no configuration, be it none at all', async t => {
    const made = await setting(t)
    const { json, ask } = await made.opened()
    const { problems } = await json('plan', { yaml: 'version: 1\nupstreems: {}\n' })
    assert.match((problems as string[]).join('\n'), /gateway\.yaml:2:1 .*upstreams/)
    for (const yaml of ['', 'x', '[1', 'a: &a [*a, *a]', '"'.repeat(1000), '{'.repeat(5000)])
      assert.ok(((await json('plan', { yaml })).problems as string[]).length > 0, yaml.slice(0, 20))
    for (const body of [{}, { yaml: 1 }, { yaml: 'x', file: 'gateway.yaml' }])
      assert.equal((await ask('plan', posted(body))).status, 400)
  })

  test('shows no secret of the text, nor of a file that it names', async t => {
    const made = await setting(t)
    const { ask } = await made.opened()
    const secret = 'hunter2-of-the-text'
    const yaml = textOf(made, {
      upstreams: {
        ...upstreamsOf(made),
        [`x`]: { type: 'http', url: `http://${secret}:9/`, headers: { authorization: secret } },
      },
    })
    const text = await (await ask('plan', posted({ yaml }))).text()
    assert.ok(!text.includes('hunter2'), text)
  })

  test('is for the owner alone: it reads files and variables of the machine', async t => {
    const made = await setting(t, { auth: { keys: keysOf({ ada: ['ui:read', 'ui:act'] }) } })
    const reply = await askAs(made.origin)('ada', 'plan', posted({ yaml: 'version: 1' }))
    assert.equal(reply.status, 403)
    assert.match(await reply.text(), /gateway ui/)
    const { json } = await made.opened()
    assert.ok((await json('plan', { yaml: 'version: 1' })).servers)
  })
})

test('values of the configuration come page by page, those that nobody has set when they are asked for', async t => {
  const made = await setting(t)
  const { json } = await made.opened()
  const set = (await json('config?limit=2')) as { values: JsonObject[]; total: number }
  const all = (await json('config?defaults=yes&limit=500')) as { values: JsonObject[]; total: number }
  assert.deepEqual([set.values.length, set.total < all.total], [2, true])
  const found = (await json('config?search=upstreams/web/type')) as { values: JsonObject[] }
  assert.deepEqual(
    found.values.map(({ pointer, value }) => [pointer, value]),
    [['/upstreams/web/type', 'http']],
  )
})
