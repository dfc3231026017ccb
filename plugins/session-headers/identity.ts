import { createHmac } from 'node:crypto'
import { conversationKey, type Session } from '../../src/plugin.ts'

/** The same name for all requests of one label of one principal, without a table of them. Nobody without the secret can guess it. */
export function identityOf(session: Session, secret: Buffer): string {
  const bytes = createHmac('sha256', secret).update(conversationKey(session)).digest().subarray(0, 16)
  // Version 8, variant 10: a UUID of our own making (RFC 9562).
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `client-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`
}
