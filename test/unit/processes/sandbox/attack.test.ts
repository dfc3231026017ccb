import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../../../src/config/index.ts'
import { createGateway } from '../../../../src/gateway/gateway.ts'
import { isObject } from '../../../../src/protocol/json/json.ts'
import { directoryWith, skip } from '../../../fixtures/sandbox.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const FIXTURES = fileURLToPath(new URL('../../fixtures/servers', import.meta.url))
/** Stands in every file that a sandboxed server must not read. */
const CANARY = 'canary-5f3a9c'

const server = (more: object): object => ({
  type: 'stdio',
  command: process.execPath,
  args: [`${FIXTURES}/probing-server.mjs`],
  ...more,
})

const CONFIG = {
  version: 1,
  extends: './base.yaml',
  state: { directory: './.state' },
  audit: { file: './audit.jsonl' },
  rateLimit: { state: './.quota', rules: { all: { perMinute: 1000 } } },
  control: { socket: './run/gateway.sock' },
  plugins: { mine: { use: './plugins/mine.ts', enabled: false } },
  upstreams: {
    hostile: server({ sandbox: { type: 'bwrap', read: [FIXTURES] } }),
    writer: server({ sandbox: { type: 'bwrap', read: [FIXTURES], write: ['.'], network: true } }),
    other: server({ enabled: false, env: { API_TOKEN: '${file:./secrets/token}', LITERAL: CANARY } }),
  },
}

/** Files that must not be read, by where they lie: in the project that the server works in, and in the home of the user. */
const FILES = {
  'project/gateway.yaml': JSON.stringify(CONFIG),
  'project/gateway.prod.yaml': CANARY,
  'project/gateway.yaml~': CANARY,
  'project/base.yaml': `server: { name: ${CANARY} }`,
  'project/.env': CANARY,
  'project/.env.local': CANARY,
  'project/secrets/token': CANARY,
  'project/.state/seal.key': CANARY,
  'project/.state/agents.db': CANARY,
  'project/.state/agents.db-wal': CANARY,
  'project/.state/homes/copilot/token': CANARY,
  'project/.state/servers/other/cache': CANARY,
  'project/audit.jsonl': CANARY,
  'project/audit.jsonl.1': CANARY,
  'project/.quota/days.json': CANARY,
  'project/plugins/mine.ts': CANARY,
  'home/.bash_history': CANARY,
  'home/.ssh/id_ed25519': CANARY,
  'home/.npmrc': CANARY,
  'home/.local/state/tapgate/0123/seal.key': CANARY,
  'elsewhere/notes': CANARY,
  'project/src/code.txt': 'allowed',
  'project/readme.txt': 'allowed',
}

describe('a hostile server in a sandbox', { skip, concurrency: 2 }, () => {
  it('reads the project, and nothing of the gateway, of others or of the user', async t => {
    const { directory, attempt } = await attacked(t, 'hostile')
    const project = path.join(directory, 'project')

    assert.equal(await attempt('read', { file: `${project}/src/code.txt` }), 'allowed')
    assert.equal(await attempt('read', { file: `${project}/readme.txt` }), 'allowed')
    assert.equal(await attempt('hunt', { word: CANARY }), '')
    for (const file of Object.keys(FILES).filter(name => !/allowed/.test(FILES[name as keyof typeof FILES])))
      assert.match(await attempt('read', { file: path.join(directory, file) }), /^E[A-Z]+$/, file)
    for (const file of ['/etc/shadow', '/etc/ssl/private', '/root', '/proc/1/root/etc/shadow'])
      assert.match(await attempt('read', { file }), /^E[A-Z]+$/, file)
  })

  it('finds no more when files are replaced or come while it runs', async t => {
    const { directory, attempt } = await attacked(t, 'hostile')
    const project = path.join(directory, 'project')

    for (const name of ['gateway.yaml', 'secrets/token', 'audit.jsonl']) {
      writeFileSync(`${project}/fresh`, CANARY)
      renameSync(`${project}/fresh`, `${project}/${name}`)
    }
    writeFileSync(`${project}/gateway.test.yaml`, CANARY)
    writeFileSync(`${project}/audit.jsonl.2`, CANARY)

    assert.equal(await attempt('hunt', { word: CANARY }), '')
  })

  it('connects to no socket of the gateway, and to no address', async t => {
    const { directory, attempt } = await attacked(t, 'hostile')
    const sockets = ['project/run/gateway.sock', 'runtime/tapgate/0.sock', 'runtime/bus']
    for (const name of sockets) await listening(t, path.join(directory, name))
    const { port } = await listening(t, undefined)

    for (const name of sockets) assert.match(await attempt('dial', { file: path.join(directory, name) }), /^E/, name)
    assert.match(await attempt('connect', { port }), /^E/)
  })

  it('sees no process but its own, and no environment but its own', async t => {
    const { attempt } = await attacked(t, 'hostile')

    assert.ok((await attempt('pids')).split(',').length <= 3)
    assert.doesNotMatch(await attempt('parent'), new RegExp(CANARY))
  })

  it('opens no setting of the kernel for writing, whatever the user that the gateway runs as', async t => {
    const { attempt } = await attacked(t, 'hostile')

    for (const name of ['kernel/core_pattern', 'kernel/modprobe', 'vm/drop_caches', 'fs/file-max'])
      assert.match(await attempt('open', { file: `/proc/sys/${name}` }), /^E[A-Z]+$/, name)
    assert.match(await attempt('open', { file: '/proc/sysrq-trigger' }), /^E[A-Z]+$/)
  })

  it('writes into its HOME alone, which it finds again, and which the next server does not have', async t => {
    const { directory, attempt, restart } = await attacked(t, 'hostile')
    const { HOME = '' } = JSON.parse(await attempt('environment')) as { HOME?: string }

    assert.equal(HOME, path.join(directory, 'project/.state/servers/hostile'))
    assert.equal(await attempt('write', { file: `${HOME}/kept` }), 'written')
    for (const file of ['/new', '/etc/new', '/usr/new', `${directory}/project/new`])
      assert.match(await attempt('write', { file }), /^E/, file)
    assert.equal(await attempt('write', { file: `${directory}/project/src/new` }), 'EROFS')
    await restart()
    assert.equal(await attempt('read', { file: `${HOME}/kept` }), 'x')
  })

  it('that may write the project writes no configuration, present or future', async t => {
    const { directory, attempt } = await attacked(t, 'writer')
    const project = path.join(directory, 'project')

    assert.equal(await attempt('write', { file: `${project}/src/new` }), 'written')
    assert.equal(readFileSync(`${project}/src/new`, 'utf8'), 'x')
    for (const name of [
      'gateway.yaml',
      'gateway.dev.yaml',
      'gateway.lock',
      '.env',
      'plugins/mine.ts',
      '.state/seal.key',
    ])
      assert.match(await attempt('write', { file: `${project}/${name}` }), /^E/, name)
    assert.equal(readFileSync(`${project}/gateway.prod.yaml`, 'utf8'), CANARY)
    assert.equal(await attempt('hunt', { word: CANARY }), '')
  })
})

/** A gateway of that configuration, and what its server can be told to try. */
async function attacked(t: TestContext, upstream: string) {
  const directory = directoryWith(t, FILES)
  for (const name of ['runtime/tapgate', 'project/run']) mkdirSync(path.join(directory, name), { recursive: true })
  const environment = {
    PATH: process.env.PATH,
    HOME: path.join(directory, 'home'),
    XDG_RUNTIME_DIR: path.join(directory, 'runtime'),
    GATEWAY_SECRET: CANARY,
  }
  const loaded = await loadConfig({ cwd: path.join(directory, 'project'), environment })
  const gateway = await createGateway(loaded, { environment })
  cleanup(t, () => gateway.close())
  const client = await gateway.connect()
  const attempt = async (name: string, args: Record<string, unknown> = {}): Promise<string> => {
    const result = await client.request('tools/call', { name: `${upstream}__${name}`, arguments: args })
    const [first] = isObject(result) && Array.isArray(result.content) ? (result.content as unknown[]) : []
    return isObject(first) ? String(first.text) : ''
  }
  const restart = async (): Promise<void> => void (await gateway.upstreams.get(upstream)?.restart())
  return { directory, attempt, restart }
}

async function listening(t: TestContext, file: string | undefined): Promise<{ port: number }> {
  const listener = createServer(socket => socket.end())
  listener.listen(file === undefined ? { port: 0, host: '127.0.0.1' } : { path: file })
  await once(listener, 'listening')
  cleanup(t, () => listener.close())
  const address = listener.address()
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0 }
}
