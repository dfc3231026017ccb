import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'

/** Members of an object, each with the value 1. */
function members(count: number, name = (n: number): string => `k${n}`): string {
  return Array.from({ length: count }, (_, n) => `"${name(n)}":1`).join(',')
}

const call = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
const withArguments = (text: string): string => call(`{"name":"x","arguments":${text}}`)
const escaped = (n: number): string => `\\u006b${n}`

/** What a message is refused for; undefined when it is taken. */
function refusal(text: string): string | undefined {
  const message = parseMessage(Buffer.from(text))
  return message.kind === 'malformed' ? message.error.message : undefined
}

suite('names of a message that would take long to compare', () => {
  test('are at most 1,000 in the envelope and in params', () => {
    assert.equal(refusal(`{"jsonrpc":"2.0","id":1,"method":"ping",${members(997)}}`), undefined)
    assert.match(
      refusal(`{"jsonrpc":"2.0","id":1,"method":"ping",${members(998)}}`) ?? '',
      /more than 1000 members in the envelope/,
    )
    assert.equal(refusal(call(`{"name":"x",${members(999)}}`)), undefined)
    assert.match(refusal(call(`{"name":"x",${members(1000)}}`)) ?? '', /more than 1000 members in "params"/)
  })

  test('are at most 50,000 in large objects of arguments, however they are spread, and fewer with escapes', () => {
    const half = `{${members(26_000)}}`
    assert.equal(refusal(withArguments(`{${members(50_000)}}`)), undefined)
    for (const text of [`{${members(60_000)}}`, `{"a":${half},"b":${half}}`, `{"a":{"b":[${half},${half}]}}`])
      assert.match(refusal(withArguments(text)) ?? '', /more than 50000 names in objects of more than 12/)
    assert.equal(refusal(withArguments(`{${members(6000, escaped)}}`)), undefined)
    assert.match(refusal(withArguments(`{${members(7000, escaped)}}`)) ?? '', /more than 50000 names/)
  })

  test('are as many as may be in small objects', () => {
    const rows = Array.from({ length: 30_000 }, (_, n) => `{"id":${n},"name":"n","ok":true}`)
    assert.equal(refusal(withArguments(`{"rows":[${rows.join()}]}`)), undefined)
  })

  test('are few beside the arguments, as those are parsed at once', () => {
    const rows = (count: number): string =>
      `[${Array.from({ length: count }, (_, n) => `{"a${n}":1}`).join()}]`
    const beside = (count: number): string =>
      call(`{"name":"x","arguments":{"b":${rows(30_000)}},"_meta":{"a":${rows(count)}}}`)
    assert.equal(refusal(beside(19_000)), undefined)
    assert.match(refusal(beside(20_000)) ?? '', /more than 20000 names in "params" beside its arguments/)
    assert.match(refusal(withArguments(rows(20_001))) ?? '', /more than 20000 names/)
  })

  test('do not count for the next message', () => {
    for (let n = 0; n < 3; n++) assert.equal(refusal(withArguments(`{${members(40_000)}}`)), undefined)
  })

  test('are found twice wherever they stand among many', () => {
    for (const at of [0, 1, 12, 13, 500, 39_999])
      assert.match(refusal(withArguments(`{${members(40_000)},"k${at}":2}`)) ?? '', /stands twice/)
    assert.equal(refusal(withArguments(`{"":1,${members(40_000)}}`)), undefined)
    assert.match(refusal(withArguments(`{"":1,${members(40_000)},"":2}`)) ?? '', /stands twice/)
  })
})
