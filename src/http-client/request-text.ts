import { ClientError, type ClientRequest } from './handler.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** No control character, so that a value cannot end its line; a character is a byte. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const PATH = /^[\x21-\x7e]+$/

/**
 * A request as it goes out, head and body in one piece. Text has one byte for each character.
 * @throws ClientError when a part of it cannot be written as HTTP/1.1.
 */
export function requestText({ method, path, headers, body }: ClientRequest, host: string): string | Buffer {
  if (!PATH.test(path)) throw new ClientError('INVALID_ARG', 'the path holds characters that no path has')
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name] as string
    if (!TOKEN.test(name) || !VALUE.test(value))
      throw new ClientError('INVALID_ARG', `invalid ${TOKEN.test(name) ? name : 'name of a'} header`)
    head += `${name}: ${value}\r\n`
  }
  if (body === undefined) return `${head}\r\n`
  const length = Buffer.byteLength(body)
  head += `content-length: ${length}\r\n\r\n`
  // As many bytes as characters: all of the body is ASCII, and Latin-1 writes it as it is.
  if (length === body.length) return head + body
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)])
}
