import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Program } from '../../../src/api/index.ts'
import { createGateway, type Plugin } from '../../../src/index.ts'
import { answer, type PluginApi, type Upstream, type UpstreamConfig } from '../../../src/plugin.ts'
import { testClient } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const ECHO =
  "process.stdin.on('data', chunk => process.stdout.write(chunk)); console.error('up', process.env.SECRET_KEY)"

async function withApi(t: TestContext, config: object, taps: (api: PluginApi) => void = () => undefined) {
  let given: PluginApi | undefined
  const plugin: Plugin = {
    name: 'keeps-its-api',
    setup: api => {
      given = api
      taps(api)
    },
  }
  const directory = await mkdtemp(join(tmpdir(), 'programs-'))
  const gateway = await createGateway({ ...config }, { plugins: [plugin], directory })
  cleanup(t, async () => {
    await gateway.close()
    await rm(directory, { recursive: true, force: true })
  })
  await gateway.start()
  assert.ok(given)
  return { api: given, gateway, directory }
}

test('a program of a plugin reads and writes lines, and is gone when it is stopped', async t => {
  const { api, directory } = await withApi(t, {})
  const lines: string[] = []
  const ends: string[] = []
  let heard = (): void => undefined
  const answered = new Promise<void>(resolve => (heard = resolve))
  const env = api.programs.createEnvironment(['PATH'], { SECRET_KEY: 'very-secret-value' })
  const program: Program = await api.programs.launch({
    name: 'echo',
    command: process.execPath,
    args: ['-e', ECHO],
    cwd: directory,
    env,
    maxLine: 1024,
    onLine: line => {
      lines.push(line.toString())
      heard()
    },
    onEnd: why => ends.push(why),
  })
  program.send('hello')
  await answered
  assert.deepEqual(lines, ['hello'])

  await program.stop()

  assert.equal(ends.length, 1)
  assert.throws(() => process.kill(program.pid ?? 0, 0), { code: 'ESRCH' })
  const said = program.logs.recent().map(({ text }) => text)
  assert.deepEqual(said, ['up ***'])
})

test('a program that cannot run says why, and its place is free again', async t => {
  const { api, directory } = await withApi(t, { processes: { max: 1 } })
  const spec = { name: 'none', args: [], cwd: directory, env: {}, maxLine: 1024, onLine: () => undefined }
  for (let turn = 0; turn < 3; turn++) {
    const ended = new Promise<string>(resolve => {
      void api.programs.launch({ ...spec, command: '/nowhere/at-all', onEnd: resolve })
    })
    assert.match(await ended, /command not found/)
  }
})

test('a plugin may add a listener and an upstream of its own, and knows where clients arrive', async t => {
  const { api } = await withApi(t, {}, ({ hooks }) => {
    hooks.configure.tap(config => ({
      ...config,
      listeners: { ...config.listeners, own: { type: 'http', port: 0 } as never },
      upstreams: { ...config.upstreams, here: { type: 'here', prefix: '' } as never },
    }))
    hooks.createUpstream.for('here').tap((spec, { name }) => upstreamHere(name, spec))
  })

  const client = await testClient(api.getListenerUrl('own') ?? 'nowhere')
  const { result } = await client.request('tools/list')

  assert.deepEqual(result?.tools, [TOOL])
  await client.close()
})

const TOOL = { name: 'hello', inputSchema: { type: 'object' } }

/** Something that is a server to clients, and no process at all. */
function upstreamHere(name: string, spec: UpstreamConfig): Upstream {
  const capabilities = { tools: {} }
  const info = { name, version: '1' }
  return {
    name,
    spec,
    state: 'ready',
    problem: undefined,
    pid: undefined,
    server: { era: 'modern', version: '2026-07-28', info, capabilities, instructions: undefined },
    dispatch: () => Promise.resolve(answer({ resultType: 'complete', tools: [TOOL] })),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  }
}
