import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { hashOf } from '../../rules/keys.ts'

const PAGE = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
const SKILL = { uri: 'skill://deploy/SKILL.md', frontmatter: { name: 'deploy' }, resources: 'dynamic' }

test('a caller without the scope of a server or of its files gets the missing scope from the methods of skills', async t => {
  const crm = closeAfter(
    t,
    await testUpstream({
      capabilities: { extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } } },
      methods: {
        'skills/list': () => ({ ...PAGE, skills: [SKILL] }),
        'skills/get': () => ({ ...PAGE, skill: SKILL }),
        'resources/directory/read': () => ({ ...PAGE, resources: [] }),
      },
    }),
  )
  for (const rule of [{ upstreams: 'crm' }, { resources: ['skill://deploy', 'skill://deploy/**'] }]) {
    const keys = ['poor', 'rich'].map(name => ({ name, hash: hashOf(name), scopes: name === 'rich' ? ['ops'] : [] }))
    const auth = { keys, rules: [{ ...rule, scopes: ['ops'] }] }
    const gateway = closeAfter(t, await testGateway({ upstreams: { crm }, config: { auth } }))
    for (const key of ['poor', 'rich']) {
      const client = closeAfter(t, await testClient(gateway, { headers: { authorization: `Bearer ${key}` } }))
      for (const [method, uri] of [
        ['skills/get', 'skill://crm/deploy/SKILL.md'],
        ['resources/directory/read', 'skill://crm/deploy'],
      ] as const) {
        const { status, headers, error } = await client.request(method, { uri })
        assert.equal(status, key === 'rich' ? 200 : 403, `${method} ${JSON.stringify(error)}`)
        if (key === 'poor') assert.match(headers['www-authenticate'] ?? '', /insufficient_scope.*scope="ops"/)
      }
      const list = JSON.stringify(await client.request('skills/list'))
      assert.equal(list.includes('skill://crm/deploy'), key === 'rich')
    }
  }
})
