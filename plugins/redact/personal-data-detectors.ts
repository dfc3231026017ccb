import type { Detector, Span } from './find-spans.ts'
import { findMatches } from './find-spans.ts'

const LOCAL = /[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]/
const DOMAIN = /(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])/y
const MAX_LOCAL_LENGTH = 64

/** E-mail addresses. */
export const email: Detector = {
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
export const card: Detector = {
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

/** Finds the last group of a card number that begins with group `first`. */
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
export const iban: Detector = {
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
export const phone: Detector = {
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
