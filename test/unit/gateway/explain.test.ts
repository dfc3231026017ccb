import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Explanation } from '../../../src/gateway/explain.ts'
import type { Plugin } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'

const HASH = `sha256:${'a'.repeat(64)}`
const OTHER_HASH = `sha256:${'b'.repeat(64)}`

async function bench(t: TestContext, config: JsonObject = {}, plugins: readonly Plugin<never>[] = []) {
  const files = closeAfter(t, await testUpstream({ tools: { read: () => 'read', write: () => 'written' } }))
  const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
  const running = closeAfter(t, await testGateway({ upstreams: { files, web }, config, plugins }))
  const explain = async (tool: string, more: JsonObject = {}): Promise<Explanation> =>
    (await running.gateway.control('explain', { tool, ...more })) as unknown as Explanation
  return { files, web, running, explain }
}

function said({ steps }: Explanation, by: string): string {
  return steps.flatMap(step => (step.by === by ? `${step.does}: ${step.text}` : [])).join('\n')
}

describe('explain', () => {
  test('says whose a tool is, and calls nothing', async t => {
    const { explain, files } = await bench(t)

    const explanation = await explain('files__read', { arguments: { path: '/a' } })

    assert.deepEqual(explanation.outcome, { what: 'server', by: 'files', text: '"files" answers' })
    assert.equal(explanation.upstream, 'files')
    assert.equal(explanation.original, 'read')
    assert.equal(files.listCalls('tools/call').length, 0)
  })

  test('of a name that nobody has says what may be meant', async t => {
    const { explain } = await bench(t)

    const { outcome } = await explain('files__reed')

    assert.equal(outcome.what, 'refused')
    assert.match(outcome.text, /files__read/)
  })

  test('names the plugin that hides a tool, and the one that renames it', async t => {
    const { explain } = await bench(t, {
      filters: { tools: { deny: ['*write'], rename: { files__read: 'look' } } },
    })

    const hidden = await explain('files__write')
    const renamed = await explain('look')

    assert.equal(hidden.outcome.by, 'tool-filter')
    assert.equal(hidden.outcome.what, 'refused')
    assert.match(said(renamed, 'tool-filter'), /changes: renames it to look/)
    assert.equal(renamed.original, 'read')
  })

  test('sees what a plugin from elsewhere hides, though that says nothing itself', async t => {
    const hides: Plugin = {
      name: 'hides',
      setup: ({ hooks }) => hooks.catalog.tap(entries => entries.filter(({ exposed }) => exposed !== 'web__search')),
    }
    const { explain } = await bench(t, {}, [hides])

    assert.equal((await explain('web__search')).outcome.by, 'hides')
  })

  test('asks in the name of a key, with its scopes or others', async t => {
    const keys = [
      { name: 'ci', hash: HASH, scopes: ['read'] },
      { name: 'admin', hash: OTHER_HASH, scopes: ['read', 'write'] },
    ]
    const rules = [{ tools: ['files__write'], scopes: ['write'] }]
    const { explain } = await bench(t, { auth: { keys, rules } })

    const ci = await explain('files__write', { as: 'key:ci' })
    const admin = await explain('files__write', { as: 'key:admin' })
    const more = await explain('files__write', { as: 'key:ci', scopes: ['write'] })

    assert.deepEqual(ci.outcome, { what: 'refused', by: 'auth', text: 'missing scope write' })
    assert.equal(admin.outcome.what, 'server')
    assert.equal(more.outcome.what, 'server')
    await assert.rejects(explain('files__write', { as: 'key:nobody' }), {
      code: 'GW_CALLER_UNKNOWN',
      message: 'no caller named "key:nobody" – known: ci, admin',
    })
    await assert.rejects(explain('files__write', { as: 'key:admim' }), /did you mean "admin"\?/)
    await assert.rejects(explain('files__write', { as: 'nobody' }), { code: 'GW_CALLER_UNKNOWN' })
  })

  test('says which rule of routes sends a call elsewhere, or denies it', async t => {
    const routes = [
      { match: { tool: 'web__search', client: 'cursor' }, deny: 'not from there' },
      { match: { tool: 'files__read' }, to: 'web' },
    ]
    const { explain } = await bench(t, { routes })

    const denied = await explain('web__search', { client: 'cursor' })
    const allowed = await explain('web__search', { client: 'other' })

    assert.deepEqual(denied.outcome, { what: 'refused', by: 'routing', text: 'not from there' })
    assert.equal(denied.steps.find(({ by }) => by === 'routing')?.rule, '/routes/0')
    assert.equal(allowed.outcome.what, 'server')
    assert.match(said(await explain('files__read'), 'routing'), /routed to "web"/)
  })

  test('says which rule of the cache applies', async t => {
    const { explain } = await bench(t, { cache: { tools: { files__read: '1m' } } })

    assert.match(said(await explain('files__read'), 'cache'), /answers are cached for 1m/)
  })

  test('says which limit a call counts on, and counts nothing', async t => {
    const rules = { all: { per: ['principal'], perMinute: 1 } }
    const { explain, running } = await bench(t, { rateLimit: { rules } })

    for (let n = 0; n < 3; n++) assert.equal((await explain('web__search')).outcome.what, 'server')
    const owner = await running.gateway.connect()
    await owner.request('tools/call', { name: 'web__search' }).catch(() => undefined)

    assert.match(said(await explain('web__search'), 'rate-limit'), /"all" is exceeded: 1 per minute/)
  })

  test('says what profile the caller looks through', async t => {
    const { explain } = await bench(t, { profiles: { readers: { tools: { allow: ['*read'] } } } })

    assert.equal((await explain('files__write', { profile: 'readers' })).outcome.by, 'profiles')
    assert.equal((await explain('files__read', { profile: 'readers' })).outcome.what, 'server')
  })

  test('hides secrets', async t => {
    const key = 'hunter2-hunter2-hunter2'
    const { explain } = await bench(t, { upstreams: { web: { headers: { 'x-key': key } } } })

    assert.equal(JSON.stringify(await explain(`web__${key}`)).includes(key), false)
  })
})
