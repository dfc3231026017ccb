import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const RULES: Readonly<Record<string, JsonObject>> = {
  'a filter': { filters: { resources: { deny: ['db://vault/**'] } } },
  'a filter of one server': { upstreams: { db: { resources: { deny: ['db://vault/**'] } } } },
  'a profile': { profiles: { default: { resources: { deny: ['db://vault/**'] } } } },
  'a route': { routes: [{ match: { resource: 'db://vault/**' }, deny: 'no' }] },
  'a policy that denies': { policy: { deny: ['resource.uri.startsWith("db://vault/")'] } },
  'a policy that requires': { policy: { require: ['!resource.uri.startsWith("db://vault/")'] } },
  'a policy that asks': { policy: { ask: ['resource.uri.startsWith("db://vault/")'] } },
}
const SPELLINGS = [
  'db://vault/key',
  'db://u@vault/key',
  'db://u:p@vault/key',
  'db://@vault/key',
  'db://:@vault/key',
  'db://vault:1/key',
  'db://vault:/key',
  'db://vault./key',
  'db://VAULT/key',
  'DB://Vault:99/key',
  'db://u@VAULT:1/key',
  'db://%76ault/key',
]

for (const [name, rules] of Object.entries(RULES))
  test(`no authority of a custom scheme passes ${name}`, async t => {
    const db = closeAfter(
      t,
      await testUpstream({
        resources: { 'db://open/a': 'open' },
        capabilities: { completions: {}, resources: { subscribe: true } },
        methods: {
          'resources/read': ({ uri }: JsonObject) => ({ contents: [{ uri, text: 'read' }] }),
          'resources/templates/list': () => ({
            resourceTemplates: [{ name: 'x', uriTemplate: 'db://{x}/{y}' }],
          }),
          'completion/complete': () => ({ completion: { values: ['x'] } }),
        },
      }),
    )
    const gateway = closeAfter(t, await testGateway({ upstreams: { db }, config: { cache: false, ...rules } }))
    const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
    const refuse = async (uri: string): Promise<void> => {
      const completion = { ref: { type: 'ref/resource', uri }, argument: { name: 'y', value: '' } }
      const requests: [method: string, params: JsonObject][] = [
        ['resources/read', { uri }],
        ['resources/subscribe', { uri }],
        ...(name === 'a route' ? [] : [['completion/complete', completion] as [string, JsonObject]]),
      ]
      for (const [method, params] of requests)
        assert.ok((await client.request(method, params)).error !== undefined, `${method} of ${uri}`)
    }
    await Promise.all(SPELLINGS.map(refuse))
    for (const uri of ['db://open/a', 'db://Open:5432/b', 'db://other/c'])
      assert.ok((await client.request('resources/read', { uri })).result !== undefined, uri)
  })
