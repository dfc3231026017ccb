import { createHmac } from 'node:crypto'
import { exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { now, type Issuer } from './issuer.ts'

/** All that is wrong with a request's credentials, and the headers that carry them. */
export interface BadToken {
  readonly why: string
  readonly headers: Readonly<Record<string, string>>
}

/** Every way we know to forge, stretch or misplace a token for `audience`. */
export async function badTokens(issuer: Issuer, audience: string): Promise<BadToken[]> {
  const good = await issuer.sign(audience)
  const [head = '', body = '', signature = ''] = good.split('.')
  const signed = await Promise.all(
    [...CLAIMS, ...HEADERS].map(async ([why, claims, header = {}]) => {
      return [why, await issuer.sign(audience, claims(audience), header)] as const
    }),
  )
  const broken: (readonly [string, string])[] = [
    ['no signature', `${head}.${body}.`],
    ['two parts', `${head}.${body}`],
    ['four parts', `${good}.x`],
    ['five parts, as if encrypted', `${head}.${body}.${signature}.x.y`],
    ['dots alone', '...'],
    ['not base64', `a.b.c`],
    ['another body under its signature', `${head}.${encode({ ...claimsOf(body), sub: 'root' })}.${signature}`],
    ['another header over its signature', `${encode({ alg: 'ES256', kid: 'x' })}.${body}.${signature}`],
    ['a flipped signature', `${head}.${body}.${flipped(signature)}`],
    ['alg none', `${encode({ alg: 'none' })}.${body}.`],
    ['alg NONE with a signature', `${encode({ alg: 'NONE' })}.${body}.${signature}`],
    ['no alg', `${encode({ kid: 'key-1' })}.${body}.${signature}`],
    ['alg HS256, the public key as its secret', await confused(issuer, body)],
    ['alg HS256, an empty secret', hmac({ alg: 'HS256' }, body, '')],
    ['a header that is no JSON', `${Buffer.from('{').toString('base64url')}.${body}.${signature}`],
    ['a body that is no JSON', `${head}.${Buffer.from('[1').toString('base64url')}.${signature}`],
    ['a body that is a list', `${head}.${Buffer.from('[]').toString('base64url')}.${signature}`],
    ['a key of another', await strange(issuer, audience, 'ES256')],
    ['an algorithm that is not pinned', await strange(issuer, audience, 'ES384')],
    ['too long', await issuer.sign(audience, { pad: 'x'.repeat(9000) })],
    ['an API key that nobody has', 'gwk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
  ]
  const bearers = [...signed, ...broken].map(([why, token]) => ({
    why,
    headers: { authorization: `Bearer ${token}` },
  }))
  return [...bearers, ...misplaced(good)]
}

type Bad = readonly [
  why: string,
  claims: (audience: string) => Record<string, unknown>,
  header?: Record<string, unknown>,
]

const CLAIMS: readonly Bad[] = [
  ['aud missing', () => ({ aud: undefined })],
  ['aud empty', () => ({ aud: '' })],
  ['aud an empty list', () => ({ aud: [] })],
  ['aud another', () => ({ aud: 'https://other.example/mcp' })],
  ['aud a list of others', () => ({ aud: ['https://a.example', 'https://b.example'] })],
  ['aud a list of us and another', audience => ({ aud: [audience, 'https://b.example'] })],
  ['aud with a slash more', audience => ({ aud: `${audience}/` })],
  ['aud in capitals', audience => ({ aud: audience.toUpperCase() })],
  ['aud a number', () => ({ aud: 1 })],
  ['iss missing', () => ({ iss: undefined })],
  ['iss another', () => ({ iss: 'https://evil.example' })],
  ['iss with a slash more', () => ({ iss: 'https://id.example/' })],
  ['iss a list', () => ({ iss: ['https://id.example'] })],
  ['exp missing', () => ({ exp: undefined })],
  ['exp past the leeway', () => ({ exp: now() - 61 })],
  ['exp long past', () => ({ exp: 1 })],
  ['exp a text', () => ({ exp: String(now() + 300) })],
  ['nbf to come', () => ({ nbf: now() + 120 })],
  ['nbf a text', () => ({ nbf: 'now' })],
  ['iat to come', () => ({ iat: now() + 3600 })],
  ['sub missing', () => ({ sub: undefined })],
  ['sub empty', () => ({ sub: '' })],
  ['sub a number', () => ({ sub: 7 })],
  ['sub very long', () => ({ sub: 'x'.repeat(600) })],
  ['client_id a map', () => ({ client_id: { a: 1 } })],
]

const none = (): Record<string, unknown> => ({})
const HEADERS: readonly Bad[] = [
  ['kid unknown', none, { kid: 'key-99' }],
  ['kid a path', none, { kid: '../../../../dev/null' }],
  ['kid a URL', none, { kid: 'https://evil.example/jwks.json' }],
  ['kid an injection', none, { kid: "x' UNION SELECT 'key" }],
  ['kid very long', none, { kid: 'k'.repeat(600) }],
  ['kid a number', none, { kid: 1 }],
  ['jku', none, { jku: 'https://evil.example/jwks.json' }],
  ['x5u', none, { x5u: 'https://evil.example/cert.pem' }],
  ['x5c', none, { x5c: ['MIIB'] }],
  ['jwk', none, { jwk: { kty: 'EC', crv: 'P-256', x: 'a', y: 'b' } }],
  ['crit', none, { crit: ['odd'], odd: 1 }],
]

function misplaced(good: string): BadToken[] {
  return [
    { why: 'nothing at all', headers: {} },
    { why: 'an empty Bearer', headers: { authorization: 'Bearer ' } },
    { why: 'no scheme', headers: { authorization: good } },
    { why: 'Basic', headers: { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` } },
    { why: 'two words', headers: { authorization: `Bearer ${good} ${good}` } },
    { why: 'a token in the header for keys', headers: { 'x-api-key': good } },
    { why: 'a token and a key', headers: { authorization: `Bearer ${good}`, 'x-api-key': 'gwk_x' } },
    { why: 'a token in a cookie', headers: { cookie: `access_token=${good}` } },
  ]
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function claimsOf(body: string): object {
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as object
}

/** In the middle, where every bit counts. */
function flipped(signature: string): string {
  return `${signature.slice(0, 20)}${signature[20] === 'A' ? 'B' : 'A'}${signature.slice(21)}`
}

/** The classic: the verifier takes the public key for a shared secret. */
async function confused(issuer: Issuer, body: string): Promise<string> {
  return hmac({ alg: 'HS256', kid: 'key-1' }, body, await exportSPKI(issuer.publicKey))
}

function hmac(header: object, body: string, secret: string): string {
  const text = `${encode(header)}.${body}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

async function strange(issuer: Issuer, audience: string, alg: string): Promise<string> {
  const { privateKey } = await generateKeyPair(alg)
  return new SignJWT({ iss: issuer.url, aud: audience, sub: 'alice' })
    .setProtectedHeader({ alg, kid: 'key-1' })
    .setExpirationTime('5m')
    .sign(privateKey)
}
