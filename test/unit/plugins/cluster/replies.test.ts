import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RedisError, Replies } from '../../../../plugins/cluster/store/connections/replies.ts'

const SAID =
  '+OK\r\n:42\r\n$5\r\nh\r\n\u00e9\r\n$-1\r\n*3\r\n$1\r\na\r\n*2\r\n:-7\r\n$0\r\n\r\n-ERR inside\r\n*0\r\n*-1\r\n-NOSCRIPT no such\r\n'
const MEANT = [
  'OK',
  42,
  'h\r\n\u00e9',
  null,
  ['a', [-7, ''], 'ERR inside'],
  [],
  null,
  'error: NOSCRIPT no such',
]

function plain(replies: readonly unknown[]): unknown[] {
  return replies.map(one => (one instanceof RedisError ? `error: ${one.message}` : one))
}

test('replies are read however their bytes come', () => {
  const bytes = Buffer.from(SAID)
  assert.deepEqual(plain(new Replies().push(bytes)), MEANT)
  for (let size = 1; size < bytes.length; size++) {
    const replies = new Replies()
    const found: unknown[] = []
    for (let at = 0; at < bytes.length; at += size) found.push(...replies.push(bytes.subarray(at, at + size)))
    assert.deepEqual(plain(found), MEANT)
  }
})

test('what is no Redis, or says too much, is an error and not waited for', () => {
  for (const text of [
    'HTTP/1.1 400 Bad Request\r\n',
    ':1e400\r\n',
    ':x\r\n',
    '$99999999999\r\n',
    `${'*1\r\n'.repeat(20)}:1\r\n`,
  ])
    assert.throws(() => new Replies().push(Buffer.from(text)), text)
  const replies = new Replies()
  assert.throws(() => {
    for (let count = 0; count < 100; count++) replies.push(Buffer.alloc(1024 * 1024, 0x2b))
  })
})
