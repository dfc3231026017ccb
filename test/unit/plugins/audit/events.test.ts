import assert from 'node:assert/strict'
import { request } from 'node:http'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { answer, isObject, type JsonObject, type Plugin } from '../../../../src/plugin.ts'
import { definePlugin } from '../../../fixtures/define-plugin.ts'
import { testClient, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { directoryFor, linesOf } from './kit.ts'

const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }

/** Asks once for a name, then greets. */
function greet(_args: JsonObject, { params }: { params: JsonObject }): unknown {
  if (isObject(params.inputResponses)) return 'hello'
  const ask = { method: 'elicitation/create', params: { mode: 'form', message: 'Name?', requestedSchema } }
  return { resultType: 'input_required', inputRequests: { name: ask }, requestState: 'asked' }
}

/** A gateway with an audit, and its lines of one kind once it has closed. */
async function audited(
  t: TestContext,
  plugins: readonly Plugin<never>[],
  use: (gateway: TestGateway) => Promise<void>,
): Promise<JsonObject[]> {
  const directory = await directoryFor(t)
  await using web = await testUpstream({ era: 'modern', tools: { greet } })
  const gateway = await testGateway({
    upstreams: { web },
    plugins,
    directory,
    config: { audit: { file: 'a.jsonl' } },
  })
  await use(gateway)
  await gateway.gateway.close()
  return await linesOf(join(directory, 'a.jsonl'))
}

function only(lines: readonly JsonObject[], kind: string, members: readonly string[]): unknown[] {
  return lines
    .filter(line => line.kind === kind)
    .map(line => Object.fromEntries(members.map(member => [member, line[member]])))
}

for (const [reply, outcome] of [
  [answer({ action: 'decline' }), 'decline'],
  [undefined, 'refused'],
] as const)
  test(`what a server asks a client for is a line of the call it belongs to: ${outcome}`, async t => {
    const replies = definePlugin({
      name: 'replies',
      setup({ hooks }) {
        hooks.clientRequest.tap(() => reply)
      },
    })

    const lines = await audited(t, [replies], async gateway => {
      await using client = await testClient(gateway, { era: 'legacy' })
      await client.request('tools/call', { name: 'web__greet', arguments: {} })
    })

    const [call] = only(lines, 'call', ['id', 'session']) as [{ id: string; session: string }]
    assert.deepEqual(only(lines, 'client_request', ['call', 'session', 'name', 'upstream', 'outcome']), [
      { call: call.id, session: call.session, name: 'elicitation/create', upstream: 'web', outcome },
    ])
  })

test('what the owner does by a command is a line, and what he only looks at is none', async t => {
  const lines = await audited(t, [], async ({ gateway }) => {
    await gateway.control('ps', {})
    await gateway.control('upstream.stop', { upstream: 'web' })
    await assert.rejects(gateway.control('upstream.stop', { upstream: 'gone' }))
  })

  assert.deepEqual(only(lines, 'control', ['name', 'upstream', 'outcome']), [
    { name: 'upstream.stop', upstream: 'web', outcome: 'ok' },
    { name: 'upstream.stop', upstream: 'gone', outcome: 'GW_UPSTREAM_UNKNOWN' },
  ])
})

test('a request that the listener itself does not let in is a line', async t => {
  const lines = await audited(t, [], async ({ url }) => {
    for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }]) {
      const sent = request(url, { method: 'POST', headers }).end()
      await new Promise(resolve => sent.once('response', response => response.resume().once('end', resolve)))
    }
  })

  assert.deepEqual(only(lines, 'refused', ['listener', 'name', 'path', 'status']), [
    { listener: 'main', name: 'POST', path: '/mcp', status: 403 },
    { listener: 'main', name: 'POST', path: '/mcp', status: 403 },
  ])
})

test('a plugin may add what happened in it, without its secrets', async t => {
  const permits = definePlugin({
    name: 'permits',
    setup({ hooks, record }) {
      hooks.request.tap({ methods: ['tools/call'] }, exchange => {
        record({
          kind: 'permission',
          name: 'rm -rf',
          outcome: 'denied',
          exchange,
          fields: { by: 'rule 1', tries: 2 },
        })
      })
    },
  })

  const lines = await audited(t, [permits], async gateway => {
    await using client = await testClient(gateway)
    await client.request('tools/call', { name: 'web__greet', arguments: {} })
  })

  assert.deepEqual(only(lines, 'permission', ['name', 'by', 'tries', 'outcome']), [
    { name: 'rm -rf', by: 'rule 1', tries: 2, outcome: 'denied' },
  ])
})
