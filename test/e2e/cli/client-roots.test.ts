import assert from 'node:assert/strict'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { program } from '../../unit/fixtures/upstream-bench.ts'
import { directory } from './run.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

test('through serve --stdio the roots of an SDK client reach the reference filesystem server, and so does their change', async t => {
  requireBuild()
  const places = await Promise.all(
    ['given', 'first', 'second'].map(async name => realpath(await mkdtemp(join(tmpdir(), `${name}-`)))),
  )
  cleanup(t, () => Promise.all(places.map(place => rm(place, { recursive: true, force: true }))))
  const [given = '', first = '', second = ''] = places
  const files = { type: 'stdio', command: program('mcp-server-filesystem'), args: [given] }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify({ version: 1, upstreams: { files } }) })
  const env = { PATH: process.env.PATH ?? '', HOME: cwd, XDG_STATE_HOME: join(cwd, 'state') }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [LAUNCHER, 'serve', '--stdio'],
    cwd,
    env,
    stderr: 'pipe',
  })
  let log = ''
  transport.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const client = new Client({ name: 'editor', version: '1' }, { capabilities: { roots: { listChanged: true } } })
  let roots = [{ uri: pathToFileURL(first).href }]
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }))
  await client.connect(transport)
  cleanup(t, () => client.close())
  const allowed = async (place: string): Promise<string> => {
    for (;;) {
      const { content } = await client.callTool({ name: 'files__list_allowed_directories' })
      const text = JSON.stringify(content)
      if (text.includes(place)) return text
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }

  assert.doesNotMatch(await allowed(first), new RegExp(given))

  roots = [{ uri: pathToFileURL(second).href }]
  await client.sendRootsListChanged()
  assert.doesNotMatch(await allowed(second), new RegExp(first))

  assert.match(log, /Updated allowed directories from MCP roots/)
  assert.doesNotMatch(log, /Failed to request initial roots/)
})
