/** A generator that gives the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const PLAIN = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const ODD = `${PLAIN}+/=_-.~!@#$%&*"'\\<>? `

/** Secrets such as keys and passwords, every fourth with characters that encodings change. */
export function secretsOf(count: number, seed: number): string[] {
  const random = seeded(seed)
  return Array.from({ length: count }, (_, i) => {
    const from = i % 4 === 0 ? ODD : PLAIN
    const length = 12 + Math.floor(random() * 40)
    const text = Array.from({ length }, () => from.charAt(Math.floor(random() * from.length))).join('')
    return `k${text.trim()}${i}`
  })
}

const hex = (text: string): string => Buffer.from(text).toString('hex')
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** The way programs print what they were given. */
export const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: text => text,
  base64: text => Buffer.from(text).toString('base64'),
  base64url: text => Buffer.from(text).toString('base64url'),
  'basic credentials': text => Buffer.from(`someone:${text}`).toString('base64'),
  hex,
  'upper-case hex': text => hex(text).toUpperCase(),
  'url component': encodeURIComponent,
  'every byte in percent': text => hex(text).replace(/../g, '%$&'),
  form: text => new URLSearchParams({ v: text }).toString().slice(2),
  JSON: inJson,
  'JSON in JSON': text => inJson(inJson(text)),
  'unicode escapes': text => text.replace(/[^]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
  HTML: text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;'),
}
