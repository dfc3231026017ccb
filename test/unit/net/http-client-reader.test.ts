import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ClientError } from '../../../src/net/http-client-types.ts'
import { ReplyParser } from '../../../src/net/http1-reply-parser.ts'

interface Heard {
  readonly statuses: number[]
  body: string
  ends: boolean[]
}

/** Reads replies as they come in these pieces; each end expects the next reply. */
function read(pieces: readonly Buffer[], replies = 1): Heard & { reader: ReplyParser } {
  const heard: Heard = { statuses: [], body: '', ends: [] }
  const reader: ReplyParser = new ReplyParser({
    head: ({ status }) => void heard.statuses.push(status),
    body: bytes => (heard.body += bytes.toString('latin1')),
    end: isClean => {
      heard.ends.push(isClean)
      if (heard.ends.length < replies) reader.expect()
    },
  })
  reader.expect()
  for (const piece of pieces) reader.push(piece)
  return { ...heard, reader }
}

function text(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

function refuses(bytes: Buffer, what: RegExp): void {
  assert.throws(() => read([bytes]), { name: 'ClientError', code: 'MALFORMED', message: what })
}

const CHUNKED = 'transfer-encoding: chunked'

describe('a reply', () => {
  for (const [what, lines, why] of [
    ['two lengths', ['HTTP/1.1 200 OK', 'content-length: 3', CHUNKED], /both Content-Length/],
    ['lengths that differ', ['HTTP/1.1 200 OK', 'content-length: 3', 'content-length: 4'], /invalid Content-Length/],
    ['the same length twice', ['HTTP/1.1 200 OK', 'content-length: 3', 'content-length: 3'], /invalid Content-Length/],
    ['a negative length', ['HTTP/1.1 200 OK', 'content-length: -3'], /invalid Content-Length/],
    ['a length in hex', ['HTTP/1.1 200 OK', 'content-length: 0x3'], /invalid Content-Length/],
    ['another encoding', ['HTTP/1.1 200 OK', 'transfer-encoding: gzip, chunked'], /unsupported transfer encoding/],
    ['chunks in HTTP/1.0', ['HTTP/1.0 200 OK', CHUNKED], /unsupported transfer encoding/],
    ['a folded header', ['HTTP/1.1 200 OK', 'a: b', ' c'], /header/],
    ['a space before a colon', ['HTTP/1.1 200 OK', 'content-length : 3'], /header/],
    ['a bare line end', ['HTTP/1.1 200 OK', 'a: b\ncontent-length: 3'], /header/],
    ['a bare return', ['HTTP/1.1 200 OK', 'a: b\rc'], /header/],
    ['a nul', ['HTTP/1.1 200 OK', 'a: \0'], /header/],
    ['a header without a name', ['HTTP/1.1 200 OK', ': b'], /header/],
    ['no status', ['HTTP/1.1 OK'], /status line/],
    ['another protocol', ['ICY 200 OK'], /status line/],
    ['too many headers', ['HTTP/1.1 200 OK', ...Array.from({ length: 129 }, () => 'a: b')], /128/],
    ['an endless head', ['HTTP/1.1 200 OK', `a: ${'b'.repeat(17_000)}`], /larger than 16384/],
  ] as const)
    it(`with ${what} is refused`, () => refuses(text(...lines, '', ''), why))

  for (const [what, body] of [
    ['a size that is no number', 'g\r\n'],
    ['a negative size', '-1\r\n'],
    ['an enormous size', '123456789\r\n'],
    ['more data than it says', '1\r\nab\r\n'],
    ['a line that ends without a return', '1\nab'],
    ['an endless size', '0'.repeat(5000)],
    ['endless trailers', `0\r\n${'a: b\r\n'.repeat(3000)}`],
    ['a trailer that is none', '0\r\nab\r\n\r\n'],
  ] as const)
    it(`in chunks with ${what} is refused`, () =>
      refuses(Buffer.concat([text('HTTP/1.1 200 OK', CHUNKED, '', ''), Buffer.from(body)]), /malformed chunks/))

  it('that nobody asked for is refused', () => {
    const { reader } = read([text('HTTP/1.1 200 OK', 'content-length: 0', '', '')])
    assert.throws(() => reader.push(Buffer.from('HTTP/1.1 200 OK\r\n\r\n')), /unexpected data/)
  })
})

const body = fc.string({ maxLength: 40 }).map(value => Buffer.from(value).toString('latin1'))

/** A reply on the wire, and its body. */
const reply = fc.record({ body, chunked: fc.boolean(), cut: fc.nat(40), interim: fc.boolean() }).map(made => {
  const { length } = made.body
  const at = Math.min(made.cut, length)
  const chunks = [made.body.slice(0, at), made.body.slice(at)].filter(chunk => chunk !== '')
  const framed = chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  const rest = made.chunked ? `${CHUNKED}\r\n\r\n${framed}0\r\n\r\n` : `Content-Length: ${length}\r\n\r\n${made.body}`
  const interim = made.interim ? 'HTTP/1.1 100 Continue\r\n\r\n' : ''
  return { wire: `${interim}HTTP/1.1 200 OK\r\ndate: now\r\n${rest}`, body: made.body }
})

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
}

describe('whatever comes', () => {
  it('nothing but a ClientError is thrown, and nothing is heard after the end', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
      fc.tuple(reply, fc.nat(), fc.nat(255)).map(([{ wire }, at, byte]) => {
        const bytes = Buffer.from(wire, 'latin1')
        bytes[at % bytes.length] = byte
        return bytes
      }),
    )
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 4 }), fc.array(fc.nat(), { maxLength: 8 }), (parts, cuts) => {
        const all = Buffer.concat(parts)
        let ends = 0
        const reader = new ReplyParser({
          head: () => assert.equal(ends, 0),
          body: () => assert.equal(ends, 0),
          end: () => assert.equal(ends++, 0),
        })
        reader.expect()
        try {
          for (const piece of split(all, cuts)) reader.push(piece)
        } catch (error) {
          assert.ok(error instanceof ClientError, String(error))
        }
      }),
      { numRuns: 2000 },
    )
  })
})
