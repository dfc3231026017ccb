import type { JsonObject } from './json/json.ts'
import { checkJson } from './json/check.ts'
import { parseMessage } from './jsonrpc.ts'

const HEAD = Buffer.from('{"jsonrpc":"2.0","method":"","params":')
const TAIL = Buffer.from('}')

/**
 * Reads parameters that come without a message around them, under the same rules as those in one.
 * @throws Error when they are no JSON, nest too deep, are too many, or have a name twice.
 */
export function parseParams(bytes: Buffer): JsonObject | undefined {
  checkJson(bytes)
  const message = parseMessage(Buffer.concat([HEAD, bytes, TAIL]))
  if (message.kind !== 'notification')
    throw new Error(message.kind === 'malformed' ? message.error.message : 'no parameters')
  return message.params
}
