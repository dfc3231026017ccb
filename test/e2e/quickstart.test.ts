import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { closeAfter, testGateway } from '../../src/testing/index.ts'

const QUICKSTART = join(import.meta.dirname, '../../examples/quickstart')

test('the request of the README gets the reply of the README', async t => {
  const config = await loadConfig({
    file: 'gateway.yaml',
    cwd: QUICKSTART,
    environment: process.env,
    set: ['listeners.main.port=0'],
  })
  const { url } = closeAfter(t, await testGateway({ config }))

  const reply = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'everything__get-sum',
    },
    body: await readFile(join(QUICKSTART, 'request.json')),
  })

  assert.deepEqual(await reply.json(), JSON.parse(await readFile(join(QUICKSTART, 'reply.json'), 'utf8')))
})
