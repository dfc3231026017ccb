import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { defineFindings, summarizeFindings, type HealthFinding } from '../../../src/errors/health.ts'
import { type Plugin } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestGateway } from '../../../src/testing/index.ts'
import { hashOf } from '../rules/keys.ts'
import { directoryWith } from '../../fixtures/sandbox.ts'
import { listenOn } from '../../fixtures/listen.ts'

const tools = { run: () => 'x' }
const gone = { type: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'] }

async function readiness({ url }: TestGateway, key?: string): Promise<Record<string, unknown>> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const reply = await fetch(new URL('/readyz', url), { headers })
  return (await reply.json()) as Record<string, unknown>
}

test('the output of a server is no advice where there is none here', async t => {
  const away = { type: 'http', url: 'http://127.0.0.1:9/mcp' }
  const absent = { type: 'stdio', command: 'no-such-program-anywhere' }
  const homeless = { ...gone, cwd: './no-such-directory' }
  const loud = { ...gone, args: ['-e', 'console.error("no key"); process.exit(3)'] }
  const upstreams = { away, gone, absent, homeless, loud }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams } }))

  const fixes = new Map(gateway.gateway.health.findings.map(({ upstream, fix }) => [upstream, fix]))
  assert.match(fixes.get('loud') ?? '', /^gateway logs loud /)
  for (const name of ['gone', 'absent', 'homeless'])
    assert.match(fixes.get(name) ?? '', new RegExp(`^It has no output.*; then: gateway restart ${name}$`))
  assert.equal(fixes.get('away'), 'Check that it runs and is reachable; then: gateway restart away')
})

test('a server that refuses without a login is not said to be out of reach', async t => {
  const port = await listenOn(
    t,
    createServer((_, response) => response.writeHead(401).end()),
  )
  const locked = { type: 'http', url: `http://127.0.0.1:${port}/mcp` }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { locked } } }))

  const [finding] = gateway.gateway.health.findings
  assert.match(finding?.summary ?? '', /^locked is not running: HTTP 401/)
  assert.match(finding?.fix ?? '', /^It requires a login or another token: see docs\/login\.md/)
})

test('a configuration that is valid and was refused for its port is not sent to validate', async t => {
  const port = await listenOn(t, createServer())
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web } }))
  const listeners = { main: { type: 'http', port } }

  await assert.rejects(gateway.gateway.reload({ version: 1, listeners, upstreams: {} }), {
    code: 'GW_LISTEN',
  })

  const [finding] = gateway.gateway.health.findings
  assert.equal(finding?.code, 'config-refused')
  assert.match(finding.fix, /^Choose another port or host.*; then: gateway reload$/)
})

test('the error of a plugin is a finding with its line, at run time and when a reload refuses the plugin', async t => {
  const plugin = (body: string): string =>
    `export default {\n  name: 'mine',\n  setup({ hooks }) {\n    ${body}\n  },\n}\n`
  const directory = directoryWith(t, {
    'mine.mjs': plugin("hooks.request.tap({ methods: ['tools/call'] }, () => hooks.no.such)"),
    'broken.mjs': plugin("throw new Error('no room')"),
  })
  const web = closeAfter(t, await testUpstream({ tools }))
  const configWith = (file: string) => ({ plugins: { mine: { use: file } } })
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: configWith('./mine.mjs'), directory }))
  const client = closeAfter(t, await testClient(gateway))
  await client.request('tools/call', { name: 'web__run' })
  await assert.rejects(gateway.gateway.reload({ version: 1, upstreams: {}, ...configWith('./broken.mjs') }))

  const summaries = gateway.gateway.health.findings.map(({ code, summary }) => `${code} ${summary}`)
  assert.match(summaries.join('\n'), /^config-refused .*broken\.mjs:4:11 .*no room/m)
  assert.match(summaries.join('\n'), /^plugin-failed .*TypeError: .* at mine\.mjs:4:\d+$/m)
})

test('plugins add findings, change them, and one that fails is a finding itself while the others are heard', async t => {
  const found = defineFindings({ late: { level: 'warning', text: '{what} is late', fix: 'Wait' } })
  const says = (name: string, tap: (all: readonly HealthFinding[]) => unknown): Plugin =>
    definePlugin({ name, setup: ({ hooks }) => hooks.health.tap(tap as never) })
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = closeAfter(
    t,
    await testGateway({
      upstreams: { web },
      plugins: [
        says('throws', () => {
          throw new Error('out of order')
        }),
        says('nonsense', () => [{ code: 'x' }]),
        says('tide', all => [...all, found('late', { what: 'the\u001b[31m\ntide' })]),
        says('silent', () => undefined),
      ],
    }),
  )

  const { level, findings } = gateway.gateway.health
  assert.equal(level, 'warning')
  assert.deepEqual(
    findings.map(({ code, summary }) => [code, summary]),
    [
      ['plugin-health', 'plugin throws failed to report its health: out of order'],
      ['plugin-health', 'plugin nonsense failed to report its health: the health hook returned invalid findings'],
      ['late', 'the tide is late'],
    ],
  )
})

test('strangers learn nothing from /readyz but whether it serves, and callers codes of what they may know', async t => {
  const open = closeAfter(t, await testUpstream({ tools }))
  const keys = [
    { name: 'boss', hash: hashOf('boss') },
    { name: 'ci', hash: hashOf('ci') },
  ]
  const gateway = closeAfter(
    t,
    await testGateway({
      upstreams: { open },
      config: {
        upstreams: { hidden: gone },
        auth: { keys, rules: [{ upstreams: 'hidden', principals: ['boss'] }] },
      },
    }),
  )

  assert.deepEqual(await readiness(gateway), { ready: true })
  assert.deepEqual(await readiness(gateway, 'ci'), { ready: true, upstreams: { open: { state: 'ready' } } })
  const { level, findings } = await readiness(gateway, 'boss')
  assert.equal(level, 'error')
  assert.deepEqual(findings, [{ code: 'upstream-failed', level: 'error', upstream: 'hidden' }])
})

test('secrets of the configuration are in no finding', async t => {
  const env = { API_TOKEN: 'sk-very-secret-value' }
  const args = ['-e', 'console.error("bad token " + process.env.API_TOKEN); process.exit(3)']
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: {}, config: { upstreams: { leaky: { ...gone, args, env } } } }),
  )
  const text = JSON.stringify(gateway.gateway.health)
  assert.match(text, /upstream-failed/)
  assert.doesNotMatch(text, /very-secret/)
})

test('of the same finding twice the heavier one stays, and the worst comes first', () => {
  const of = (level: HealthFinding['level'], upstream: string): HealthFinding => ({
    ...{ code: 'a', level, summary: level, fix: '' },
    upstream,
  })
  const health = summarizeFindings([of('info', 'x'), of('warning', 'y'), of('error', 'x')])
  assert.equal(health.level, 'error')
  assert.deepEqual(
    health.findings.map(({ summary }) => summary),
    ['error', 'warning'],
  )
})
