import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject, Plugin } from '../../../../src/plugin.ts'
import {
  closeAfter,
  TestClock,
  testClient,
  type TestClient,
  testGateway,
  type TestTool,
  testUpstream,
} from '../../../../src/testing/index.ts'

const TOOLS: Readonly<Record<string, TestTool>> = {
  list_issues: {
    description: 'List the issues.',
    inputSchema: {
      type: 'object',
      properties: {
        state: { enum: ['open', 'closed'], description: 'Which ones' },
        'per-page': { type: 'integer' },
        labels: { type: 'array', items: { type: 'string' } },
      },
      required: ['state'],
    },
    outputSchema: { type: 'object', properties: { items: { type: 'array', items: { type: 'object' } } } },
    run: ({ state }) => {
      const structuredContent = { items: [1, 2, 3].map(number => ({ number, state })) }
      return { content: [{ type: 'text', text: 'three' }], structuredContent }
    },
  },
  close_issue: ({ number }) => JSON.stringify({ closed: number }),
  say: ({ text }) => `said ${String(text)}`,
  fails: () => ({ content: [{ type: 'text', text: 'the disk is full' }], isError: true }),
  secret_report: () => 'for the few',
  hangs: (_, { signal }) => new Promise(resolve => signal.addEventListener('abort', () => resolve('gone'))),
}

const CODE = codeWith({ timeout: '20s' })

function codeWith(code: JsonObject): JsonObject {
  return { surface: { mode: 'code', code } }
}

async function serve(t: TestContext, config: JsonObject = CODE, plugins: readonly Plugin<never>[] = []) {
  const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins, config }))
  const connect = async (era: 'legacy' | 'modern' = 'modern', path = '') =>
    closeAfter(t, await testClient(gateway.url + path, { era }))
  return { web, gateway, connect }
}

interface Ran {
  readonly text: string
  readonly hasFailed: boolean
}

async function run(client: TestClient, code: unknown): Promise<Ran> {
  const { result, error } = await client.request('tools/call', { name: 'run_code', arguments: { code } })
  const [content] = (result?.content ?? []) as { text: string }[]
  return { text: content?.text ?? String(error?.message), hasFailed: result?.isError === true }
}

async function textOf(client: TestClient, code: string): Promise<string> {
  return (await run(client, code)).text
}

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client finds tools, reads their schemas, and calls them in a script`, async t => {
    const { web, connect } = await serve(t)
    const client = await connect(era)
    const { result } = await client.request('tools/list')
    const names = (result?.tools as JsonObject[]).map(({ name }) => name)
    assert.deepEqual(names, ['search_tools', 'describe_tools', 'run_code'])

    const described = await client.request('tools/call', {
      name: 'describe_tools',
      arguments: { names: ['web__list_issues'] },
    })
    const [definition] = described.result?.content as { text: string }[]
    assert.partialDeepStrictEqual(JSON.parse(definition?.text ?? ''), {
      name: 'web__list_issues',
      inputSchema: { required: ['state'] },
      outputSchema: { type: 'object' },
    })
    const code = `
      const { items } = await tools.web__list_issues({ state: 'open' })
      const closed = await Promise.all(items.slice(0, 2).map(({ number }) => tools.web__close_issue({ number })))
      console.log('of', items.length)
      return [closed, await tools['web__say']({ text: 'hi' })]`
    assert.equal(await textOf(client, code), 'of 3\n[[{"closed":1},{"closed":2}],"said hi"]')
    assert.equal(web.listCalls('tools/call').length, 4)
  })

test('each call in a script is one of the caller: rules, watchers and limits see it, and the script itself', async t => {
  const seen: unknown[] = []
  const watch: Plugin<never> = {
    name: 'watch',
    setup({ hooks }) {
      hooks.settled.tap({ methods: ['tools/call'] }, ({ params, entry, session, decidedBy, via }) => {
        seen.push([params?.name, entry?.original, session.client.info.name, decidedBy, via])
      })
    },
  }
  const config = { ...CODE, filters: { tools: { deny: ['web__secret_*'] } } }
  const { web, connect } = await serve(t, config, [watch])
  const client = await connect()
  const code = `const caught = async name => { try { return await tools[name]({}) } catch (error) { return error.message } }
    return [await caught('web__say'), await caught('web__secret_report'), await caught('web__fails'), await caught('run_code'),
      await caught('call_tool'), await caught('web__sya')]`
  const answers = JSON.parse(await textOf(client, code)) as string[]
  assert.match(answers[1] ?? '', /^Unknown tool: web__secret_report/)
  assert.doesNotMatch(answers.join('\n'), /similar: [^"]*secret/)
  assert.equal(answers[2], 'the disk is full')
  assert.match(answers[3] ?? '', /cannot be called in a script/)
  assert.match(answers[4] ?? '', /cannot be called in a script/)
  assert.match(answers[5] ?? '', /similar: .*web__say/)
  assert.deepEqual(
    web.listCalls('tools/call').map(({ params }) => params?.name),
    ['say', 'fails'],
  )
  const named = seen as [string, string | undefined, string][]
  assert.deepEqual(
    named.map(([name]) => name),
    ['web__say', 'web__secret_report', 'web__fails', 'web__sya', 'run_code'],
  )
  assert.equal(new Set(named.map(one => one[2])).size, 1)
})

describe('a script that is wrong or hostile fails alone', () => {
  const cases: readonly [string, string, RegExp][] = [
    ['a mistake in its grammar', 'return (', /^The script failed: SyntaxError/],
    ['an exception, with its line', '\n\nthrow new TypeError("no")', /TypeError: no \(line 3\)/],
    ['an endless loop', 'for (;;);', /timed out/],
    ['a wait for nothing', 'await new Promise(() => {})', /never settles/],
    ['a slow pattern', 'return /^(a+)+$/.test("a".repeat(50) + "b")', /timed out/],
    ['a large array', 'return new Array(1e8).fill(0)', /out of memory/],
    ['deep recursion', 'const f = () => f() + 1; return f()', /stack overflow/],
    ['a large result', 'return "x".repeat(1e6)', /the result is too large/],
    ['an import', 'return await import("node:fs")', /failed/],
    ['what is no object as arguments', 'return await tools.web__say([1])', /must be one object/],
    ['a tool that hangs', 'return await tools.web__hangs()', /timed out/],
  ]
  for (const [what, code, expected] of cases)
    test(what, async t => {
      const timeout = expected.source.includes('timed out') ? '300ms' : '30s'
      const { web, gateway, connect } = await serve(t, codeWith({ timeout }))
      const client = await connect()
      const { text, hasFailed } = await run(client, code)
      assert.match(text, expected)
      assert.equal(hasFailed, true)
      // What counts the scripts that run stays; the next one has time on any machine.
      const upstreams = { web: { type: 'http', url: web.url } }
      const listeners = { main: { type: 'http', port: 0 } }
      await gateway.gateway.reload({ version: 1, upstreams, listeners, ...codeWith({ timeout: '30s' }) })
      assert.equal(await textOf(client, 'return 1'), '1')
    })
})

test('a script finds nothing of the machine, and what it does to its engine ends with it', async t => {
  const { connect } = await serve(t)
  const client = await connect()
  const globals = ['process', 'require', 'fetch', 'setTimeout', 'WebAssembly', 'Worker', 'std', 'os', 'Buffer', 'send']
  assert.equal(
    await textOf(client, `return [${globals.map(name => `typeof ${name}`).join()}].join()`),
    `"${globals.map(() => 'undefined').join()}"`,
  )
  const inside = 'return (() => {}).constructor("return typeof process")() + typeof globalThis.kept'
  const tricks = `Object.prototype.error = 'x'; Array.prototype.join = () => { throw 1 }; JSON.stringify = () => 'y'
    Promise.prototype.then = () => {}; globalThis.kept = 1; return 7`
  await run(client, tricks)
  await run(client, '})()); (async () => { globalThis.kept = 1')
  assert.equal(await textOf(client, inside), '"undefinedundefined"')
  const proto = await run(client, 'return await tools.web__say(JSON.parse(\'{"__proto__":{"a":1},"text":"x"}\'))')
  assert.equal(proto.text, '"said x"')
  assert.equal(({} as JsonObject).a, undefined)
})

test('a script makes no more calls than it may, however it tries', async t => {
  const { web, connect } = await serve(t, { surface: { mode: 'code', code: { calls: 5, timeout: '30s' } } })
  const client = await connect()
  const code = `const all = await Promise.allSettled(Array.from({ length: 10000 }, () => tools.web__say({ text: 'x'.repeat(1000) })))
    return all.filter(({ status }) => status === 'fulfilled').length`
  assert.equal(await textOf(client, code), '5')
  assert.equal(web.listCalls('tools/call').length, 5)
  const many = await textOf(client, 'for (let i = 0; i < 6; i++) await tools.web__say()')
  assert.match(many, /limit of 5 calls/)
  const large = await textOf(client, 'return await tools.web__say({ text: "x".repeat(300000) })')
  assert.match(large, /the arguments are too large/)
})

test('a script that is cancelled ends, and so do its calls', async t => {
  const { web, connect } = await serve(t)
  const client = await connect('legacy')
  const running = client.start('tools/call', {
    name: 'run_code',
    arguments: { code: 'await tools.web__hangs()' },
  })
  const call = await web.waitForCall('tools/call', ({ params }) => params?.name === 'hangs')
  await running.cancel()
  while (!call.isCancelled) await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(await textOf(client, 'return 1'), '1')
})

test('a script has its own time, and not that of a hook', async t => {
  const clock = new TestClock()
  const answer = Promise.withResolvers<string>()
  const web = closeAfter(t, await testUpstream({ tools: { slow: () => answer.promise } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: CODE, clock }))
  const client = closeAfter(t, await testClient(gateway))
  const running = textOf(client, 'return await tools.web__slow()')
  await web.waitForCall('tools/call')
  clock.advance(15_000)
  answer.resolve('at last')
  assert.equal(await running, '"at last"')
})

test('a caller runs two scripts at a time, and a third one is told to wait', async t => {
  const { web, connect } = await serve(t)
  const client = await connect('legacy')
  const code = 'await tools.web__hangs()'
  const running = [1, 2].map(() => client.start('tools/call', { name: 'run_code', arguments: { code } }))
  while (web.listCalls('tools/call').length < 2) await new Promise(resolve => setTimeout(resolve, 5))
  assert.match(await textOf(client, 'return 1'), /^Too many scripts are running/)
  await Promise.all(running.map(one => one.cancel()))
  let text = ''
  while (text !== '1') text = await textOf(client, 'return 1')
})

test('a gateway stops while a script runs', async t => {
  const { web, gateway, connect } = await serve(t, { ...CODE, shutdown: { grace: '1s' } })
  const client = await connect('legacy')
  const running = client.start('tools/call', {
    name: 'run_code',
    arguments: { code: 'await tools.web__hangs()' },
  })
  running.reply.catch(() => undefined)
  const call = await web.waitForCall('tools/call', ({ params }) => params?.name === 'hangs')
  await gateway.gateway.close()
  while (!call.isCancelled) await new Promise(resolve => setTimeout(resolve, 5))
})

test('scripts run nowhere else, and only text is a script', async t => {
  const { connect } = await serve(t, { surface: { mode: 'search' } })
  assert.match(await textOf(await connect(), 'return 1'), /Unknown tool/)
  const other = await (await serve(t)).connect()
  for (const code of ['', 5, undefined]) assert.match((await run(other, code)).text, /"code" must be a script/)
  assert.match((await run(other, 'x'.repeat(70_000))).text, /65536 characters/)
})
