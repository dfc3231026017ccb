import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { cleanup } from '../../fixtures/cleanup.ts'
import { SERVER, directory, gateway } from './run.ts'

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
