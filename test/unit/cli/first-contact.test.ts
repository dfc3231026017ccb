import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inspection } from '../../../src/api/gateway.ts'
import { formatSummary } from '../../../src/cli/serve/summary.ts'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const OUT = outputTo()
const HASH = 'sha256:6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090'

/** What is shown of a gateway with this at its beginning. */
function summaryOf(more: Partial<Inspection>, asksForKey: boolean): string[] {
  const nothing = { upstreams: [], listeners: [], catalog: [], withheld: [], unmatched: [], plugins: [], hooks: {} }
  return formatSummary({ ...nothing, ...more }, { name: 'gw', asksForKey }, OUT)
}

test('a server that starts still is not said to offer nothing', () => {
  const upstreams = [
    { name: 'slow', type: 'stdio', state: 'starting' as const },
    { name: 'bare', type: 'stdio', state: 'ready' as const },
  ]

  assert.deepEqual(summaryOf({ upstreams }, false).slice(1, 3), ['  slow  starting', '  bare  ready     nothing'])
})

test('the line for clients carries the key where the gateway asks for one', () => {
  const main = { name: 'main', type: 'http', url: 'http://127.0.0.1:1/mcp' }
  const text = summaryOf({ listeners: [main] }, true).join('\n')

  assert.match(text, /claude mcp add .*\/mcp --header "Authorization: Bearer <key>"$/m)
  assert.match(text, /gateway key new/)
})

for (const [what, headers] of [
  ['nothing', {}],
  ['a wrong key', { 'x-api-key': 'wrong' }],
] as const)
  test(`a 401 for ${what} says what to send`, async t => {
    const auth = { keys: [{ name: 'ci', hash: HASH }] }
    const gateway = closeAfter(t, await testGateway({ config: { auth } }))

    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })

    assert.equal(response.status, 401)
    assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/)
    const { error } = (await response.json()) as { error: { message: string } }
    assert.match(error.message, /send "Authorization: Bearer <API key>" or "X-API-Key: <API key>"/)
  })
