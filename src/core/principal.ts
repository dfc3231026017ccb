import type { Principal } from './ports.ts'

/** Nobody in particular: a local pipe, or a listener that asks for no credentials. */
export const ANONYMOUS: Principal = Object.freeze({
  issuer: '',
  client: '',
  subject: 'anonymous',
  scopes: Object.freeze([]),
})

/** The principal as part of a key. Encoded as JSON, so that no delimiter can be forged. */
export function principalKey({ issuer, client, subject }: Principal): string {
  return JSON.stringify([issuer, client, subject])
}
