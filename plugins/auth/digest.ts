import { createHash } from 'node:crypto'

/** What is kept of a secret, and compared. A key has 256 random bits, so one round is as good as many. */
export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
