import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { GatewayError } from '../../../../src/errors/errors.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const KEY = `ghp_${'a1B2'.repeat(9)}`
const MAIL = 'ann@example.com'
const ERAS = ['modern', 'legacy'] as const

async function scene(t: TestContext, redact: JsonObject, more: JsonObject = {}, era: (typeof ERAS)[number] = 'modern') {
  const crm = closeAfter(
    t,
    await testUpstream({
      tools: {
        find: () => ({
          content: [{ type: 'text', text: `{"id": 1.50, "mail": "${MAIL}"}` }],
          structuredContent: { id: 1, mail: MAIL, deep: [{ [MAIL]: KEY }] },
        }),
        fail: () => ({ code: -32000, message: `no such person: ${MAIL}`, data: { key: KEY } }),
        chatty: {
          run: (_args, { notify }) => {
            notify('notifications/message', {
              level: 'error',
              logger: 'crm',
              data: { note: `asked by ${MAIL}` },
            })
            return 'done'
          },
        },
        echo: args => JSON.stringify(args),
        odd: () => ({
          content: [{ type: 'text', text: JSON.stringify({ taskId: MAIL, requestState: [MAIL] }) }],
          structuredContent: { employee: 123456, half: 1.5 },
          nextCursor: MAIL,
          taskId: MAIL,
          progressToken: MAIL,
          requestState: MAIL,
        }),
      },
      prompts: { letter: () => `Dear ${MAIL}` },
      resources: { 'crm://1': `mail: ${MAIL}` },
    }),
  )
  const options = { upstreams: { crm }, config: { cache: false, metrics: {}, redact, ...more } }
  const gateway = closeAfter(t, await testGateway(options))
  const client = closeAfter(t, await testClient(gateway, { era }))
  return { crm, gateway, client }
}

for (const era of ERAS)
  test(`what a server answers a ${era} client is free of what a rule names, wherever it stands`, async t => {
    const { client } = await scene(t, { rules: [{ detect: ['email', 'secrets'] }] }, {}, era)

    const found = await client.request('tools/call', { name: 'crm__find', arguments: {} })
    const failed = await client.request('tools/call', { name: 'crm__fail', arguments: {} })
    const prompt = await client.request('prompts/get', { name: 'crm__letter', arguments: {} })
    const read = await client.request('resources/read', { uri: 'crm://1' })

    for (const reply of [found, failed, prompt, read]) {
      const text = JSON.stringify(reply)
      assert.match(text, /\[redacted:email\]/)
      assert.doesNotMatch(text, /ann@example|ghp_/)
    }
    const [{ text } = { text: '' }] = found.result?.content as { text: string }[]
    assert.equal(text, '{"id": 1.50, "mail": "[redacted:email]"}')
    assert.equal(typeof failed.error?.code, 'number')
  })

test('what a server logs and tells on the way is free of it, too', async t => {
  const { client } = await scene(t, { rules: [{ detect: ['email'] }] }, {}, 'legacy')

  const { notifications } = await client.request('tools/call', { name: 'crm__chatty', arguments: {} })

  assert.equal(notifications.length, 1)
  assert.deepEqual((notifications[0]?.params as JsonObject).data, { note: 'asked by [redacted:email]' })
})

test('arguments reach no server with what a rule names, and the rest as it was written', async t => {
  const rules = [{ detect: ['email', 'card'], in: ['arguments'], action: 'mask' }]
  const { client, crm } = await scene(t, { rules })

  const { result } = await client.request('tools/call', {
    name: 'crm__echo',
    arguments: { to: `Ann <${MAIL}>`, deep: [{ card: '4111 1111 1111 1111' }], n: 1.5 },
  })

  const sent = crm.listCalls('tools/call')[0]?.params?.arguments
  assert.deepEqual(sent, { to: 'Ann <a***@example.com>', deep: [{ card: '****1111' }], n: 1.5 })
  assert.match(JSON.stringify(result), /a\*\*\*@example\.com/)
})

test('headers that repeat arguments are free of what is taken out of those', async t => {
  const schema = { type: 'object', properties: { to: { type: 'string', 'x-mcp-header': 'To' } } }
  const web = closeAfter(t, await testUpstream({ tools: { send: { inputSchema: schema, run: () => 'sent' } } }))
  const redact = { rules: [{ detect: ['email'], in: ['arguments'] }] }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: { redact } }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await client.request('tools/list')

  const { error } = await client.request('tools/call', { name: 'web__send', arguments: { to: MAIL } })

  const [call] = web.listCalls('tools/call')
  assert.equal(error, undefined)
  assert.equal(call?.headers['mcp-param-to'], '[redacted:email]')
  assert.doesNotMatch(JSON.stringify(call), /ann@/)
})

test('a rule that refuses lets no such arguments out, and no such answer in', async t => {
  const rules = [
    { for: ['crm__echo'], detect: ['api-key'], in: ['arguments'], action: 'refuse' },
    { for: ['crm__find'], detect: ['email'], action: 'refuse' },
  ]
  const { client, crm } = await scene(t, { rules })

  const asked = await client.request('tools/call', { name: 'crm__echo', arguments: { key: KEY } })
  const fine = await client.request('tools/call', { name: 'crm__echo', arguments: { key: 'none' } })
  const found = await client.request('tools/call', { name: 'crm__find', arguments: {} })

  assert.equal((asked.error?.data as JsonObject).code, 'GW_REDACT_ARGUMENTS')
  assert.equal(fine.error, undefined)
  assert.equal((found.error?.data as JsonObject).code, 'GW_REDACT_RESULT')
  assert.doesNotMatch(JSON.stringify([asked, found]), /ghp_|ann@/)
  assert.deepEqual(
    crm.listCalls('tools/call').map(({ params }) => params?.name),
    ['echo', 'find'],
  )
})

test('a rule for some tools leaves others alone', async t => {
  const { client } = await scene(t, { rules: [{ for: ['crm__find'], detect: ['email'] }] })

  const echoed = await client.request('tools/call', { name: 'crm__echo', arguments: { to: MAIL } })
  const found = await client.request('tools/call', { name: 'crm__find', arguments: {} })

  assert.match(JSON.stringify(echoed.result), /ann@example/)
  assert.doesNotMatch(JSON.stringify(found.result), /ann@example/)
})

test('an expression of the owner is used beside ours', async t => {
  const redact = { rules: [{ detect: ['staff'], in: ['arguments'] }], expressions: { staff: 'EMP-[0-9]{6}' } }
  const { client, crm } = await scene(t, redact)

  await client.request('tools/call', { name: 'crm__echo', arguments: { by: 'EMP-123456' } })

  assert.deepEqual(crm.listCalls('tools/call')[0]?.params?.arguments, { by: '[redacted:staff]' })
})

test('finds are counted and audited, without what was found', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'redact-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'audit.jsonl')
  const { client, gateway } = await scene(t, { rules: [{ detect: ['email', 'secrets'] }] }, { audit: { file } })

  await client.request('tools/call', { name: 'crm__find', arguments: {} })
  const page = await (await fetch(new URL('/metrics', gateway.url))).text()
  await gateway.gateway.close()
  const audit = readFileSync(file, 'utf8')

  assert.match(page, /tapgate_redactions_total\{detector="email",direction="results",action="replace"\} 3/)
  assert.match(audit, /"kind":"redaction".*"name":"crm__find".*"direction":"results"/)
  assert.doesNotMatch(audit, /ann@example|ghp_/)
})

test('a configuration that names no detector, or an expression that is none, is refused with its place', async () => {
  const upstreams = { web: { type: 'http', url: 'http://127.0.0.1:1/mcp' } }
  const refused = (redact: JsonObject, says: RegExp): Promise<void> =>
    assert.rejects(testGateway({ config: { upstreams, redact } }), (error: GatewayError) =>
      says.test(JSON.stringify([error.message, error.fields])),
    )

  await refused({ rules: [{ detect: ['emial'] }] }, /rules\/0\/detect\/0.*email/)
  await refused({ rules: [{ detect: ['x'] }], expressions: { x: '(?<=a)b' } }, /redact\.expressions\.x/)
  await refused({ rules: [] }, /rules/)
})

for (const era of ERAS)
  test(`a ${era} client gets nothing through members that elsewhere steer the protocol`, async t => {
    const { client } = await scene(t, { rules: [{ detect: ['email'] }] }, {}, era)

    const { result } = await client.request('tools/call', { name: 'crm__odd', arguments: {} })

    assert.doesNotMatch(JSON.stringify(result), /ann@/)
    assert.equal((result?.structuredContent as JsonObject).half, 1.5)
  })

test('an expression of the owner is looked for in numbers, but not in the code of an error', async t => {
  const rules = [{ detect: ['staff'], in: ['arguments', 'results'] }]
  const { client, crm } = await scene(t, { rules, expressions: { staff: '[0-9]{5,6}' } })

  const { result } = await client.request('tools/call', { name: 'crm__odd', arguments: {} })
  const failed = await client.request('tools/call', { name: 'crm__fail', arguments: { by: 654321, n: 12 } })

  assert.deepEqual(result?.structuredContent, { employee: 0, half: 1.5 })
  assert.equal(failed.error?.code, -32603)
  assert.deepEqual(crm.listCalls('tools/call')[1]?.params?.arguments, { by: 0, n: 12 })
})

test('a large result is redacted however long that takes on a busy machine', async t => {
  const rules = [{ detect: ['email'], in: ['results'] }]
  const { client } = await scene(t, { rules }, { hooks: { timeout: '5ms' } })
  const long = `${MAIL} and words `.repeat(30_000)

  const { error, result } = await client.request('tools/call', { name: 'crm__echo', arguments: { long } })

  assert.equal(error, undefined)
  assert.doesNotMatch(JSON.stringify(result), /ann@/)
})

for (const oversized of ['refuse', 'pass'])
  test(`a message larger than maxBytes: ${oversized}`, async t => {
    const rules = [{ detect: ['email'], in: ['arguments', 'results'] }]
    const { client, crm } = await scene(t, { rules, maxBytes: 1000, oversized })
    const long = `${MAIL} ${'x'.repeat(1000)}`

    const { error, result } = await client.request('tools/call', {
      name: 'crm__echo',
      arguments: { long },
    })
    const small = await client.request('tools/call', { name: 'crm__find', arguments: {} })

    assert.doesNotMatch(JSON.stringify(small), /ann@/)
    if (oversized === 'refuse') {
      assert.equal((error?.data as JsonObject).code, 'GW_REDACT_SIZE')
      assert.deepEqual(
        crm.listCalls('tools/call').map(({ params }) => params?.name),
        ['find'],
      )
    } else assert.match(JSON.stringify(result), /ann@/)
  })
