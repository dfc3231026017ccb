import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares a secret with what somebody sent, in a time that says nothing. */
export function sameText(secret: string, sent: string): boolean {
  return timingSafeEqual(digestOf(secret), digestOf(sent))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
