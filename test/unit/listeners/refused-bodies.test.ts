import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { modern } from './http/client.ts'
import { serveAll } from './http/network.ts'

const LENGTH = 400 * 1024
const MAX = 512 * 1024
const MIB = 1024 * 1024
const TIMES = 10

/** Bodies that are refused for what is in them, and for their length or type. */
const REFUSED: Readonly<Record<string, readonly [body: string, type: string, status: number]>> = {
  'that is no message': ['{"a":'.padEnd(LENGTH, 'x'), 'application/json', 400],
  'that is no batch': ['['.repeat(LENGTH), 'application/json', 400],
  'that is a batch of no session': [
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'.padEnd(LENGTH),
    'application/json',
    400,
  ],
  'that is too large': [' '.repeat(3 * MAX), 'application/json', 413],
  'of another type': [' '.repeat(LENGTH), 'text/plain', 415],
}

const CASES = Object.entries(REFUSED).flatMap(([what, [body, type, status]]) => [
  { what, body, type, status, isChunked: false },
  { what: `${what}, and does not say how long it is`, body, type, status, isChunked: true },
])

for (const { what, body, type, status, isChunked } of CASES)
  test(`the memory of a body ${what} is free at once, and waits for no collection`, async t => {
    const { at } = await serveAll(t, { limits: { body: '512KiB' } })
    const url = at('/mcp')
    assert.equal(await post(url, body, type, isChunked), status)

    let most = 0
    for (let n = 0; n < TIMES; n++) {
      const before = process.memoryUsage().arrayBuffers
      await post(url, body, type, isChunked)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }

    assert.ok(most < MIB / 4, `one body left ${(most / 1024).toFixed(0)} KiB behind`)
  })

/** Posts text as it is, in chunks or with its length, and reads the whole answer; resolves with its status. */
function post(url: URL, body: string, type: string, isChunked: boolean): Promise<number | undefined> {
  const { headers } = modern('tools/list')
  const length = isChunked ? { 'transfer-encoding': 'chunked' } : {}
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { ...headers, ...length, 'content-type': type } },
      response => {
        response.on('end', () => resolve(response.statusCode)).resume()
      },
    )
    sent.on('error', reject).end(body)
  })
}
