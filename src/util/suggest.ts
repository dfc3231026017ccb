import { distance } from 'fastest-levenshtein'

/** Maximum names in a suggestion. */
const MAX_COUNT = 40

/** Shortest word that may match a part. */
const MIN_PART = 4

/**
 * Finds the most similar candidate: the shortest that begins or ends with the word, else the one with the fewest
 * different letters. Undefined if none is close enough.
 */
export function findSimilar(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined
  const all = [...candidates]
  let best = word.length < MIN_PART ? undefined : findShortestAround(word.toLowerCase(), all)
  if (best !== undefined) return best
  let minDistance = Math.max(2, Math.ceil(word.length * 0.4)) + 1
  for (const candidate of all) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase())
    if (far < minDistance && isAlike(word.toLowerCase(), candidate.toLowerCase(), far))
      [best, minDistance] = [candidate, far]
  }
  return best
}

function findShortestAround(part: string, candidates: readonly string[]): string | undefined {
  const isAround = (name: string): boolean => name.startsWith(part) || name.endsWith(part)
  return candidates.filter(name => isAround(name.toLowerCase())).sort((one, other) => one.length - other.length)[0]
}

/**
 * At least half of the letters must match in place, or all in another order: otherwise a short word is another word.
 */
function isAlike(word: string, candidate: string, far: number): boolean {
  return far * 2 <= Math.max(word.length, candidate.length) || sortLetters(word) === sortLetters(candidate)
}

function sortLetters(word: string): string {
  return Array.from(word).sort().join('')
}

/** Returns `did you mean "command"?`, or the list of choices. */
export function suggestName(word: string, candidates: readonly string[]): string | undefined {
  const similar = findSimilar(word, candidates)
  if (similar !== undefined) return `did you mean "${similar}"?`
  if (candidates.length === 0) return undefined
  const more = candidates.length > MAX_COUNT ? ' …' : ''
  return `known: ${candidates.slice(0, MAX_COUNT).join(', ')}${more}`
}

/** Returns a suggestion to append to a message: ` – did you mean "files"?`, or an empty string. */
export function suggestHint(word: string, candidates: readonly string[]): string {
  const hint = suggestName(word, candidates)
  return hint === undefined ? '' : ` – ${hint}`
}
