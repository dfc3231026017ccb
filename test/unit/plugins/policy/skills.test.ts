import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'

const CAPABILITIES = { extensions: { 'io.modelcontextprotocol/skills': {} } }

async function createClient(t: Parameters<typeof closeAfter>[0], config: object, methods = {}) {
  const skills = ['open', 'secret'].map(name => ({
    uri: `skill://${name}/SKILL.md`,
    frontmatter: { name, description: 'x' },
    resources: 'dynamic',
  }))
  const page = { ttlMs: 0, cacheScope: 'private' }
  const crm = closeAfter(
    t,
    await testUpstream({
      capabilities: CAPABILITIES,
      resources: {
        ...{ 'skill://open/SKILL.md': 'open text', 'skill://secret/SKILL.md': 'secret text' },
        ...{ 'skill://secret/sub/a.md': 'secret file', 'memo://1': 'a memo' },
      },
      methods: {
        'skills/list': () => ({ ...page, skills }),
        'skills/get': ({ uri }) => ({ ...page, skill: skills.find(one => one.uri === uri) }),
        'resources/directory/read': ({ uri }) => ({ ...page, resources: [{ uri: `${String(uri)}/keys.pem` }] }),
        ...methods,
      },
    }),
  )
  const git = closeAfter(
    t,
    await testUpstream({ capabilities: CAPABILITIES, methods: { 'skills/list': () => ({ ...page, skills: [] }) } }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { crm, git }, config: { cache: false, ...config } }))
  const client = closeAfter(t, await testClient(gateway))
  return async (method: string, uri?: string) => {
    const { result, error } = await client.request(method, uri === undefined ? {} : { uri })
    return JSON.stringify(result ?? error)
  }
}

test('a rule about a skill hides it, and refuses its manifest and its files under every URI', async t => {
  const ask = await createClient(t, { policy: { deny: ['skill.name == "secret" && upstream.name == "crm"'] } })

  // Whether the manifest is known or not.
  for (const manifest of ['unknown', 'known']) {
    for (const uri of ['skill://crm/secret/SKILL.md', 'skill://crm/secret/sub/a.md', 'skill://secret/SKILL.md'])
      assert.match(await ask('resources/read', uri), /-32602|not allowed/, `${manifest} ${uri}`)
    assert.match(await ask('skills/get', 'skill://crm/secret/SKILL.md'), /-32602|not allowed/)
    assert.match(await ask('resources/read', 'memo://1'), /a memo/)
    const list = await ask('skills/list')
    assert.match(list, /crm\/open/)
    assert.doesNotMatch(list, /secret/)
  }
  assert.match(await ask('resources/read', 'skill://secret/sub/a.md'), /-32602|not allowed/)
  assert.match(await ask('resources/read', 'skill://crm/open/SKILL.md'), /open text/)
})

test('a rule that allows one skill allows its list entry, its manifest and its files, and nothing else', async t => {
  const ask = await createClient(t, { policy: { allow: ['skill.name == "open"'] } })

  const list = await ask('skills/list')
  assert.match(list, /crm\/open/)
  assert.doesNotMatch(list, /secret/)
  assert.match(await ask('skills/get', 'skill://crm/open/SKILL.md'), /crm\/open/)
  assert.match(await ask('resources/read', 'skill://crm/open/SKILL.md'), /open text/)
  assert.doesNotMatch(await ask('resources/read', 'skill://crm/secret/SKILL.md'), /text/)
  assert.doesNotMatch(await ask('resources/read', 'memo://1'), /a memo/)
})

test('rules about resources apply to skills and their files as before', async t => {
  const ask = await createClient(t, { policy: { deny: ['resource.original.startsWith("skill://secret/")'] } })

  assert.doesNotMatch(await ask('skills/list'), /secret/)
  assert.doesNotMatch(await ask('resources/read', 'skill://crm/secret/sub/a.md'), /secret file/)
  assert.match(await ask('resources/read', 'skill://crm/open/SKILL.md'), /open text/)
})

test('filters that allow some resources leave the skills that they match', async t => {
  const ask = await createClient(t, { filters: { resources: { allow: ['skill://open/**'] } } })

  const list = await ask('skills/list')
  assert.match(list, /crm\/open/)
  assert.doesNotMatch(list, /secret/)
})

test('a directory or a manifest of a refused skill is not passed on under another spelling of its URI', async t => {
  const ask = await createClient(t, { policy: { deny: ['skill.name == "secret"'] } })
  const filtered = await createClient(t, { filters: { resources: { deny: ['skill://secret', 'skill://secret/**'] } } })

  for (const read of [ask, filtered]) {
    await read('skills/list')
    for (const uri of ['skill://crm/open/../secret', 'skill://crm/open/%2e%2e/secret', 'skill://crm/%73ecret']) {
      assert.match(await read('resources/directory/read', uri), /"resources":\[\]|-32602/, uri)
      assert.match(await read('skills/get', `${uri}/SKILL.md`), /-32602|not allowed/, uri)
    }
  }
  assert.match(await ask('resources/directory/read', 'skill://crm/open'), /keys\.pem/)
})

test('rules and routes about a resource apply to it under the URI that a skill gives it, in any spelling', async t => {
  const calls = await createClient(t, { policy: { deny: ['resource.uri == "memo://1" && client.name != "x"'] } })
  const schemes = await createClient(t, { policy: { deny: ['resource.scheme == "memo" && client.name != "x"'] } })
  const routes = await createClient(t, { routes: [{ match: { resource: 'memo://*' }, deny: 'no' }] })

  for (const ask of [calls, schemes, routes]) {
    for (const uri of ['memo://1', 'skill://crm/memo:/1', 'skill://crm/MEMO:/1', 'skill://crm/memo:/%31'])
      assert.doesNotMatch(await ask('resources/read', uri), /a memo/, uri)
    assert.match(await ask('resources/read', 'skill://crm/open/SKILL.md'), /open text/)
  }
})

test('with rules a skill URI that stands for one without a canonical form is refused, like that one itself', async t => {
  const serveAny = { 'resources/read': () => ({ contents: [{ uri: 'file:///etc/passwd', text: 'a password' }] }) }
  const ask = await createClient(t, { policy: { deny: ['resource.uri.startsWith("file:///etc/")'] } }, serveAny)

  for (const uri of ['file://host/etc/passwd', 'skill://crm/file:/host/etc/passwd'])
    assert.match(await ask('resources/read', uri), /Resource not found/, uri)
})

test('while the manifest is unknown, rules about its name refuse a SKILL.md in any directory of a skill', async t => {
  const serveAny = { 'resources/read': () => ({ contents: [{ uri: 'skill://secret/x/SKILL.md', text: 'nested' }] }) }
  const ask = await createClient(t, { policy: { deny: ['skill.name == "secret"'] } }, serveAny)
  const unknown = await ask('resources/read', 'skill://crm/secret/x/SKILL.md')

  assert.match(unknown, /Request skills\/get first/)
  assert.doesNotMatch(unknown, /nested/)
  assert.doesNotMatch(await ask('resources/read', 'skill://secret/x/SKILL.md'), /nested/)
  assert.match(await ask('skills/get', 'skill://crm/open/SKILL.md'), /crm\/open/)
  assert.match(await ask('resources/read', 'skill://crm/open/x/SKILL.md'), /nested/)
})
