import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'
import { askThrough, NUMBERS } from '../fixtures/raw-asks.ts'
import { script } from '../fixtures/upstream-bench.ts'

test('what a server asks and a client replies keeps the digits of its numbers', async t => {
  const up = { type: 'stdio', command: process.execPath, args: [script('raw-asking-server.mjs')] }
  const { url } = closeAfter(t, await testGateway({ config: { upstreams: { up } } }))

  const { asked, replied } = await askThrough(url)

  assert.ok(asked.includes(NUMBERS), asked)
  assert.ok(replied.includes(NUMBERS), replied)
})
