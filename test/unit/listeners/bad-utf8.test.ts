import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testGateway } from '../../../src/testing/index.ts'

/** Lone continuations, starts without their rest, overlong forms, surrogates, and what is above U+10FFFF. */
const BAD = [
  ...Array.from({ length: 16 }, (_, n) => [0x80 + 4 * n]),
  ...Array.from({ length: 15 }, (_, n) => [0xc2 + 2 * n, 0x41]),
  ...[0xc0, 0xc1].map(byte => [byte, 0x80]),
  ...Array.from({ length: 8 }, (_, n) => [0xe0, 0x80 + n, 0x80]),
  ...Array.from({ length: 8 }, (_, n) => [0xed, 0xa0 + n, 0x80]),
  ...Array.from({ length: 4 }, (_, n) => [0xf0, 0x80 + n, 0x80, 0x80]),
  ...[0xf5, 0xf8, 0xfc, 0xfe, 0xff].map(byte => [byte, 0x80, 0x80, 0x80]),
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
]

test('a body that is not UTF-8 is refused with HTTP 400, whatever is wrong with it', async t => {
  const { url } = closeAfter(t, await testGateway())
  const statuses = BAD.map(async bytes => {
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"'),
      Buffer.from(bytes),
      Buffer.from('"}}'),
    ])
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const response = await fetch(url, { method: 'POST', headers, body })
    const { error } = (await response.json()) as { error: { message: string } }
    return `${response.status} ${error.message}`
  })

  assert.ok(BAD.length >= 60)
  assert.deepEqual(new Set(await Promise.all(statuses)), new Set(['400 Parse error: the text is not UTF-8']))
})
