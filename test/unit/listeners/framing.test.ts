import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { modern, serve } from './http/client.ts'

const { headers, body } = modern('tools/list')
const BODY = Buffer.byteLength(body)
const HOST = 'Host: 127.0.0.1'
const LENGTH = `Content-Length: ${BODY}`
const CHUNKED = 'Transfer-Encoding: chunked'
const CHUNKS = `${BODY.toString(16)}\r\n${body}\r\n0\r\n\r\n`
const OWN = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

/** A whole request: a line, header lines, and what follows them. */
function raw(line: string, lines: readonly string[], rest = '', end = '\r\n'): string {
  return [line, ...lines, '', ''].join(end) + rest
}

function post(more: readonly string[], rest = body, line = 'POST /mcp HTTP/1.1'): string {
  return raw(line, [...OWN, ...more], rest)
}

function twice(name: string, one: string, other = one): string {
  return post([...(name === 'Host' ? [] : [HOST]), LENGTH, `${name}: ${one}`, `${name}: ${other}`])
}

const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `X-${at}: 1`)
const version = (text: string): string => post([HOST, LENGTH], body, `POST /mcp ${text}`)
const coding = (value: string): string => post([HOST, `Transfer-Encoding: ${value}`], CHUNKS)

/** All that is refused, with the status: 0 is a connection that is closed without one. */
const REFUSED: readonly (readonly [what: string, text: string, ...statuses: number[]])[] = [
  ['two Host', twice('Host', '127.0.0.1'), 400],
  ['two Host, one of them foreign', twice('Host', '127.0.0.1', 'evil.example'), 400],
  ['two Origin', twice('Origin', 'http://localhost', 'http://evil.example'), 400],
  ['two Authorization', twice('Authorization', 'Bearer a', 'Bearer b'), 400],
  ['two X-Session-ID', twice('X-Session-ID', 'a', 'b'), 400],
  ['two Mcp-Session-Id', twice('Mcp-Session-Id', 'a', 'b'), 400],
  ['two Mcp-Method', post([HOST, LENGTH, 'Mcp-Method: tools/call']), 400],
  ['two Mcp-Name', twice('Mcp-Name', 'a', 'b'), 400],
  ['two Mcp-Protocol-Version', post([HOST, LENGTH, 'Mcp-Protocol-Version: 2025-06-18']), 400],
  ['two Transfer-Encoding', post([HOST, CHUNKED, CHUNKED], CHUNKS), 400],
  ['Transfer-Encoding gzip and chunked in two lines', post([HOST, 'Transfer-Encoding: gzip', CHUNKED], CHUNKS), 400],
  ['no Host', post([LENGTH]), 400],
  ['an empty Host', post(['Host:', LENGTH]), 400, 403],
  ['a Host with user information', post(['Host: a@127.0.0.1', LENGTH]), 400, 403],
  ['a Host with a path', post(['Host: 127.0.0.1/x', LENGTH]), 400, 403],
  ['a foreign Host', post(['Host: evil.example', LENGTH]), 403],
  ['a list of Hosts', post(['Host: 127.0.0.1, evil.example', LENGTH]), 400, 403],
  ['a foreign Origin', post([HOST, LENGTH, 'Origin: http://evil.example']), 403],
  ['two Content-Length that differ', post([HOST, LENGTH, 'Content-Length: 1']), 400],
  ['two Content-Length that are equal', post([HOST, LENGTH, LENGTH]), 400],
  ['a list of Content-Lengths', post([HOST, `Content-Length: ${BODY}, ${BODY}`]), 400],
  ['Content-Length and chunked', post([HOST, LENGTH, CHUNKED], CHUNKS), 400],
  ['chunked and Content-Length', post([HOST, CHUNKED, LENGTH], CHUNKS), 400],
  ['a negative Content-Length', post([HOST, 'Content-Length: -1']), 400],
  ['a Content-Length with a sign', post([HOST, `Content-Length: +${BODY}`]), 400],
  ['a hexadecimal Content-Length', post([HOST, 'Content-Length: 0x10']), 400],
  ['a Content-Length beyond 2^64', post([HOST, 'Content-Length: 99999999999999999999999']), 400],
  ['a Content-Length above the limit', post([HOST, 'Content-Length: 99999999']), 413],
  ['gzip, chunked', coding('gzip, chunked'), 400],
  ['deflate, chunked', coding('deflate, chunked'), 400],
  ['chunked, chunked', coding('chunked, chunked'), 400],
  ['chunked, gzip', coding('chunked, gzip'), 400],
  ['gzip alone', coding('gzip'), 400],
  ['chunked with a parameter', coding('chunked;q=1'), 400],
  ['chunked after a vertical tab', coding('\u000bchunked'), 400],
  ['an empty Transfer-Encoding', coding(''), 400],
  ['chunked in HTTP/1.0', post([HOST, CHUNKED], CHUNKS, 'POST /mcp HTTP/1.0'), 400],
  ['a chunk size that is no number', post([HOST, CHUNKED], `zz\r\n${body}\r\n0\r\n\r\n`), 400],
  ['a chunk size with 0x', post([HOST, CHUNKED], `0x5\r\n${body}\r\n0\r\n\r\n`), 400],
  ['a chunk size beyond 2^64', post([HOST, CHUNKED], `fffffffffffffffff\r\n${body}\r\n0\r\n\r\n`), 400],
  ['a chunk that is longer than it says', post([HOST, CHUNKED], `1\r\n${body}\r\n0\r\n\r\n`), 400],
  ['a chunk that ends in a bare LF', post([HOST, CHUNKED], `${BODY.toString(16)}\n${body}\n0\n\n`), 400],
  ['bare LF after the lines', raw('POST /mcp HTTP/1.1', [...OWN, HOST, LENGTH], body, '\n'), 400],
  ['a bare CR within a header', post([HOST, LENGTH, 'X-A: 1\rX-B: 2']), 400],
  ['a space before the colon', post(['Host : 127.0.0.1', LENGTH]), 400],
  ['a space before the colon of Transfer-Encoding', post([HOST, 'Transfer-Encoding : chunked'], CHUNKS), 400],
  ['a folded header', post([HOST, LENGTH, 'X-A: 1\r\n folded']), 400],
  ['a folded Transfer-Encoding', post([HOST, 'Transfer-Encoding:\r\n chunked'], CHUNKS), 400],
  ['a header that begins with a space', post([HOST, LENGTH, ' X-A: 1']), 400],
  ['a header without a colon', post([HOST, LENGTH, 'Nonsense']), 400],
  ['NUL in a header', post([HOST, LENGTH, 'X-A: \u0000']), 400],
  ['NUL in a name', post([HOST, LENGTH, 'X\u0000A: 1']), 400],
  ['101 headers', raw('GET /livez HTTP/1.1', [HOST, ...many(100)]), 431],
  ['a header of 20 KB', raw('GET /livez HTTP/1.1', [HOST, `X-A: ${'x'.repeat(20_000)}`]), 431],
  ['HTTP/2.0', version('HTTP/2.0'), 505, 400],
  ['HTTP/0.9', version('HTTP/0.9'), 505, 400],
  ['HTTP/1', version('HTTP/1'), 400],
  ['no version', raw('GET /livez', [HOST]), 505, 400],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 505],
  ['a method that is no token', post([HOST, LENGTH], body, 'PO ST /mcp HTTP/1.1'), 400],
  ['an unknown method', post([HOST, LENGTH], body, 'POSTX /mcp HTTP/1.1'), 400],
  ['a target without a slash', post([HOST, LENGTH], body, 'POST mcp HTTP/1.1'), 400, 404],
  ['a target of another host', post([HOST, LENGTH], body, 'POST http://evil.example/mcp HTTP/1.1'), 400, 403, 404],
  ['CONNECT', raw('CONNECT 127.0.0.1:22 HTTP/1.1', [HOST]), 0, 400, 404, 405],
  ['TRACE', raw('TRACE /mcp HTTP/1.1', [HOST]), 405],
  ['a compressed body', post([HOST, LENGTH, 'Content-Encoding: gzip']), 415],
  ['an expectation nobody knows', post([HOST, LENGTH, 'Expect: miracles']), 417],
]

/** Sends it and reads the status of every answer until the other end closes, or has been quiet for a moment. */
function statuses(url: URL, text: string): Promise<{ found: number[]; isClosed: boolean }> {
  return new Promise(resolve => {
    const socket = connect(Number(url.port), url.hostname)
    let got = ''
    const over = (isClosed: boolean): void => {
      socket.destroy()
      resolve({ found: [...got.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code)), isClosed })
    }
    socket.on('data', chunk => (got += String(chunk)))
    socket.on('error', () => undefined)
    socket.on('close', () => over(true))
    socket.setTimeout(400, () => over(false))
    // Bytes that hide behind the first request must not be taken for another one.
    socket.write(text, 'latin1')
  })
}

/** Requests at once: those that are left open are waited for. */
const AT_ONCE = 16
/** After these the rest of the stream means nothing any more. */
const CLOSES = new Set([400, 431, 505])

test('a request that can be read in two ways is refused, and its connection closed', async t => {
  const { gate, url } = await serve(t)
  const wrong: string[] = []

  const judge = async ([what, text, ...expected]: (typeof REFUSED)[number]): Promise<void> => {
    const { found, isClosed } = await statuses(url, text)
    const [status = 0] = found
    if (!expected.includes(status) || (CLOSES.has(status) && !isClosed) || found.length > 1)
      wrong.push(`${what}: ${String(found)}${isClosed ? '' : ', left open'}`)
  }
  for (let from = 0; from < REFUSED.length; from += AT_ONCE)
    await Promise.all(REFUSED.slice(from, from + AT_ONCE).map(judge))

  assert.ok(REFUSED.length >= 60)
  assert.deepEqual(wrong, [])
  assert.equal(gate.seen.length, 0)
})

test('what may be said in several ways is served', async t => {
  const { gate, url } = await serve(t)
  const served = [
    post([HOST, LENGTH]),
    post([HOST, CHUNKED], CHUNKS),
    post([HOST, 'Transfer-Encoding:  Chunked '], CHUNKS),
    post([HOST, LENGTH, ...many(90)]),
  ]

  const answers = await Promise.all(served.map(text => statuses(url, text)))

  for (const { found } of answers) assert.deepEqual(found, [200])

  assert.equal(gate.seen.length, served.length)
})
