import assert from 'node:assert/strict'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { cleanup } from '../../fixtures/cleanup.ts'
import { PACKAGE, SERVER, directory, gateway } from './run.ts'

test('connect writes an entry that a client can run, and disconnect takes it back', async t => {
  const upstreams = { bad: { type: 'stdio', command: process.execPath, args: [SERVER] } }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify({ version: 1, upstreams }) })
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), XDG_RUNTIME_DIR: cwd }
  const file = join(cwd, '.cursor/mcp.json')
  await mkdir(join(cwd, '.cursor'))
  await writeFile(file, '{\n  // mine\n  "mcpServers": {}\n}\n')

  const asked = await gateway(['connect', 'cursor'], { cwd, env })
  assert.equal(asked.code, 2)
  assert.match(asked.stdout, /\+ .*"gateway": \{/)
  assert.match(asked.stderr, /nothing was written/)

  const { code, stdout } = await gateway(['connect', 'cursor', '--yes', '--json'], { cwd, env })
  assert.equal(code, 0)
  const [written] = JSON.parse(stdout) as { outcome: string; entry: { command: string; args: string[] } }[]
  assert.equal(written?.outcome, 'written')
  assert.match(await readFile(file, 'utf8'), /\/\/ mine/)

  cleanup(t, () => gateway(['down'], { cwd, env }))
  const client = new Client({ name: 'cursor', version: '1' })
  await client.connect(new StdioClientTransport({ ...written.entry, cwd: '/', env, stderr: 'ignore' }))
  cleanup(t, () => client.close())
  assert.ok((await client.listTools()).tools.length > 0)

  assert.match((await gateway(['disconnect', '--all'], { cwd, env })).stdout, /mcp\.json restored/)
  assert.equal(await readFile(file, 'utf8'), '{\n  // mine\n  "mcpServers": {}\n}\n')
})

test('a desktop app gets absolute paths, since it has no PATH of a shell; others and URLs stay as they were', async t => {
  const cwd = await directory(t, { 'gateway.yaml': 'version: 1\n', 'bin/.keep': '' })
  await symlink(join(PACKAGE, 'bin/run.js'), join(cwd, 'bin/gateway'))
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), PATH: `${join(cwd, 'bin')}:${process.env.PATH}` }
  const connect = async (...args: string[]): Promise<string[]> => {
    const { stdout } = await gateway(['connect', ...args, '--yes', '--json'], { cwd, env })
    const plans = JSON.parse(stdout) as { entry: { command?: string; args?: string[]; url?: string } }[]
    return plans.map(({ entry: { command = '', args = [], url } }) => url ?? [command, ...args].join(' '))
  }

  const [cli = '', desktop = ''] = await connect('claude-code', 'claude-desktop')
  assert.equal(cli, `gateway attach -c ${join(cwd, 'gateway.yaml')}`)
  const [program = '', script = ''] = desktop.split(' ')
  assert.ok(isAbsolute(program) && isAbsolute(script), desktop)
  assert.match(desktop, / attach -c /)
  assert.deepEqual(await connect('cursor', '--http', 'http://127.0.0.1:1/mcp'), ['http://127.0.0.1:1/mcp'])
})
