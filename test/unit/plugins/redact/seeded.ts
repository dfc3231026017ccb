/** Numbers in a fixed order, so that what is seeded is the same in every run. */
export function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const DIGIT = '0123456789'
const ALNUM = UPPER + UPPER.toLowerCase() + DIGIT
const WORDS = `${ALNUM}_-`
const HEX = '0123456789abcdef'

type Random = (below: number) => number

function letters(random: Random, alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet.charAt(random(alphabet.length))).join('')
}

function jwt(random: Random): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: String(random(1e9)), iat: 1_700_000_000 }
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}.${letters(random, WORDS, 43)}`
}

function pem(random: Random): string {
  const lines = Array.from({ length: 6 }, () => letters(random, `${ALNUM}+/`, 64))
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----'].join('\n')
}

/** Secrets of twenty makers, each made by its form. */
const MAKERS: readonly ((random: Random) => string)[] = [
  r => `AKIA${letters(r, UPPER + DIGIT, 16)}`,
  r => `ghp_${letters(r, ALNUM, 36)}`,
  r => `github_pat_${letters(r, ALNUM, 22)}_${letters(r, ALNUM, 59)}`,
  r => `glpat-${letters(r, WORDS, 20)}`,
  r => `xoxb-${letters(r, DIGIT, 12)}-${letters(r, DIGIT, 12)}-${letters(r, ALNUM, 24)}`,
  r => `sk_live_${letters(r, ALNUM, 24)}`,
  r => `AIza${letters(r, WORDS, 35)}`,
  r => `sk-proj-${letters(r, WORDS, 64)}`,
  r => `sk-ant-api03-${letters(r, WORDS, 93)}`,
  r => `npm_${letters(r, ALNUM, 36)}`,
  r => `SG.${letters(r, WORDS, 22)}.${letters(r, WORDS, 43)}`,
  r => `hf_${letters(r, ALNUM, 34)}`,
  r => `dop_v1_${letters(r, HEX, 64)}`,
  r => `shpat_${letters(r, HEX, 32)}`,
  r => `${letters(r, DIGIT, 10)}:AA${letters(r, WORDS, 33)}`,
  r => `dapi${letters(r, HEX, 32)}`,
  r => `lin_api_${letters(r, ALNUM, 40)}`,
  r => `hvs.${letters(r, WORDS, 90)}`,
  jwt,
  pem,
]

/** Two hundred secrets: ten of each maker. */
export function secrets(): string[] {
  const random = numbers(16)
  return Array.from({ length: 200 }, (_, at) => (MAKERS[at % MAKERS.length] ?? jwt)(random))
}

function everyCharacter(text: string, write: (code: number) => string): string {
  return Array.from({ length: text.length }, (_, at) => write(text.charCodeAt(at))).join('')
}

const hex = (code: number, width: number): string => code.toString(16).padStart(width, '0')

/** Forms in which a secret stands in what a server answers, by name. */
export const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: secret => `the key is ${secret}, keep it`,
  'JSON with \\u': secret => `key: ${everyCharacter(secret, code => `\\u${hex(code, 4)}`)}`,
  'JSON text': secret => JSON.stringify({ deep: [{ key: secret }] }),
  'JSON in JSON text': secret => JSON.stringify({ log: JSON.stringify({ key: `x ${secret}` }) }),
  percent: secret => `https://example.com/?q=${everyCharacter(secret, code => `%${hex(code, 2).toUpperCase()}`)}`,
  base64: secret => `data: ${Buffer.from(`key=${secret}`).toString('base64')}`,
  'base64 for URLs': secret => `?state=${Buffer.from(`a key=${secret}!`).toString('base64url')}`,
  'base64 in lines': secret =>
    Buffer.from(`The key of this account is ${secret}\nand it ends next year.`)
      .toString('base64')
      .replace(/.{76}/g, '$&\r\n'),
}

/** Personal data with the detector that finds it. */
export const PERSONAL: readonly (readonly [string, string])[] = [
  ...[
    'ann@example.com',
    'a.b-c+tag@mail.example.co.uk',
    "o'neil@example.org",
    'x_1@sub.domain.example',
    'INFO@EXAMPLE.COM',
  ].map(one => ['email', one] as const),
  ...[
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '5555555555554444',
    '2223003122003222',
    '378282246310005',
    '3782 822463 10005',
    '6011111111111117',
    '30569309025904',
    '3530111333300000',
    '4222222222222',
  ].map(one => ['card', one] as const),
  ...[
    'DE89370400440532013000',
    'DE89 3704 0044 0532 0130 00',
    'GB82 WEST 1234 5698 7654 32',
    'FR1420041010050500013M02606',
    'NL91ABNA0417164300',
    'CH93 0076 2011 6238 5295 7',
    'NO9386011117947',
    'es9121000418450200051332',
    'MT84 MALT 0110 0001 2345 MTLC AST0 01S',
  ].map(one => ['iban', one] as const),
  ...[
    '+49 30 1234567',
    '+493012345678',
    '+1 (555) 123-4567',
    '+1-555-123-4567',
    '(555) 123-4567',
    '555-123-4567',
    '555.123.4567',
    '+44 20 7946 0958',
    '+33 1 23 45 67 89',
    '+81-3-1234-5678',
    '0049 30 1234567',
    '+41 (0)44 668 18 00',
  ].map(one => ['phone', one] as const),
]
