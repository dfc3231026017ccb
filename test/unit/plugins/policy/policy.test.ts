import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createKey } from '../../../../src/cli/scaffold.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestReply,
  type TestGateway,
  type TestUpstream,
} from '../../../../src/testing/index.ts'

type Policy = Record<string, unknown>

async function serve(
  t: TestContext,
  policy: Policy,
  more: { config?: object; era?: 'modern' | 'legacy' } = {},
): Promise<{ files: TestUpstream; gateway: TestGateway }> {
  const files = closeAfter(
    t,
    await testUpstream({
      era: more.era ?? 'modern',
      tools: {
        read: {
          description: 'Reads',
          annotations: { readOnlyHint: true },
          run: ({ path }) => `read ${String(path)}`,
        },
        write: { description: 'Writes', run: () => 'written' },
        odd: () => 'odd',
      },
      prompts: { greet: () => 'hello' },
      resources: { 'file:///a.txt': 'a', 'file:///secret.txt': 's' },
      methods: {
        'completion/complete': () => ({ completion: { values: ['x'] } }),
        'x/own': () => ({ own: true }),
      },
      capabilities: { completions: {} },
    }),
  )
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { files }, config: { policy, ...more.config } as never }),
  )
  return { files, gateway }
}

function reason({ error }: TestReply): string | undefined {
  return (error?.data as { code?: string } | undefined)?.code ?? error?.message
}

async function names(client: { request: (method: string) => Promise<TestReply> }): Promise<string[]> {
  const { result } = await client.request('tools/list')
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

describe('a rule of deny', () => {
  test('about arguments refuses the call by its name, and no server hears of it', async t => {
    const { files, gateway } = await serve(t, {
      deny: [{ for: 'files__*', when: 'args.?path.orValue("").startsWith("/etc")', name: 'no-etc' }],
    })
    const client = closeAfter(t, await testClient(gateway))

    const refused = await client.request('tools/call', {
      name: 'files__read',
      arguments: { path: '/etc/passwd' },
    })
    const allowed = await client.request('tools/call', { name: 'files__read', arguments: { path: '/srv/x' } })

    assert.deepEqual(refused.error?.data, { code: 'GW_POLICY_DENIED', rule: 'no-etc' })
    assert.doesNotMatch(refused.error?.message ?? '', /startsWith/)
    assert.ok(allowed.result)
    assert.equal(files.listCalls('tools/call').length, 1)
    assert.deepEqual(await names(client), ['files__read', 'files__write', 'files__odd'])
  })

  test('that needs no call hides the tool, and a call by its name is of an unknown tool', async t => {
    const { files, gateway } = await serve(t, {
      deny: ['tool.name == "files__write"', 'resource.uri.endsWith("secret.txt")'],
    })
    const client = closeAfter(t, await testClient(gateway))

    assert.deepEqual(await names(client), ['files__read', 'files__odd'])
    const call = await client.request('tools/call', { name: 'files__write' })
    assert.equal(call.error?.code, -32602)
    assert.match(call.error?.message ?? '', /Unknown tool/)
    const read = await client.request('resources/read', { uri: 'file:///secret.txt' })
    assert.equal(read.error?.code, -32602)
    assert.ok((await client.request('resources/read', { uri: 'file:///a.txt' })).result)
    assert.ok((await client.request('prompts/get', { name: 'files__greet' })).result)
    assert.equal(files.listCalls('tools/call').length, 0)
  })

  test('that fails refuses, is counted, and is logged once', async t => {
    const { gateway } = await serve(t, {
      deny: [{ for: 'files__read', when: 'args.size > 10.0', name: 'size' }],
    })
    const client = closeAfter(t, await testClient(gateway))

    for (let call = 0; call < 3; call++)
      assert.equal(reason(await client.request('tools/call', { name: 'files__read' })), 'GW_POLICY_DENIED')
    assert.ok((await client.request('tools/call', { name: 'files__read', arguments: { size: 1 } })).result)

    const figures = gateway.gateway.generation.graph.hooks.getRunner('metrics')?.([]) ?? []
    const failures = figures.find(({ name }) => name === 'tapgate_policy_rule_failures')
    assert.deepEqual(failures?.samples, [{ suffix: '_total', labels: { rule: 'size' }, value: 3 }])
    assert.equal(gateway.log.filter(({ message }) => /rule failed/.test(String(message))).length, 1)
  })

  test('sees the arguments of prompts, completions, and methods that nobody knows', async t => {
    const { files, gateway } = await serve(t, {
      deny: ['has(args.who) && args.who == "eve"', 'has(args.bad)', 'prompt.name == "x" && args.who == "x"'],
    })
    const client = closeAfter(t, await testClient(gateway))

    for (const [method, params] of [
      ['prompts/get', { name: 'files__greet', arguments: { who: 'eve' } }],
      ['x/own', { bad: true }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'files__greet' }, argument: { name: 'who', value: 'eve' } },
      ],
      ['tools/call', { name: 'files__odd', arguments: { bad: null } }],
    ] as const)
      assert.equal(reason(await client.request(method, params)), 'GW_POLICY_DENIED', method)
    assert.ok((await client.request('x/own', {})).result)
    assert.ok((await client.request('prompts/get', { name: 'files__greet', arguments: { who: 'bob' } })).result)
    assert.equal(files.listCalls('x/own').length, 1)
  })

  test('cannot be told another argument than the server gets', async t => {
    const { files, gateway } = await serve(t, { deny: [{ for: '*', when: 'args.?id.orValue(0) == 7' }] })
    const client = closeAfter(t, await testClient(gateway))
    const meta =
      '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'files__odd' }
    const call = (args: string): ReturnType<typeof client.sendRaw> =>
      client.sendRaw(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__odd","arguments":${args},${meta}}}`,
        headers,
      )
    for (const args of [
      '{"id":8,"id":7}',
      '{"id":8,"\\u0069d":7}',
      '{"id":9007199254740993}',
      '[7]',
      '"x"',
      '{"constructor":1}',
    ])
      assert.ok((await call(args)).error !== undefined, args)
    assert.equal(files.listCalls('tools/call').length, 0)

    await call('{"id":7,"id":8}')
    assert.deepEqual(
      files.listCalls('tools/call').map(({ params }) => params?.arguments),
      [{ id: 8 }],
    )
  })
})

test('with a rule of allow everything else is refused, and what no rule could allow is not listed', async t => {
  const { gateway } = await serve(t, {
    allow: ['tool.annotations.?readOnlyHint.orValue(false)', { for: 'files__odd', when: 'args.?x.orValue(0) == 1' }],
  })
  const client = closeAfter(t, await testClient(gateway))

  assert.deepEqual(await names(client), ['files__read', 'files__odd'])
  assert.ok((await client.request('tools/call', { name: 'files__read' })).result)
  assert.ok((await client.request('tools/call', { name: 'files__odd', arguments: { x: 1 } })).result)
  const odd = await client.request('tools/call', { name: 'files__odd', arguments: { x: 2 } })
  assert.deepEqual(odd.error?.data, { code: 'GW_POLICY_DENIED' })
  assert.match((await client.request('prompts/get', { name: 'files__greet' })).error?.message ?? '', /Unknown prompt/)
  assert.ok((await client.request('tools/list')).result)
})

test('a rule of require refuses where it is false and where it fails', async t => {
  const { gateway } = await serve(t, {
    require: [{ for: 'files__read', when: 'args.path.within("/srv/projects")', name: 'inside' }],
  })
  const client = closeAfter(t, await testClient(gateway))
  const read = (args: object): Promise<TestReply> =>
    client.request('tools/call', { name: 'files__read', arguments: args })

  assert.ok((await read({ path: '/srv/projects/a/../b' })).result)
  for (const path of [
    '/srv/projects/../x',
    '/srv/projectsx',
    'srv/projects',
    '/srv/projects/\0',
    '/srv/projects/..\\..\\x',
    '',
    7,
  ])
    assert.equal(reason(await read({ path })), 'GW_POLICY_DENIED', String(path))
  assert.equal(reason(await read({})), 'GW_POLICY_DENIED')
  assert.ok((await client.request('tools/call', { name: 'files__write' })).result)
})

test('a rule with scopes answers 403 with the scopes that are lacking, all in one challenge', async t => {
  const some = createKey('some', ['files:read'])
  const all = createKey('all', ['files:write', 'files:admin'])
  const { gateway } = await serve(
    t,
    {
      require: [
        { for: 'files__write', when: 'false', scopes: ['files:write'] },
        { for: 'files__write', when: 'false', scopes: ['files:admin', 'files:write'] },
      ],
    },
    {
      config: {
        auth: {
          keys: [
            { name: 'some', hash: some.hash, scopes: ['files:read'] },
            { name: 'all', hash: all.hash, scopes: ['files:write', 'files:admin'] },
          ],
        },
      },
    },
  )
  const as = (key: string): Promise<TestReply> =>
    testClient(gateway).then(client =>
      closeAfter(t, client).request(
        'tools/call',
        { name: 'files__write' },
        { headers: { authorization: `Bearer ${key}` } },
      ),
    )

  const refused = await as(some.key)

  assert.equal(refused.status, 403)
  assert.equal(
    refused.headers['www-authenticate'],
    'Bearer error="insufficient_scope", scope="files:write files:admin"',
  )
  assert.equal(reason(refused), 'GW_POLICY_SCOPE')
  assert.ok((await as(all.key)).result)
})

test('of several rules of allow the one that lacks the fewest scopes names them', async t => {
  const { gateway } = await serve(t, {
    allow: [['x', 'y'], ['z'], ['x', 'z']].map(scopes => ({ for: 'files__write', when: 'true', scopes })),
  })
  const client = closeAfter(t, await testClient(gateway))

  const refused = await client.request('tools/call', { name: 'files__write' })

  assert.deepEqual([reason(refused), (refused.error?.data as { scopes?: unknown }).scopes], ['GW_POLICY_SCOPE', ['z']])
})

test('who is denied is not answered from the cache, and the call is recorded as refused', async t => {
  const { files, gateway } = await serve(
    t,
    {
      deny: ['"x-closed" in request.headers'],
      headers: ['x-closed'],
    },
    { config: { cache: { tools: { '*': '1h' } } } },
  )
  const client = closeAfter(t, await testClient(gateway))
  const call = (headers: Record<string, string> = {}): Promise<TestReply> =>
    client.request('tools/call', { name: 'files__read' }, { headers })

  assert.ok((await call()).result)
  assert.ok((await call()).result)
  assert.equal(reason(await call({ 'x-closed': 'yes' })), 'GW_POLICY_DENIED')
  assert.equal(files.listCalls('tools/call').length, 1)
})

test('a call is explained by the rule that decides, and nothing is counted', async t => {
  const { gateway } = await serve(t, {
    deny: [{ for: 'files__read', when: 'args.?path.orValue("") == "/etc"', name: 'no-etc' }],
    ask: [{ for: 'files__write', when: 'true', name: 'writes' }],
  })
  const explain = async (tool: string, args?: object): Promise<unknown> => {
    const { steps } = (await gateway.gateway.control('explain', {
      tool,
      ...(args === undefined ? {} : { arguments: args }),
    })) as {
      steps: { by: string; does: string; rule?: string }[]
    }
    return steps.filter(({ by }) => by === 'policy').map(({ does, rule }) => [does, rule])
  }

  assert.deepEqual(await explain('files__read', { path: '/etc' }), [['refuses', 'no-etc']])
  assert.deepEqual(await explain('files__read', { path: '/srv' }), [['passes', undefined]])
  assert.deepEqual(await explain('files__read'), [['depends', undefined]])
  assert.deepEqual(await explain('files__write', {}), [['asks', 'writes']])
  assert.deepEqual(await explain('files__odd', {}), [])
})

test('an ask without anybody who decides is refused, with a reason', async t => {
  const { files, gateway } = await serve(t, { ask: ['tool.name == "files__write"'] })
  for (const era of ['modern', 'legacy'] as const) {
    const client = closeAfter(t, await testClient(gateway, { era, capabilities: { elicitation: { form: {} } } }))
    const reply = await client.request('tools/call', { name: 'files__write' })
    assert.equal(reason(reply), 'GW_POLICY_UNANSWERED')
    assert.match(reply.error?.message ?? '', /needs approval/)
    assert.ok((await client.request('tools/call', { name: 'files__read' })).result)
  }
  assert.equal(files.listCalls('tools/call').length, 2)
})
