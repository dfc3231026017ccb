import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { testUpstream } from '../../../src/testing/index.ts'
import type { TestUpstream } from '../../../src/testing/index.ts'
import { directory, gateway, serving } from './run.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const number = { type: 'number' }
const string = { type: 'string' }

interface Scene {
  readonly web: TestUpstream
  readonly cwd: string
}

/** A server with a few tools, and a configuration that names it and one that is not there. */
async function scene(t: TestContext): Promise<Scene> {
  const web = await testUpstream({
    tools: {
      add: {
        description: 'Adds\n two   numbers',
        inputSchema: { type: 'object', properties: { a: number, b: number, note: string } },
        run: (args: Record<string, unknown>) => JSON.stringify(args),
      },
      fail: () => ({ content: [{ type: 'text', text: 'the disk is full' }], isError: true }),
      refuse: () => ({ code: -32602, message: 'not like that' }),
      picture: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] }),
      rude: () => '\u001b[31mred\u001b[0m',
    },
  })
  cleanup(t, () => web.stop())
  const upstreams = {
    web: { type: 'http', url: web.url },
    gone: { type: 'stdio', command: 'server-that-is-not-there' },
  }
  return { web, cwd: await directory(t, { 'gateway.yaml': JSON.stringify({ version: 1, upstreams }) }) }
}

test('tools are listed with their upstream and description, and who is missing is said', async t => {
  const { cwd } = await scene(t)

  const { code, stdout, stderr } = await gateway(['tools'], { cwd })

  assert.equal(code, 0)
  assert.match(stdout, /^web__add +web +Adds two numbers$/m)
  assert.match(stderr, /^warning upstream "gone" failed: command not found/m)
})

test('tools takes a part of a name or a glob, and gives full entries as JSON', async t => {
  const { cwd } = await scene(t)

  const [part, glob, json] = await Promise.all([
    gateway(['tools', 'pic'], { cwd }),
    gateway(['tools', 'web__[af]*'], { cwd }),
    gateway(['tools', 'add', '--json'], { cwd }),
  ])

  assert.deepEqual(names(part.stdout), ['web__picture'])
  assert.deepEqual(names(glob.stdout), ['web__add', 'web__fail'])
  const { tools } = JSON.parse(json.stdout) as {
    tools: { name: string; upstream: string; inputSchema: object }[]
  }
  assert.equal(tools[0]?.upstream, 'web')
  assert.ok(tools[0].inputSchema)
})

test('call takes KEY=VALUE by the schema of the tool, and --args as it is', async t => {
  const { cwd } = await scene(t)

  const [pairs, whole, piped] = await Promise.all([
    gateway(['call', 'web__add', 'a=1', 'b=2.5', 'note=3'], { cwd }),
    gateway(['call', 'web__add', '--args', '{"a":{"deep":true}}', 'b=7'], { cwd }),
    gateway(['call', 'web__add', '--args', '-'], { cwd, input: '{"a":4}' }),
  ])

  assert.deepEqual(JSON.parse(pairs.stdout), { a: 1, b: 2.5, note: '3' })
  assert.deepEqual(JSON.parse(whole.stdout), { a: { deep: true }, b: 7 })
  assert.deepEqual(JSON.parse(piped.stdout), { a: 4 })
})

test('call --json prints the raw result', async t => {
  const { cwd } = await scene(t)

  const { code, stdout, stderr } = await gateway(['call', 'web__picture', '--json'], { cwd })

  assert.deepEqual([code, stderr], [0, ''])
  const { content } = JSON.parse(stdout) as { content: unknown }
  assert.deepEqual(content, [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }])
})

test('a tool that failed, and a server that refused, end with 8', async t => {
  const { cwd } = await scene(t)

  const [failed, refused] = await Promise.all([
    gateway(['call', 'web__fail'], { cwd }),
    gateway(['call', 'web__refuse'], { cwd }),
  ])

  assert.deepEqual([failed.code, failed.stdout], [8, 'the disk is full\n'])
  assert.equal(refused.code, 8)
  assert.match(refused.stderr, /^error GW_REFUSED: refused: not like that \(JSON-RPC error -32602\)$/m)
})

test('a mistyped tool is answered with what was probably meant, one of a missing server with what is wrong there', async t => {
  const { cwd } = await scene(t)

  const [mistyped, missing] = await Promise.all([
    gateway(['call', 'web__ad'], { cwd }),
    gateway(['call', 'gone__anything'], { cwd }),
  ])

  assert.equal(mistyped.code, 5)
  assert.match(mistyped.stderr, /no tool "web__ad" – did you mean "web__add"\?/)
  assert.equal(missing.code, 4)
  assert.match(missing.stderr, /GW_UPSTREAM_START: upstream "gone" did not start: command not found/)
})

test('arguments that are no arguments are refused before anything starts', async t => {
  const { cwd, web } = await scene(t)

  const outcomes = await Promise.all([
    gateway(['call', 'web__add', '--args', '[1]'], { cwd }),
    gateway(['call', 'web__add', '--args', '{'], { cwd }),
    gateway(['call', 'web__add', 'plain'], { cwd }),
  ])

  assert.deepEqual(
    outcomes.map(({ code }) => code),
    [2, 2, 2],
  )
  assert.equal(web.calls.length, 0)
})

test('inspect shows upstreams with their state and who owns each name', async t => {
  const { cwd } = await scene(t)

  const { code, stdout } = await gateway(['inspect'], { cwd })

  assert.equal(code, 0)
  assert.match(stdout, /^ {2}web +http +ready +5 tools · .*test-upstream 1\.0\.0/m)
  assert.match(stdout, /^ {2}gone +stdio +failed +command not found/m)
  assert.match(stdout, /^ {2}tool +web__add +web +Adds two numbers/m)
})

function names(stdout: string): string[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split(' ')[0] ?? '')
}

test('a whole name shows one tool with its arguments, and a part of it in the wrong place is corrected', async t => {
  const { cwd } = await scene(t)

  const [one, unknown, suffix] = await Promise.all([
    gateway(['tools', 'web__add'], { cwd }),
    gateway(['call', 'web__pict'], { cwd }),
    gateway(['call', 'picture'], { cwd }),
  ])

  assert.match(one.stdout, /^web__add {2}web\n\nAdds\n two {3}numbers\n\n {2}a +number +optional/)
  assert.match(unknown.stderr, /GW_TOOL_UNKNOWN: .*did you mean "web__picture"/)
  assert.match(suffix.stderr, /GW_TOOL_UNKNOWN: .*did you mean "web__picture"/)
})

test('a call without a required argument is not made, and shows how to make it', async t => {
  const inputSchema = { type: 'object', properties: { deep: number, path: string }, required: ['path'] }
  const web = await testUpstream({ tools: { list: { inputSchema, run: () => 'called' } } })
  cleanup(t, () => web.stop())
  const config = { version: 1, upstreams: { web: { type: 'http', url: web.url } } }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config) })

  const { code, stderr } = await gateway(['call', 'web__list', 'deep=1'], { cwd })

  assert.equal(code, 2)
  assert.match(stderr, /missing: path\n {2}usage: gateway call web__list path=<string> \[deep=<number>\]/)
  assert.equal(web.calls.filter(call => call.method === 'tools/call').length, 0)
})

test('tools and call act for a named caller, and show the rule that hides tools from it', async t => {
  const web = await testUpstream({ tools: { read: () => 'read', drop: () => 'gone' } })
  cleanup(t, () => web.stop())
  const keys = ['reader', 'stranger'].map((name, i) => ({
    name,
    hash: `sha256:${String(i).repeat(64)}`,
    scopes: [name],
  }))
  const config = {
    ...{ version: 1, listeners: { main: { type: 'http', port: 0 } } },
    upstreams: { web: { type: 'http', url: web.url } },
    auth: { keys, rules: [{ tools: 'web__*', scopes: ['reader'] }] },
    policy: { deny: ['tool.name == "web__drop" && principal.subject == "reader"'] },
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config) })
  const tryAll = async () => ({
    shown: await gateway(['tools', '--as', 'key:reader'], { cwd }),
    called: await gateway(['call', 'web__read', '--as', 'key:reader'], { cwd }),
    dropped: await gateway(['call', 'web__drop', '--as', 'key:reader', '--json'], { cwd }),
    hidden: await gateway(['tools', '--as', 'key:stranger'], { cwd }),
    unknown: await gateway(['tools', '--as', 'key:nobody'], { cwd }),
  })

  const own = await tryAll()
  await serving(t, ['serve'], { cwd }).logged('listening')
  const running = await tryAll()

  for (const { shown, called, dropped, hidden, unknown } of [own, running]) {
    assert.deepEqual(names(shown.stdout), ['web__read'])
    assert.equal(called.stdout, 'read\n')
    assert.equal((JSON.parse(dropped.stdout) as { error: { code: string } }).error.code, 'GW_TOOL_HIDDEN')
    assert.match(
      hidden.stderr,
      /key:stranger cannot see 2 tools of web.*scope reader.*gateway explain web__read --as key:/,
    )
    assert.match(unknown.stderr, /GW_CALLER_UNKNOWN/)
  }
  assert.match(running.shown.stderr, /using the running gateway/)
})
