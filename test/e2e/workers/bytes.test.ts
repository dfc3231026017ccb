import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askThrough, NUMBERS } from '../../unit/fixtures/raw-asks.ts'
import { script } from '../../unit/fixtures/upstream-bench.ts'
import { skipOne, twoWorkers } from './setting.ts'

test('asks and replies cross from the owner of a server to each worker byte for byte', async t => {
  const up = { type: 'stdio', command: process.execPath, args: [script('raw-asking-server.mjs')] }
  const { url } = await twoWorkers(t, { upstreams: { up } })

  for (let call = 0; call < 4; call++) {
    const { asked, replied } = await askThrough(url)
    assert.ok(asked.includes(NUMBERS), asked)
    assert.ok(replied.includes(NUMBERS), replied)
    await skipOne(url)
  }
})
