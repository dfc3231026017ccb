import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { modern } from './http/client.ts'
import { serveAll } from './http/network.ts'

const LENGTH = 400 * 1024
const MAX = 512 * 1024

/** Bodies that are refused for what is in them, and for their length or type. */
const REFUSED: Readonly<
  Record<string, readonly [body: string, type: string, status: number, version?: string]>
> = {
  'that is no message': ['{"a":'.padEnd(LENGTH, 'x'), 'application/json', 400],
  'that is no batch': ['['.repeat(LENGTH), 'application/json', 400],
  'that is a batch of no session': [
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'.padEnd(LENGTH),
    'application/json',
    400,
  ],
  'that is too large': [' '.repeat(3 * MAX), 'application/json', 413],
  'of another type': [' '.repeat(LENGTH), 'text/plain', 415],
  'of a request whose headers say another method': [
    modern('prompts/get', { text: 'x'.repeat(LENGTH) }).body,
    'application/json',
    400,
  ],
  'of a request that is modern by its headers alone': [
    message({ id: 1, method: 'tools/list' }),
    'application/json',
    400,
  ],
  'of a notification that nobody waits for': [
    message({ method: 'notifications/progress' }),
    'application/json',
    202,
  ],
  'of a legacy request without a session': [
    message({ id: 1, method: 'tools/list' }),
    'application/json',
    400,
    '2025-11-25',
  ],
  'of a legacy notification without a session': [
    message({ method: 'notifications/progress' }),
    'application/json',
    400,
    '2025-11-25',
  ],
  'of a legacy reply without a session': [
    message({ id: 1, result: {} }),
    'application/json',
    400,
    '2025-11-25',
  ],
}

/** A message with as much in it. */
function message(parts: object): string {
  return JSON.stringify({ jsonrpc: '2.0', ...parts, params: { text: 'x'.repeat(LENGTH) } })
}

const CASES = Object.entries(REFUSED).flatMap(([what, [body, type, status, version]]) => [
  { what, body, type, status, version, isChunked: false },
  { what: `${what}, and does not say how long it is`, body, type, status, version, isChunked: true },
])

for (const { what, status, ...sent } of CASES)
  test(`a body ${what} is refused, and the connection goes on`, async t => {
    const { at } = await serveAll(t, { limits: { body: '512KiB' } })

    assert.deepEqual([await post(at('/mcp'), sent), await post(at('/mcp'), sent)], [status, status])
  })

type Sent = Omit<(typeof CASES)[number], 'what' | 'status'>

/** Posts text as it is, in chunks or with its length, and reads the whole answer; resolves with its status. */
function post(url: URL, { body, type, version, isChunked }: Sent): Promise<number | undefined> {
  const { headers } = modern('tools/list')
  if (version !== undefined) headers['mcp-protocol-version'] = version
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
