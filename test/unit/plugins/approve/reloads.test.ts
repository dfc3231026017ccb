import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createKey } from '../../../../src/cli/scaffold.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { until } from '../../../fixtures/until.ts'
import { callOf, connect, SECRET, setting, sign, textOf, webhook, type Setting } from './setting.ts'

const ALICE = createKey('alice', [])
const BOB = createKey('bob', [])
const KEYS = [
  { name: 'alice', hash: ALICE.hash },
  { name: 'bob', hash: BOB.hash },
]

const AS_ALICE = { headers: { authorization: `Bearer ${ALICE.key}` } }

interface Waiting extends Setting {
  /** Loads the configuration with something else in it. */
  become(change: (config: JsonObject) => JsonObject): Promise<void>
  /** Approves the call, as the owner does; what its caller hears then. */
  approve(): Promise<string>
}

/** A call of alice that waits for the owner. */
async function waiting(t: TestContext): Promise<Waiting> {
  const made = await setting(t, { by: ['owner'] }, { config: { auth: { keys: KEYS } } })
  const { gateway } = made.gateway
  const client = await connect(t, made.gateway, {})
  const answer = client.request('tools/call', callOf(7), AS_ALICE)
  let id: unknown
  await until(async () => {
    const { approvals } = await gateway.control('approvals.list')
    id = (approvals as JsonObject[])[0]?.id
    return id !== undefined
  })
  return {
    ...made,
    become: async change =>
      void (await gateway.reload(change(structuredClone(gateway.generation.loaded.config) as never))),
    approve: async () => {
      assert.deepEqual(await gateway.control('approvals.approve', { id: String(id) }), { decided: 1 })
      return textOf(await answer)
    },
  }
}

function upstream(config: JsonObject, become: object): JsonObject {
  const upstreams = config.upstreams as { pay: object }
  return { ...config, upstreams: { pay: { ...upstreams.pay, ...become } } }
}

const NOT_OFFERED = /not run: the target is no longer available to the caller/
const ANOTHER = /not run: the upstream was replaced/
const NOT_LET_IN = /not run: the caller is no longer authorized/

for (const [where, change, why] of [
  ['its tool is hidden', config => upstream(config, { tools: { deny: ['send'] } }), NOT_OFFERED],
  ['its name is another one', config => upstream(config, { prefix: 'bank__' }), NOT_OFFERED],
  ['another server has its name', (config, url) => upstream(config, { type: 'http', url }), ANOTHER],
  ['its server is gone', config => ({ ...config, upstreams: {} }), ANOTHER],
  ['its caller is let in no more', config => ({ ...config, auth: { keys: KEYS.slice(1) } }), NOT_LET_IN],
  [
    'its caller may do something else',
    config => ({ ...config, auth: { keys: KEYS.map(key => ({ ...key, scopes: ['read'] })) } }),
    NOT_LET_IN,
  ],
] as readonly (readonly [string, (config: JsonObject, url: string) => JsonObject, RegExp])[])
  test(`a call that waited over a reload is approved, and does not run, where ${where} by now`, async t => {
    const { become, approve, sent } = await waiting(t)
    const other = closeAfter(t, await testUpstream({ tools: { send: () => 'sent' } }))
    await become(config => change(config, other.url))

    assert.match(await approve(), why)
    assert.deepEqual([...sent(), ...other.listCalls('tools/call')], [])
  })

test('a call that waited over a reload which is not about it runs once it is approved', async t => {
  const { become, approve, sent } = await waiting(t)
  await become(config => ({
    ...upstream(config, { tools: { deny: ['look'] } }),
    auth: { keys: KEYS.slice(0, 1) },
    log: { level: 'warn' },
  }))

  assert.equal(await approve(), 'sent')
  assert.deepEqual(sent(), [7])
})

describe('who was asked before a reload, and would not be asked after it', () => {
  const webhookOf = (url: string): object => ({ by: ['webhook'], webhook: { url, secret: SECRET } })

  test('lets nothing run: a client of 2025-11-25', async t => {
    const { gateway, sent } = await setting(t, {})
    const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } })
    cleanup(t, () => client.close())
    client.setRequestHandler(ElicitRequestSchema, async () => {
      const { config } = gateway.gateway.generation.loaded
      await gateway.gateway.reload({ ...config, approve: { by: ['owner'] } })
      return { action: 'accept', content: { approve: true } }
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)))

    const answer = await client.callTool(callOf(7) as never)

    assert.match(JSON.stringify(answer), /approval_unavailable/)
    assert.deepEqual(sent(), [])
  })

  for (const [what, approve] of [
    ['that another one took the place of', webhookOf('http://127.0.0.1:9/')],
    ['that is none any more', { by: ['owner'] }],
  ] as const)
    test(`lets nothing run: a webhook ${what}`, async t => {
      const made: { become?: () => Promise<unknown> } = {}
      const { url } = await webhook(t, async ({ id }) => {
        await made.become?.()
        const body = JSON.stringify({ id, decision: 'approve' })
        return { body, headers: sign(body) }
      })
      const { gateway, sent } = await setting(t, webhookOf(url))
      const client = await connect(t, gateway, {})
      assert.equal(textOf(await client.request('tools/call', callOf(6))), 'sent')
      const { config } = gateway.gateway.generation.loaded
      made.become = () => gateway.gateway.reload({ ...config, approve })

      assert.match(textOf(await client.request('tools/call', callOf(7))), /approval_unavailable/)
      assert.deepEqual(sent(), [6])
    })
})
