import { createHash, timingSafeEqual } from 'node:crypto'

/** Digest of a secret, to keep and look it up by. A secret of ours has 256 random bits, so one round is as good as many. */
export function digestText(secret: string): string {
  return digestOf(secret).toString('base64')
}

/** Compares a secret with what somebody sent, in a time that says nothing. */
export function sameText(secret: string, sent: string): boolean {
  return timingSafeEqual(digestOf(secret), digestOf(sent))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** The cookie of a name, in the `cookie` headers of a request; undefined where there is none, or more than one. */
export function cookieIn(headers: readonly string[], name: string): string | undefined {
  const all = headers.flatMap(line => line.split(';').map(one => one.trim()))
  const [own, ...more] = all.filter(one => one.startsWith(`${name}=`))
  // Two of one name: somebody else has set one of them.
  return own === undefined || more.length > 0 ? undefined : own.slice(name.length + 1)
}
