import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestParts } from '../../bench/load/calls.ts'
import { Answers } from '../../bench/peers/answers.ts'
import { HttpMessages } from '../../bench/peers/http-messages.ts'

const PLAIN = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nfoo\r\nA\r\n0123456789\r\n0\r\n\r\n'
const EMPTY = 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'

function cut(bytes: string, size: number): string[] {
  const bodies: string[] = []
  const messages = new HttpMessages((_head, body) => bodies.push(body.toString()))
  for (let at = 0; at < bytes.length; at += size) messages.push(Buffer.from(bytes.slice(at, at + size)))
  return bodies
}

test('replies are found on one connection, with a length and chunked, wherever the packets end', () => {
  const wire = PLAIN + CHUNKED + EMPTY + CHUNKED + PLAIN
  for (const size of [1, 2, 7, 50, wire.length])
    assert.deepEqual(cut(wire, size), ['hello', 'foo0123456789', '', 'foo0123456789', 'hello'], `${size} bytes`)
})

test('the parts of a request join around any id to one that the server answers with that id', () => {
  const ask = { era: 'legacy', method: 'tools/call', tool: 'progress', wantsProgress: true } as const
  const messages = new Answers(3, '').answers(requestParts(ask).join('1234567'))
  const [first, last] = [messages[0], messages.at(-1)].map(text => JSON.parse(text ?? '') as Record<string, object>)
  assert.equal(messages.length, 4)
  assert.deepEqual(first?.params, { progressToken: 1234567, progress: 1, total: 3 })
  assert.equal(last?.id, 1234567)
})

test('a request of a megabyte is answered without being parsed, whatever order its members are in', () => {
  const ask = { era: 'legacy', method: 'tools/call', tool: 'small', bytes: 100_000 } as const
  const request = JSON.parse(requestParts(ask).join('1234567')) as { id: number; params: object }
  const turned = JSON.stringify({ method: 'tools/call', params: request.params, jsonrpc: '2.0', id: 7 })
  const answers = new Answers(3, '')
  assert.match(answers.answer(JSON.stringify(request)) ?? '', /^\{"jsonrpc":"2.0","id":1234567,"result"/)
  assert.match(answers.answer(turned) ?? '', /^\{"jsonrpc":"2.0","id":7,"result"/)
})
