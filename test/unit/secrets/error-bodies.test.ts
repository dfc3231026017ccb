import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, type TestGateway } from '../../../src/testing/index.ts'
import { json, modern, peer, result, type Heard } from '../fixtures/http-peer.ts'
import { until } from '../../fixtures/until.ts'

const TOKEN = 'sk-literal-operator-token'
const QUERY = 'query-operator-key'

async function over(t: TestContext, url: string, type = 'http', more: JsonObject = {}): Promise<TestGateway> {
  const web = { type, url: `${url}?api_key=${QUERY}`, headers: { Authorization: `Bearer ${TOKEN}` }, ...more }
  return closeAfter(t, await testGateway({ config: { upstreams: { web } } }))
}

/** All that a client, a REST client and a reader of the log, `ps` and `inspect` get. */
async function everything(
  t: TestContext,
  gateway: TestGateway,
): Promise<{ client: string; owner: string; all: string }> {
  const modernClient = closeAfter(t, await testClient(gateway))
  const legacyClient = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  const call = { name: 'web__echo', arguments: {} }
  const answers = [
    await modernClient.request('tools/call', call),
    await legacyClient.request('tools/call', call),
    await modernClient.request('tools/list'),
  ]
  const client = JSON.stringify(answers)
  const shown = [await gateway.gateway.control('ps'), await gateway.gateway.inspect()]
  const owner = JSON.stringify([gateway.log, shown])
  return { client, owner, all: client + owner }
}

function assertClean(text: string): void {
  assert.deepEqual(text.match(/.{40}(?:operator|b3BlcmF0b3|9wZXJhdG9y|vcGVyYXRvc).{40}/g) ?? [], [])
}

const TOOLS = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }

function quoting({ headers }: Heard): string {
  const { authorization = '' } = headers
  return `no entry for ${authorization}, ${Buffer.from(authorization).toString('base64')}, ?api_key=${QUERY}`
}

describe('the body of an error status', () => {
  for (const status of [400, 401, 403, 404, 422, 429, 500, 502])
    it(`HTTP ${status} is for the owner, without credentials of ours`, async t => {
      const server = await peer(
        t,
        modern((heard, response) => void response.writeHead(status).end(quoting(heard))),
      )
      const { client, owner, all } = await everything(t, await over(t, server.url))

      assert.match(client, new RegExp(`HTTP ${status}`))
      assert.doesNotMatch(client, /no entry/)
      assert.match(owner, /no entry for Bearer \*\*\*/)
      assertClean(all)
    })

  it('counts for nobody but the owner where it comes with status 200', async t => {
    const server = await peer(
      t,
      modern((heard, response) => void response.writeHead(200).end(quoting(heard))),
    )
    const { client, all } = await everything(t, await over(t, server.url))

    assert.doesNotMatch(client, /no entry/)
    assertClean(all)
  })

  it('that is a JSON-RPC error reaches the client, without credentials of ours', async t => {
    const server = await peer(
      t,
      modern((heard, response) =>
        json(response, 400, {
          jsonrpc: '2.0',
          id: heard.message.id,
          error: { code: -32000, message: quoting(heard), data: { sent: { [TOKEN]: [heard.headers] } } },
        }),
      ),
    )
    const { client, all } = await everything(t, await over(t, server.url))

    assert.match(client, /no entry for Bearer \*\*\*/)
    assertClean(all)
  })

  it('of a handshake shows in ps, and to nobody else', async t => {
    const server = await peer(t, (heard, response) => void response.writeHead(500).end(quoting(heard)))
    const { client, owner, all } = await everything(t, await over(t, server.url))

    assert.doesNotMatch(client, /no entry/)
    assert.match(owner, /no entry for Bearer \*\*\*/)
    assertClean(all)
  })

  it('leaves results as they are: what a tool says is its answer', async t => {
    const server = await peer(
      t,
      modern((heard, response) => {
        const said = { content: [{ type: 'text', text: `it is ${TOKEN}` }] }
        result(response, heard, heard.message.method === 'tools/list' ? TOOLS : said)
      }),
    )
    const { client, owner } = await everything(t, await over(t, server.url))

    assert.match(client, new RegExp(`it is ${TOKEN}`))
    assertClean(owner)
  })
})

describe('a 403 of an upstream', () => {
  it('is no refusal of credentials, and the owner reads what the server said', async t => {
    const server = await peer(
      t,
      modern((_heard, response) => json(response, 403, { error: 'plan does not include this tool' })),
    )
    const { client, owner } = await everything(t, await over(t, server.url))

    assert.match(client, /denied access: HTTP 403/)
    assert.doesNotMatch(client + owner, /credentials/)
    assert.match(owner, /plan does not include this tool/)
  })

  it('with a challenge is one', async t => {
    const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="repo"' }
    const server = await peer(
      t,
      modern((_heard, response) => json(response, 403, {}, challenge)),
    )
    const { client, owner } = await everything(t, await over(t, server.url))

    assert.match(client, /refused the credentials: HTTP 403/)
    assert.match(owner, /insufficient_scope/)
  })

  it('shows in gateway ps as what went wrong last', async t => {
    const server = await peer(
      t,
      modern((_heard, response) => json(response, 403, { error: 'not on this plan' })),
    )
    const gateway = await over(t, server.url)
    await everything(t, gateway)

    const { upstreams } = (await gateway.gateway.control('ps')) as { upstreams: JsonObject[] }
    assert.match(JSON.stringify(upstreams[0]?.runtime), /"lastError":"HTTP 403; last message: .*not on this plan/)
  })
})

it('what a server refuses a thousand times a second is logged ten times, and counted', async t => {
  const server = await peer(
    t,
    modern((heard, response) =>
      heard.message.method === 'tools/call'
        ? void response.writeHead(500).end('sorry')
        : result(response, heard, TOOLS),
    ),
  )
  const gateway = await over(t, server.url, 'http', { breaker: false, retry: false })
  const client = closeAfter(t, await testClient(gateway))
  await Promise.all(
    Array.from({ length: 50 }, () => client.request('tools/call', { name: 'web__echo', arguments: {} })),
  )

  await until(() => gateway.log.some(({ message }) => message === 'call rejected by the server'), 'it is logged')
  const lines = gateway.log.filter(({ message }) => message === 'call rejected by the server')
  assert.ok(lines.length <= 20, `${lines.length} lines`)
})
