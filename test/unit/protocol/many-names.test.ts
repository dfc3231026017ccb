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

/** Reason why a message is refused; undefined when it is taken. */
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

  test('are at most 50,000 in large objects of arguments, however they are spread and written', () => {
    const half = `{${members(26_000)}}`
    assert.equal(refusal(withArguments(`{${members(50_000)}}`)), undefined)
    for (const text of [`{${members(60_000)}}`, `{"a":${half},"b":${half}}`, `{"a":{"b":[${half},${half}]}}`])
      assert.match(refusal(withArguments(text)) ?? '', /more than 50000 names in objects of more than 12/)
    assert.equal(refusal(withArguments(`{${members(50_000, escaped)}}`)), undefined)
    assert.match(refusal(withArguments(`{${members(60_000, escaped)}}`)) ?? '', /more than 50000 names/)
  })

  test('are as many as may be in small objects', () => {
    for (const name of ['name', 'pr\\u00e9nom', '\\n']) {
      const rows = Array.from({ length: 60_000 }, (_, n) => `{"id":${n},"${name}":"n","\\u006fk":true}`)
      assert.equal(refusal(withArguments(`{"rows":[${rows.join()}]}`)), undefined)
    }
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

  test('and values of params that are parsed at once are at most 200,000 beside the arguments', () => {
    const zeros = (count: number): string => `[${'0,'.repeat(count)}0]`
    const beside = (count: number): string =>
      call(`{"name":"x","arguments":{"b":${zeros(300_000)}},"_meta":{"a":${zeros(count)}}}`)
    assert.equal(refusal(beside(190_000)), undefined)
    assert.match(refusal(beside(200_000)) ?? '', /more than 200000 names and values in "params" beside/)
    assert.match(refusal(withArguments(zeros(200_000))) ?? '', /more than 200000/)
    const behind = `{"jsonrpc":"2.0","id":1,"method":"ping","x":${zeros(300_000)},"params":{"a":1}}`
    assert.equal(refusal(behind), undefined)
  })

  test('and values of an error are at most 40,000', () => {
    const failed = (count: number): string =>
      `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":{${members(count)}}}}`
    assert.equal(refusal(failed(19_000)), undefined)
    assert.match(refusal(failed(20_000)) ?? '', /more than 40000 names and values in "error"/)
  })

  test('are not read where a text or a number is to be', () => {
    const bomb = `{${members(100_000)}}`
    const parse = JSON.parse
    const parsed: number[] = []
    JSON.parse = (text: string): unknown => {
      parsed.push(text.length)
      return parse(text) as unknown
    }
    try {
      assert.match(refusal(`{"jsonrpc":${bomb},"id":1,"method":"ping"}`) ?? '', /"jsonrpc" must be/)
      assert.match(refusal(`{"jsonrpc":"2.0","id":${bomb},"method":"ping"}`) ?? '', /"id" must be/)
      assert.match(refusal(`{"jsonrpc":"2.0","id":1,"method":${bomb}}`) ?? '', /"method" must be/)
      assert.equal(refusal(`{"jsonrpc":"2.0","id":1,"result":{"resultType":${bomb}}}`), undefined)
    } finally {
      JSON.parse = parse
    }
    assert.deepEqual(
      parsed.filter(length => length > 1000),
      [],
    )
  })

  test('do not count for the next message', () => {
    for (let n = 0; n < 3; n++) assert.equal(refusal(withArguments(`{${members(40_000)}}`)), undefined)
  })
})

suite('names of one object', () => {
  test('are found twice however they are written, where both stand for the same text', () => {
    const same = [
      ['a', '\\u0061'],
      ['\\/', '/'],
      ['\\b\\f\\n\\r\\t', '\\u0008\\u000C\\u000a\\u000d\\u0009'],
      ['\\"\\\\', '\\u0022\\u005c'],
      ['\u00e9', '\\u00e9'],
      ['\u20ac', '\\u20Ac'],
      ['\u{1f600}', '\\ud83d\\uDE00'],
      ['\\ud83d', '\\udc00'],
      ['\\ud83d\\ud83d\\ude00', '\ufffd\u{1f600}'],
      ['\\ud83dn', '\ufffdn'],
    ] as const
    const other = [
      ['\\\\u0061', 'a'],
      ['\\u00e9', 'e\u0301'],
      ['\\n', 'n'],
      ['\\u0000', ''],
      ['\\ud83d\\n\\ude00', '\\ud83d\\ude00'],
    ] as const
    for (const many of [0, 11, 12, 40])
      for (const [pairs, isSame] of [
        [same, true],
        [other, false],
      ] as const)
        for (const [one, two] of pairs.flatMap(([a, b]) => [
          [a, b],
          [b, a],
        ]))
          for (const text of [
            `{"${one}":1,"${two}":2}`,
            `{"${one}":1,${members(many + 1)},"${two}":2}`,
            `{${members(many + 1)},"${one}":1,"${two}":2}`,
          ])
            assert.equal(/stands twice/.test(refusal(withArguments(text)) ?? ''), isSame, text)
  })

  test('are forgotten with their object, also where a message is refused within it', () => {
    const inner = `{${members(20)},"\\n":1}`
    for (let n = 0; n < 3; n++) {
      assert.equal(
        refusal(withArguments(`{"a":[${inner},${inner}],"b":{"\\n":${inner}},"\\n":1}`)),
        undefined,
      )
      assert.match(refusal(withArguments(`{"a":[${inner},{${members(20)},"k19":1`)) ?? '', /stands twice/)
      assert.match(refusal(withArguments(`{"a":${inner},"\\n":{${members(20)},`)) ?? '', /Parse error/)
    }
  })

  test('are found twice wherever they stand among many', () => {
    for (const at of [0, 1, 12, 13, 500, 39_999])
      assert.match(refusal(withArguments(`{${members(40_000)},"k${at}":2}`)) ?? '', /stands twice/)
    assert.equal(refusal(withArguments(`{"":1,${members(40_000)}}`)), undefined)
    assert.match(refusal(withArguments(`{"":1,${members(40_000)},"":2}`)) ?? '', /stands twice/)
  })
})
