import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inflateRawSync } from 'node:zlib'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Ajv } from 'ajv'
import { cleanup } from '../fixtures/cleanup.ts'
import { directory, gateway, PACKAGE } from './cli/run.ts'

const run = promisify(execFile)
const WHO = fileURLToPath(new URL('../fixtures/servers/who-server.mjs', import.meta.url))
const CONFIG = {
  version: 1,
  upstreams: { who: { type: 'stdio', command: process.execPath, args: [WHO] } },
  profiles: { readers: {} },
}

interface Manifest {
  readonly name: string
  readonly server: {
    readonly entry_point: string
    readonly mcp_config: { readonly args: readonly string[]; readonly env: Record<string, string> }
  }
  readonly user_config: { readonly config: { readonly default: string } }
}

/** A directory with a configuration, whose gateway is stopped at the end. */
async function place(t: TestContext): Promise<{ cwd: string; env: Record<string, string> }> {
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(CONFIG) })
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), XDG_RUNTIME_DIR: cwd }
  cleanup(t, () => gateway(['down'], { cwd, env }))
  return { cwd, env }
}

/** Files of an archive, read by its directory as programs for archives do. */
function filesIn(bytes: Buffer): Map<string, Buffer> {
  const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  const files = new Map<string, Buffer>()
  let at = bytes.readUInt32LE(end + 16)
  for (let i = 0; i < bytes.readUInt16LE(end + 10); i++) {
    const [size, nameLength] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28)]
    const local = bytes.readUInt32LE(at + 42)
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength)
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
    files.set(name, inflateRawSync(bytes.subarray(start, start + size)))
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return files
}

/** Installs a bundle as an application does, and gives the line that it runs. */
async function installed(bundle: string, into: string): Promise<{ manifest: Manifest; args: string[] }> {
  for (const [name, bytes] of filesIn(await readFile(bundle))) {
    await mkdir(join(into, name, '..'), { recursive: true })
    await writeFile(join(into, name), bytes)
  }
  const manifest = JSON.parse(await readFile(join(into, 'manifest.json'), 'utf8')) as Manifest
  const args = manifest.server.mcp_config.args.map(arg =>
    arg.replace('${__dirname}', into).replace('${user_config.config}', manifest.user_config.config.default),
  )
  return { manifest, args }
}

test('a bundle that an application installs offers the servers of its configuration, and starts their gateway', async t => {
  const { cwd, env } = await place(t)
  const made = await gateway(['bundle', '--name', 'team', '--json'], { cwd, env })
  assert.equal(made.code, 0, made.stderr)
  const { file } = JSON.parse(made.stdout) as { file: string }
  assert.equal(file, join(cwd, 'team.mcpb'))
  const { manifest, args } = await installed(file, join(cwd, 'installed'))

  const client = new Client({ name: 'desktop', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    cwd: '/',
    // Applications of a desktop have no variables of a shell.
    env: { ...manifest.server.mcp_config.env, HOME: cwd },
    stderr: 'pipe',
  })
  await client.connect(transport)
  cleanup(t, () => client.close())

  const { tools } = await client.listTools()
  assert.ok(tools.some(({ name }) => name === 'who__who'))
  assert.match((await gateway(['up'], { cwd, env })).stdout, /is already running/)
})

test("a bundle's manifest is as its specification has it, and unzip finds no fault with the archive", async t => {
  const { cwd, env } = await place(t)
  await gateway(['bundle', '--profile', 'readers'], { cwd, env })
  const bundle = join(cwd, 'gateway.mcpb')
  const files = filesIn(await readFile(bundle))
  const manifest = JSON.parse(String(files.get('manifest.json'))) as Manifest
  const schema = await readFile(join(PACKAGE, 'test/fixtures/schemas/mcpb-manifest-v0.4.schema.json'), 'utf8')
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(schema) as object)

  assert.equal(validate(manifest), true, JSON.stringify(validate.errors))
  assert.deepEqual(manifest.server.mcp_config.args.slice(-2), ['--profile', 'readers'])
  assert.ok(files.has(manifest.server.entry_point))
  assert.deepEqual(
    await gateway(['bundle', '--profile', 'readers', '-o', 'again.mcpb'], { cwd, env }).then(() =>
      readFile(join(cwd, 'again.mcpb')),
    ),
    await readFile(bundle),
  )
  if (existsSync('/usr/bin/unzip')) assert.match((await run('unzip', ['-t', bundle])).stdout, /No errors/)
})

test('a bundle says what is gone, has no password of a proxy, and replaces nothing but a bundle', async t => {
  const { cwd, env } = await place(t)
  const proxies = { HTTPS_PROXY: 'http://me:hunter2@proxy:1', HTTP_PROXY: 'http://proxy:1' }
  const { stdout } = await gateway(['bundle', '--json'], { cwd, env: { ...env, ...proxies } })
  const { args } = await installed(join(cwd, 'gateway.mcpb'), join(cwd, 'installed'))
  assert.ok(stdout.includes('http://proxy:1') && !stdout.includes('hunter2'))

  await writeFile(join(cwd, 'installed/server/gateway.json'), '{"program":["/gone/node","/gone/run.js"]}')
  await assert.rejects(run(process.execPath, args), /\/gone\/node no longer exists\nhint: .*gateway bundle/)

  for (const wrong of [
    ['-o', 'gateway.yaml'],
    ['--name', '../up'],
    ['-c', 'other.yaml'],
    ['-o', 'gateway.yaml/x.mcpb'],
  ]) {
    const { code, stdout: said } = await gateway(['bundle', '--json', ...wrong], { cwd, env })
    assert.ok(code === 2 || code === 3, `${wrong.join(' ')}: ${code}`)
    assert.ok((JSON.parse(said) as { error?: object }).error, said)
  }
  assert.equal(await readFile(join(cwd, 'gateway.yaml'), 'utf8'), JSON.stringify(CONFIG))
})
