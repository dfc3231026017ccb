import { diff } from 'node:util'
import { canonicalizeJson, escapeInvisible, isObject } from '../../src/plugin.ts'

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
  const removed = (line: string): string => `- ${escapeInvisible(line)}`
  const added = (line: string): string => `+ ${escapeInvisible(line)}`
  if (before.length > MAX_LINES || now.length > MAX_LINES) return [...before.map(removed), ...now.map(added)]
  return diff(before, now).flatMap(([sign, line]) => (sign === 0 ? [] : sign > 0 ? removed(line) : added(line)))
}

function formatValue(value: unknown): string {
  const text = escapeInvisible(canonicalizeJson(value))
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}… (${text.length} characters)` : text
}

/** Counts invisible characters. */
export function countInvisible(text: string): number {
  return Array.from(text).length - Array.from(escapeInvisible(text, '')).length
}

/** Cyrillic and Greek letters, in the order of the Latin ones that they resemble. */
const FOREIGN = 'авекмнорстухіјѕԁԛԝһαοινκτυρ'
const LATIN = 'abekmhopctyxijsdqwhaoivktup'

/** Reduces a name so that look-alike names are equal. */
export function createSkeleton(name: string): string {
  const plain = escapeInvisible(name.normalize('NFKC'), '').toLowerCase()
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
