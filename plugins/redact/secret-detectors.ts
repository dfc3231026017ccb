import type { Detector, Span } from './find-spans.ts'
import { findMatches } from './find-spans.ts'

const LOCAL = /[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]/
const DOMAIN = /(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])/y
const MAX_LOCAL_LENGTH = 64

/** E-mail addresses. */
const email: Detector = {
  name: 'email',
  findSpans(text) {
    const spans: Span[] = []
    for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
      let from = at
      while (from > 0 && at - from < MAX_LOCAL_LENGTH && LOCAL.test(text.charAt(from - 1))) from--
      DOMAIN.lastIndex = at + 1
      const domain = from === at ? undefined : DOMAIN.exec(text)?.[0]
      if (domain !== undefined) spans.push({ from, to: at + 1 + domain.length, detector: 'email' })
    }
    return spans
  },
  mask: value => `${value.slice(0, 1)}***${value.slice(value.indexOf('@'))}`,
}

/** Digit groups, separated by a space, hyphen or dot. */
const DIGITS = /\d+(?:[ .\u00a0-]\d+)*/g
/** Lengths and prefixes in use for payment cards. */
const CARD =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01]|720)\d{12,13}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17})$/
const MIN_CARD_DIGITS = 13
const MAX_CARD_DIGITS = 19

/** Payment card numbers, by prefix, length and check digit (Luhn). */
const card: Detector = {
  name: 'card',
  checksNumbers: true,
  findSpans(text) {
    const spans: Span[] = []
    for (const run of text.matchAll(DIGITS)) addCards(run[0], run.index, spans)
    return spans
  },
  mask: maskToLastFour,
}

/** Adds the card numbers in a run of digits; a card begins and ends with a group. */
function addCards(run: string, offset: number, spans: Span[]): void {
  if (run.length < MIN_CARD_DIGITS) return
  const groups = [...run.matchAll(/\d+/g)]
  for (let first = 0; first < groups.length; first++) {
    const last = findLastGroup(groups, first)
    if (last === undefined) continue
    const [from, end] = [groups[first]?.index ?? 0, groups[last]]
    spans.push({
      from: offset + from,
      to: offset + (end?.index ?? 0) + (end?.[0].length ?? 0),
      detector: 'card',
    })
    first = last
  }
}

/** Finds the last group in a card number that begins with group `first`. */
function findLastGroup(groups: readonly RegExpExecArray[], first: number): number | undefined {
  if (!/^[2-6]/.test(groups[first]?.[0] ?? '')) return undefined
  let digits = ''
  for (let at = first; at < groups.length && digits.length < MAX_CARD_DIGITS; at++) {
    digits += groups[at]?.[0] ?? ''
    if (digits.length >= MIN_CARD_DIGITS && isCard(digits)) return at
  }
  return undefined
}

/** True for a payment card number. */
export function isCard(digits: string): boolean {
  return CARD.test(digits) && !/^(\d)\1*$/.test(digits) && luhn(digits) === 0
}

function luhn(digits: string): number {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48
    const twice = at % 2 === 1 ? digit * 2 : digit
    sum += twice > 9 ? twice - 9 : twice
  }
  return sum % 10
}

/** IBAN lengths by country. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 ' +
    'FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 ' +
    'LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 ' +
    'SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map(row => [row.slice(0, 2), Number(row.slice(2))]),
)
const IBAN_START = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}/g

/** International bank account numbers, by country, length and check digits (mod 97). */
const iban: Detector = {
  name: 'iban',
  findSpans(text) {
    const spans: Span[] = []
    for (const start of text.matchAll(IBAN_START)) {
      const length = IBAN_LENGTHS[start[0].slice(0, 2).toUpperCase()]
      const to = length === undefined ? undefined : findIbanEnd(text, start.index, length)
      if (to !== undefined) spans.push({ from: start.index, to, detector: 'iban' })
    }
    return spans
  },
  mask: maskToLastFour,
}

/** Finds the end of an IBAN with this length; single spaces or hyphens are allowed. */
function findIbanEnd(text: string, from: number, length: number): number | undefined {
  let letters = ''
  let at = from
  for (; letters.length < length && at < text.length; at++) {
    const letter = text.charAt(at)
    if (/[A-Za-z0-9]/.test(letter)) letters += letter.toUpperCase()
    else if (!/[ \u00a0-]/.test(letter) || !/[A-Za-z0-9]/.test(text.charAt(at - 1))) return undefined
  }
  const isWhole = letters.length === length && !/[A-Za-z0-9]/.test(text.charAt(at))
  return isWhole && mod97(letters.slice(4) + letters.slice(0, 4)) === 1 ? at : undefined
}

function mod97(letters: string): number {
  let remainder = 0
  for (const letter of letters) remainder = Number(`${remainder}${parseInt(letter, 36)}`) % 97
  return remainder
}

/** North American numbers without a country code. */
const NATIONAL = /(?<![\w.+-])(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4}(?![\w-]|\.\d)/g
/** Numbers with a country code. */
const INTERNATIONAL = /(?<![\w+.])(?:\+[1-9]|00[1-9]\d{0,2}[ /-](?=\d))/g
const MIN_PHONE_DIGITS = 8
/** Maximum digits with the country code (E.164). */
const MAX_PHONE_DIGITS = 15

/** Phone numbers. */
const phone: Detector = {
  name: 'phone',
  findSpans(text) {
    const spans = findMatches(text, NATIONAL, 'phone')
    for (const { index } of text.matchAll(INTERNATIONAL)) {
      const to = findPhoneEnd(text, index)
      if (to !== undefined) spans.push({ from: index, to, detector: 'phone' })
    }
    return spans
  },
  mask: maskToLastFour,
}

/** Finds the end of a phone number; at most two separators are allowed between digits. */
function findPhoneEnd(text: string, from: number): number | undefined {
  let at = from + (text.charAt(from) === '+' ? 1 : 2)
  let [digits, to, gap] = [0, at, 0]
  for (; at < text.length && gap < 3; at++) {
    const letter = text.charAt(at)
    if (letter >= '0' && letter <= '9') {
      digits++
      to = at + 1
      gap = 0
    } else if (' ()./-\u00a0'.includes(letter)) gap++
    else break
  }
  return digits >= MIN_PHONE_DIGITS && digits <= MAX_PHONE_DIGITS ? to : undefined
}

/** Keeps the last four characters, so that values can be distinguished. */
function maskToLastFour(value: string): string {
  return `****${value.replace(/[^A-Za-z0-9]/g, '').slice(-4)}`
}

/** Key and token formats. Every quantifier is bounded, so that matching takes linear time. */
const KEYS: readonly string[] = [
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}', // AWS
  'gh[pousr]_[A-Za-z0-9]{30,200}', // GitHub
  'github_pat_[A-Za-z0-9_]{22,200}',
  'gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{20,200}', // GitLab
  'xox[abeoprs]-[A-Za-z0-9-]{10,200}', // Slack
  'xapp-\\d-[A-Za-z0-9-]{10,200}',
  'hooks\\.slack\\.com/services/[A-Za-z0-9/]{20,100}',
  '[srp]k_(?:live|test)_[A-Za-z0-9]{16,200}', // Stripe
  'whsec_[A-Za-z0-9+/=]{24,100}',
  'AIza[A-Za-z0-9_-]{35}', // Google
  'ya29\\.[A-Za-z0-9_-]{20,200}',
  'GOCSPX-[A-Za-z0-9_-]{28}',
  'sk-[A-Za-z0-9_-]{20,200}', // OpenAI, Anthropic and others
  'xai-[A-Za-z0-9]{40,200}',
  'gsk_[A-Za-z0-9]{40,100}',
  'pplx-[A-Za-z0-9]{40,100}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{50,200}',
  'dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,100}', // Docker
  'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,100}', // SendGrid
  '(?:AC|SK)[0-9a-f]{32}', // Twilio
  'key-[0-9a-f]{32}', // Mailgun
  '[0-9a-f]{32}-us\\d{1,2}', // Mailchimp
  'hf_[A-Za-z0-9]{30,100}', // Hugging Face
  'r8_[A-Za-z0-9]{37,40}', // Replicate
  'do[opr]_v1_[0-9a-f]{64}', // DigitalOcean
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}', // Shopify
  'sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}', // Square
  '\\d{8,10}:AA[A-Za-z0-9_-]{33}', // Telegram
  '[MNO][A-Za-z0-9_-]{23,25}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}', // Discord
  'dapi[0-9a-f]{32}', // Databricks
  'lin_api_[A-Za-z0-9]{40}', // Linear
  'ntn_[A-Za-z0-9]{40,50}', // Notion
  'secret_[A-Za-z0-9]{43}',
  'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}', // Airtable
  'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', // Postman
  'NRAK-[A-Z0-9]{27}', // New Relic
  'gl(?:sa|c)_[A-Za-z0-9_=+/-]{32,200}', // Grafana
  'dp\\.(?:pt|st|ct|sa)\\.[A-Za-z0-9.]{40,100}', // Doppler
  'hv[sbr]\\.[A-Za-z0-9_-]{24,200}', // Vault
  'AGE-SECRET-KEY-1[A-Z0-9]{58}',
  'ATATT3[A-Za-z0-9_=-]{50,250}', // Atlassian
  'sbp_[0-9a-f]{40}', // Supabase
  'figd_[A-Za-z0-9_-]{40,60}', // Figma
  'tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,100}', // Tailscale
  'sntrys_[A-Za-z0-9_=+/-]{40,250}', // Sentry
  'AccountKey=[A-Za-z0-9+/]{86}==', // Azure
  'aws_secret_access_key["\']?\\s{0,4}[=:]\\s{0,4}["\']?[A-Za-z0-9/+]{40}',
]
const KEY = new RegExp(`(?<![A-Za-z0-9])(?:${KEYS.join('|')})`, 'g')

const REST_OF_TOKEN = /[A-Za-z0-9_-]*/y

const JWT = /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}/g
const BEARER = /(?<![A-Za-z])[Bb]earer\s{1,4}[A-Za-z0-9._~+/-]{20,}=*/g

/** Up to the end marker, or the end of the text. The lazy quantifier takes linear time and constant memory. */
const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [^-]{0,60}-----|$)/g

/** Visible prefix length, which identifies the issuer. */
const VISIBLE_KEY_LENGTH = 4

/** Service keys, by format. */
const apiKey: Detector = {
  name: 'api-key',
  findSpans(text) {
    const spans: Span[] = []
    for (const { from, to } of findMatches(text, KEY, 'api-key')) {
      // The previous match already includes this one.
      if (from < (spans.at(-1)?.to ?? 0)) continue
      spans.push({ from, to: findTokenEnd(text, to), detector: 'api-key' })
    }
    return spans
  },
  mask: maskKey,
}

/** JSON Web Tokens and bearer tokens. */
const token: Detector = {
  name: 'token',
  findSpans: text => [...findMatches(text, JWT, 'token'), ...findMatches(text, BEARER, 'token')],
  mask: maskKey,
}

/** PEM private keys. */
const privateKey: Detector = {
  name: 'private-key',
  findSpans: text => findMatches(text, PRIVATE_KEY, 'private-key'),
  mask: () => '-----PRIVATE KEY-----',
}

const AUTHORITY = /[^\s/?#"'<>\\]{1,300}/y

/** Passwords in URLs. */
const urlPassword: Detector = {
  name: 'url-password',
  findSpans(text) {
    const spans: Span[] = []
    for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
      AUTHORITY.lastIndex = at + 3
      const authority = AUTHORITY.exec(text)?.[0] ?? ''
      const [user, host] = [authority.indexOf(':'), authority.lastIndexOf('@')]
      if (user >= 0 && host > user + 1) spans.push({ from: at + 4 + user, to: at + 3 + host, detector: 'url-password' })
    }
    return spans
  },
  mask: () => '****',
}

/** Extends a match to the whole token, so that no tail remains. */
function findTokenEnd(text: string, from: number): number {
  REST_OF_TOKEN.lastIndex = from
  REST_OF_TOKEN.test(text)
  return REST_OF_TOKEN.lastIndex
}

function maskKey(value: string): string {
  return `${value.slice(0, VISIBLE_KEY_LENGTH)}****`
}

const BUILT_IN_DETECTORS: readonly Detector[] = [privateKey, apiKey, token, urlPassword, email, iban, card, phone]

/** Detector groups. */
const DETECTOR_GROUPS: Readonly<Record<string, readonly string[]>> = {
  secrets: ['private-key', 'api-key', 'token', 'url-password'],
  personal: ['email', 'iban', 'card', 'phone'],
}

/** Detector and group names that rules may use. */
export const DETECTOR_NAMES: readonly string[] = [
  ...BUILT_IN_DETECTORS.map(({ name }) => name),
  ...Object.keys(DETECTOR_GROUPS),
]

/** Returns the detectors with these names, without duplicates; built-in ones first. */
export function selectDetectors(names: readonly string[], own: ReadonlyMap<string, Detector>): Detector[] {
  const requestedNames = new Set(names.flatMap(name => DETECTOR_GROUPS[name] ?? [name]))
  return [
    ...BUILT_IN_DETECTORS.filter(({ name }) => requestedNames.has(name)),
    ...[...requestedNames].flatMap(name => own.get(name) ?? []),
  ]
}

/**
 * Compiles a custom expression with RE2, which matches in linear time.
 * @throws Error for an invalid expression
 */
export async function compileExpression(name: string, source: string): Promise<Detector> {
  const { RE2JS } = await import('re2js')
  const pattern = RE2JS.compile(source)
  return {
    name,
    checksNumbers: true,
    findSpans(text) {
      const matcher = pattern.matcher(text)
      const spans = []
      while (matcher.find()) {
        const [from, to] = [matcher.start(), matcher.end()]
        if (to > from) spans.push({ from, to, detector: name })
      }
      return spans
    },
    mask: () => '****',
  }
}
