import { createHash } from 'node:crypto'
import { canonical } from '../../src/plugin.ts'

/** Prefix of every hash: the scheme that it was made by. */
export const SCHEME = 'v1:'

/** SHA-256 over the canonical text, with the scheme before it. */
export function hashOf(value: unknown): string {
  return SCHEME + createHash('sha256').update(canonical(value)).digest('hex')
}

/** The same data with the names of every object in canonical order. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]))
}
