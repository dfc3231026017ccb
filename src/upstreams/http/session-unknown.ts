import { isObject } from '../../protocol/json/json.ts'

/** All that known servers say of a session they do not know where they answer 400, and the protocol wants 404. */
const FORMS: ReadonlySet<string> = new Set([
  'no valid session id provided',
  'invalid session id',
  'invalid or expired session id',
  'session not found',
  'session terminated',
  'unknown session',
  'no transport found for sessionid',
])

/** Whether the body of a 400 says that, and nothing else. What a call made a server say about sessions must not end the session of all. */
export function isSessionUnknown(body: string): boolean {
  const said = messageIn(body)
    .trim()
    .toLowerCase()
    .replace(/^bad request: /, '')
    .replace(/\.$/, '')
  return FORMS.has(said)
}

/** The message of a JSON-RPC error, or a text that is no JSON. */
function messageIn(body: string): string {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return body
  }
  const error = isObject(value) && value.jsonrpc === '2.0' ? value.error : undefined
  return isObject(error) && typeof error.message === 'string' ? error.message : ''
}
