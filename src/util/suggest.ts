import { distance } from 'fastest-levenshtein'

/** More are no help in choosing. */
const MAX_COUNT = 40

/** The candidate that was probably meant, if one is near enough. */
export function findSimilar(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined
  let best: string | undefined
  let least = Math.max(2, Math.ceil(word.length * 0.4)) + 1
  for (const candidate of candidates) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase())
    if (far < least && isAlike(word.toLowerCase(), candidate.toLowerCase(), far))
      [best, least] = [candidate, far]
  }
  return best
}

/** Half of the letters stay, or all of them in another order: two other letters make another word of a short one. */
function isAlike(word: string, candidate: string, far: number): boolean {
  return far * 2 <= Math.max(word.length, candidate.length) || sortLetters(word) === sortLetters(candidate)
}

function sortLetters(word: string): string {
  return Array.from(word).sort().join('')
}

/** `did you mean "command"?`, or else what there is to choose from. */
export function suggestName(word: string, candidates: readonly string[]): string | undefined {
  const meant = findSimilar(word, candidates)
  if (meant !== undefined) return `did you mean "${meant}"?`
  if (candidates.length === 0) return undefined
  const more = candidates.length > MAX_COUNT ? ' …' : ''
  return `known: ${candidates.slice(0, MAX_COUNT).join(', ')}${more}`
}

/** The same behind a sentence that names what is not there: ` – did you mean "files"?`, or nothing. */
export function suggestHint(word: string, candidates: readonly string[]): string {
  const hint = suggestName(word, candidates)
  return hint === undefined ? '' : ` – ${hint}`
}
