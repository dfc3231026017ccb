import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { directory, gatewayProcess as gateway, serving } from './cli/run.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, '../fixtures/loaded-files.mjs')).href
const CONFIG = `version: 1
log: { format: json }
upstreams: { one: { type: stdio, command: node, start: lazy } }
listeners: { main: { type: http, port: 0 } }
`
const ON_STDIO = CONFIG.replace('main: { type: http, port: 0 }', 'pipe: { type: stdio }')
const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
/** Packages that no start needs before somebody asks for them; oclif, which reads the command line, is needed at once. */
const DEAR_PACKAGES = /\/node_modules\/(@modelcontextprotocol|@redis|ajv|jose|undici|ws|zod)\//
const DEAR_BUILTINS = ['internal/deps/undici/undici', 'http', 'sqlite', 'tls', 'https']

interface Loaded {
  readonly files: readonly string[]
  readonly builtins: readonly string[]
}

async function counting(t: TestContext): Promise<{ env: NodeJS.ProcessEnv; loaded: () => Promise<Loaded> }> {
  const file = join(await directory(t), 'loaded.json')
  return {
    // Authorities that are named in the environment are read at the start.
    env: { NODE_OPTIONS: `--import=${PRELOAD}`, LOADED: file, SSL_CERT_FILE: '' },
    loaded: async () => JSON.parse(await readFile(file, 'utf8')) as Loaded,
  }
}

/** Counts our own files – the launcher, the command line, the core and what the bundler needs –, as times are the machine's. */
function assertFew({ files, builtins }: Loaded, most: number): void {
  const own = files.filter(file => !file.includes('/node_modules/'))
  assert.ok(own.length <= most, `${own.length} files: ${own.join(' ')}`)
  assert.deepEqual(
    files.filter(file => DEAR_PACKAGES.test(file)),
    [],
  )
  assert.deepEqual(
    DEAR_BUILTINS.filter(name => builtins.includes(name)),
    [],
  )
}

test('--version and validate load a handful of files, and nothing that they do not need', async t => {
  const cwd = await directory(t, { 'gateway.yaml': CONFIG })
  const { env, loaded } = await counting(t)

  await gateway(['--version'], { cwd, env })
  assertFew(await loaded(), 2)
  const { code, stderr } = await gateway(['validate', '-c', 'gateway.yaml'], { cwd, env })

  assert.equal(code, 0, stderr)
  assertFew(await loaded(), 20)
})

test('serve on stdio has loaded a handful of files when it has ended', async t => {
  // The control socket opens a moment after the first answer, and a busy machine may end the process before or after that.
  const cwd = await directory(t, { 'gateway.yaml': `${ON_STDIO}control: { enabled: false }\n` })
  const { env, loaded } = await counting(t)

  const { child, exit } = serving(t, ['serve', '-c', 'gateway.yaml'], { cwd, env })
  const lines = createInterface({ input: child.stdout })
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO })}\n`)
  const [answer] = (await once(lines, 'line')) as [string]
  child.stdin.end()

  assert.equal(await exit, 0)
  assert.match(answer, /"serverInfo"/)
  assertFew(await loaded(), 22)
})

test('compiled code is kept for the user alone', async t => {
  const home = await directory(t)
  const cache = join(home, 'cache')

  const { code } = await gateway(['--version'], { env: { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: '' } })

  assert.equal(code, 0)
  const place = join(cache, 'tapgate/compiled')
  assert.equal((await stat(place)).mode & 0o777, 0o700)
  assert.deepEqual(await readdir(place), ['others'])
})

test('compiled code is kept nowhere that others can write to, nor behind a link', async t => {
  const home = await directory(t)
  const [open, linked, temporary] = [join(home, 'open'), join(home, 'linked'), join(home, 'temporary')]
  for (const path of [join(open, 'tapgate/compiled'), join(linked, 'tapgate'), temporary])
    await mkdir(path, { recursive: true })
  await chmod(join(open, 'tapgate/compiled'), 0o777)
  await symlink(temporary, join(linked, 'tapgate/compiled'))

  for (const cache of [open, linked]) {
    const env = { XDG_CACHE_HOME: cache, TMPDIR: temporary, NODE_COMPILE_CACHE: '' }
    assert.equal((await gateway(['--version'], { env })).code, 0)
    assert.deepEqual(await readdir(join(cache, 'tapgate/compiled')).then(found => found.includes('others')), false)
  }
  assert.deepEqual(await readdir(temporary), [`tapgate-compiled-${process.getuid?.()}`])
})

const skip = process.platform === 'linux' ? false : 'the directory is of Linux alone'

test('a home that takes nothing and says so in no way hangs nothing', { skip }, async t => {
  const cwd = await directory(t, { 'gateway.yaml': CONFIG })
  const env = { HOME: '/proc/1', XDG_CACHE_HOME: '', XDG_STATE_HOME: '', NODE_COMPILE_CACHE: '' }

  const { code, stderr } = await gateway(['validate', '-c', 'gateway.yaml'], { cwd, env })
  const served = serving(t, ['serve', '-c', 'gateway.yaml', '--stdio'], { cwd, env })
  served.child.stdin.end()

  assert.equal(code, 0, stderr)
  assert.equal(await served.exit, 0, served.stderr())
})
