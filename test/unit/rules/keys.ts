import { createHash } from 'node:crypto'

/** An API key as the configuration has it. */
export function hashOf(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}
