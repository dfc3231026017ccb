// The responses of llhttp's tests (MIT, see the LICENSE beside them; release 9.4.2), read by the parser of the fast client.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ReplyParser } from '../../../src/net/http1-reply-parser.ts'

/** A response, and what llhttp makes of it: the first final reply in it, or an error. */
interface Case {
  readonly name: string
  /** `response` for llhttp as it is; others switch off one of its checks. */
  readonly type: string
  readonly input: string
  readonly status?: number
  /** Absent where llhttp's test leaves it open. */
  readonly body?: string
  readonly isComplete?: boolean
  readonly error?: string
}

const FILE = new URL('../../fixtures/llhttp/responses.json', import.meta.url)
const CASES = JSON.parse(readFileSync(FILE, 'utf8')) as readonly Case[]

/** All that llhttp takes and the parser refuses, and why. */
const STRICTER: ReadonlyMap<string, string> = new Map([
  [
    'connection: HTTP 100 first, then 400',
    'an empty line before a reply: only servers may pass over one (RFC 9112, 2.2)',
  ],
  ['sample: Response starting with CRLF', 'the same'],
  ['sample: RTSP response', 'another protocol'],
  ['sample: ICE response', 'another protocol'],
  ['sample: HTTP version 0.9', 'no HTTP/1'],
  ['transfer-encoding: `chunked` before other transfer-encoding', 'no encoding but chunks was asked for'],
  ['transfer-encoding: multiple transfer-encoding where chunked is not the last one', 'the same'],
  ['transfer-encoding: `chunkedchunked` transfer-encoding does not enable chunked enconding', 'the same'],
])

interface Read {
  status: number | undefined
  body: string
  isComplete: boolean
  /** Says whether the connection is of no use any more. */
  isRefused: boolean
}

/** Reads a response in pieces of so many bytes. */
function read(input: string, step: number): Read {
  const found: Read = { status: undefined, body: '', isComplete: false, isRefused: false }
  const reader = new ReplyParser({
    head: ({ status }) => (found.status = status),
    body: bytes => (found.body += bytes.toString('latin1')),
    end: isClean => {
      found.isComplete = true
      if (!isClean) found.isRefused = true
    },
  })
  const bytes = Buffer.from(input, 'latin1')
  reader.expect()
  try {
    for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step))
  } catch {
    found.isRefused = true
  }
  return found
}

describe('a response of the tests of llhttp', () => {
  for (const { name, type, input, status, body, isComplete, error } of CASES) {
    const whole = read(input, input.length)
    const isSwitchedOff = type !== 'response'
    if (error !== undefined || isSwitchedOff)
      it(`${name}: is refused, or waited for (${error ?? type})`, () => {
        assert.ok(whole.isRefused || !whole.isComplete, 'the connection would be used again')
      })
    else if (STRICTER.has(name))
      it(`${name}: is refused here (${STRICTER.get(name) ?? ''})`, () => {
        assert.equal(whole.isRefused, true)
        assert.equal(whole.isComplete, false)
      })
    else
      it(`${name}: says the same`, () => {
        assert.equal(whole.status, status)
        if (body !== undefined) assert.equal(whole.body, body)
        assert.equal(whole.isComplete, isComplete)
      })

    it(`${name}: says the same byte by byte`, () => {
      const { status: bit, body: piece, isComplete: isDone } = read(input, 1)
      assert.deepEqual([bit, piece, isDone], [whole.status, whole.body, whole.isComplete])
    })
  }

  it('is among those that are there', () => {
    assert.deepEqual(
      [...STRICTER.keys()].filter(name => !CASES.some(one => one.name === name)),
      [],
    )
    assert.ok(CASES.length > 60)
  })
})
