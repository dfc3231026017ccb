import type { ReplyHeaders } from './http-client-types.ts'
import { ClientError, READ_HEADERS } from './http-client-types.ts'

/** Body framing (RFC 9112, 6.3): length, chunks, or end of connection. */
type Framing = number | 'chunked' | 'close'

export interface ReplyHead {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly framing: Framing
  /** True if the connection can be reused. */
  readonly keepsAlive: boolean
  /** Server idle timeout in ms, if sent. */
  readonly idleMs: number | undefined
}

const MAX_HEADERS = 128
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const LENGTH = /^\d{1,15}$/
const HAS_NO_BODY: ReadonlySet<number> = new Set([204, 304])

/**
 * Parses a reply head without its final blank line; text holds one character per byte. Strict against smuggling: no
 * folded
 * lines, no bare line feeds, no ambiguous body length.
 * @throws ClientError
 */
export function parseHead(text: string): ReplyHead {
  let at = text.indexOf('\r\n')
  const status = STATUS_LINE.exec(at < 0 ? text : text.slice(0, at))
  if (status === null) throw createHeadError('invalid status line')
  const headers: { -readonly [K in keyof ReplyHeaders]: ReplyHeaders[K] } = {}
  for (let count = 1; at >= 0; count++) {
    if (count > MAX_HEADERS) throw createHeadError(`more than ${MAX_HEADERS} headers`)
    const start = at + 2
    at = text.indexOf('\r\n', start)
    addHeader(text.slice(start, at < 0 ? text.length : at), headers)
  }
  return createReplyHead(Number(status[2]), status[1] === '1', headers)
}

function addHeader(line: string, headers: { -readonly [K in keyof ReplyHeaders]: ReplyHeaders[K] }): void {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(colon, 0))
  if (!TOKEN.test(name) || !VALUE.test(line)) throw createHeadError('malformed header')
  const headerName = READ_HEADERS.get(name) ?? READ_HEADERS.get(name.toLowerCase())
  if (headerName === undefined) return
  const value = line.slice(colon + 1).trim()
  const before = headers[headerName]
  headers[headerName] = before === undefined ? value : `${before}, ${value}`
}

function createReplyHead(status: number, isNewest: boolean, headers: ReplyHeaders): ReplyHead {
  const framing = getFraming(status, isNewest, headers)
  const connection = headers.connection?.toLowerCase() ?? ''
  const idleMs = parseKeepAliveTimeout(headers['keep-alive'])
  const keepsAlive = isNewest && framing !== 'close' && !/(^|[\s,])close([\s,]|$)/.test(connection)
  return { status, headers, framing, keepsAlive, idleMs }
}

function getFraming(status: number, isNewest: boolean, headers: ReplyHeaders): Framing {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  if (encoding !== undefined) checkEncoding(encoding, isNewest)
  if (encoding !== undefined && length !== undefined) throw createHeadError('both Content-Length and Transfer-Encoding')
  // Duplicate headers are joined, so their value is not a number.
  if (length !== undefined && !LENGTH.test(length)) throw createHeadError('invalid Content-Length')
  if (status < 200 || HAS_NO_BODY.has(status)) return 0
  if (encoding !== undefined) return 'chunked'
  return length === undefined ? 'close' : Number(length)
}

function checkEncoding(encoding: string, isNewest: boolean): void {
  if (!isNewest || encoding.toLowerCase() !== 'chunked') throw createHeadError('unsupported transfer encoding')
}

function parseKeepAliveTimeout(keepAlive: string | undefined): number | undefined {
  const seconds = keepAlive === undefined ? undefined : /(?:^|[\s,])timeout=(\d{1,6})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

function createHeadError(reason: string): ClientError {
  return new ClientError('MALFORMED', `invalid HTTP/1.1 reply: ${reason}`)
}
