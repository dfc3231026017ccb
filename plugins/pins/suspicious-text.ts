import { canonicalizeJson, isObject } from '../../src/plugin.ts'

/** Maximum compared lines, and maximum displayed value length. */
const MAX_LINES = 500
const MAX_LENGTH = 300

/** Describes the differences between two values as lines. */
export function listDifferences(before: unknown, now: unknown, path = ''): string[] {
  if (canonicalizeJson(before) === canonicalizeJson(now)) return []
  if (isObject(before) && isObject(now)) return compareMembers(before, now, path)
  if (Array.isArray(before) && Array.isArray(now) && before.length === now.length)
    return before.flatMap((value, at) => listDifferences(value, now[at], `${path}[${at}]`))
  return isMultiline(before, now)
    ? [`${path}:`, ...diffLines(String(before).split('\n'), String(now).split('\n'))]
    : [`${path}: ${formatValue(before)} → ${formatValue(now)}`]
}

function isMultiline(before: unknown, now: unknown): boolean {
  return typeof before === 'string' && typeof now === 'string' && (before + now).includes('\n')
}

function compareMembers(before: object, now: object, path: string): string[] {
  const [old, young] = [new Map(Object.entries(before)), new Map(Object.entries(now))]
  const names = [...new Set([...old.keys(), ...young.keys()])].sort()
  return names.flatMap(name => {
    const at = path === '' ? escapeInvisible(name) : `${path}.${escapeInvisible(name)}`
    if (!young.has(name)) return [`${at}: ${formatValue(old.get(name))} was removed`]
    if (!old.has(name)) return [`${at}: ${formatValue(young.get(name))} was added`]
    return listDifferences(old.get(name), young.get(name), at)
  })
}

/** Returns `- old` and `+ new` lines without unchanged ones. */
function diffLines(before: readonly string[], now: readonly string[]): string[] {
  const out = (line: string): string => `- ${escapeInvisible(line)}`
  const into = (line: string): string => `+ ${escapeInvisible(line)}`
  if (before.length > MAX_LINES || now.length > MAX_LINES) return [...before.map(out), ...now.map(into)]
  const common = computeCommonLengths(before, now)
  const lines: string[] = []
  let [old, young] = [0, 0]
  while (old < before.length && young < now.length) {
    if (before[old] === now[young]) {
      old++
      young++
    } else if (getLength(common, old + 1, young) >= getLength(common, old, young + 1))
      lines.push(out(before[old++] ?? ''))
    else lines.push(into(now[young++] ?? ''))
  }
  return [...lines, ...before.slice(old).map(out), ...now.slice(young).map(into)]
}

/** Computes lengths of the longest common subsequence for each pair of positions. */
function computeCommonLengths(before: readonly string[], now: readonly string[]): number[][] {
  const lengths = Array.from({ length: before.length + 1 }, () => new Array<number>(now.length + 1).fill(0))
  for (let old = before.length - 1; old >= 0; old--)
    for (let young = now.length - 1; young >= 0; young--) {
      const row = lengths[old] ?? []
      row[young] =
        before[old] === now[young]
          ? getLength(lengths, old + 1, young + 1) + 1
          : Math.max(getLength(lengths, old + 1, young), getLength(lengths, old, young + 1))
    }
  return lengths
}

function getLength(lengths: readonly (readonly number[])[], old: number, young: number): number {
  return lengths[old]?.[young] ?? 0
}

function formatValue(value: unknown): string {
  const text = escapeInvisible(canonicalizeJson(value))
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}… (${text.length} characters)` : text
}

/**
 * Invisible characters and those that change how others are read: controls except tab and line feed, direction marks,
 * joiners, fillers, variation selectors, tags.
 */
const RANGES: readonly (readonly [from: number, to: number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xffff],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
]

const INVISIBLE = new RegExp(
  `[${RANGES.map(([from, to]) => `${formatCodePoint(from)}-${formatCodePoint(to)}`).join('')}]`,
  'gu',
)

function formatCodePoint(code: number): string {
  return `\\u{${code.toString(16)}}`
}

/** Escapes invisible characters as `\u…`. */
export function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, escapeCharacters)
}

/** Counts invisible characters. */
export function countInvisible(text: string): number {
  return text.match(INVISIBLE)?.length ?? 0
}

function escapeCharacters(characters: string): string {
  let text = ''
  for (let at = 0; at < characters.length; at++) text += `\\u${characters.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}

/** Cyrillic and Greek letters, in the order of the Latin ones that they resemble. */
const FOREIGN = 'авекмнорстухіјѕԁԛԝһαοινκτυρ'
const LATIN = 'abekmhopctyxijsdqwhaoivktup'

/** Reduces a name so that look-alike names are equal. */
export function createSkeleton(name: string): string {
  const plain = name.normalize('NFKC').replace(INVISIBLE, '').toLowerCase()
  return Array.from(plain)
    .map(letter => LATIN[FOREIGN.indexOf(letter)] ?? letter)
    .join('')
    .replace(/[\s_-]+/g, '')
}

/** Returns true if a word mixes Latin letters with Cyrillic or Greek ones. */
export function hasMixedWord(text: string): boolean {
  return /\p{Script=Latin}[\p{Script=Cyrillic}\p{Script=Greek}]|[\p{Script=Cyrillic}\p{Script=Greek}]\p{Script=Latin}/u.test(
    text,
  )
}
