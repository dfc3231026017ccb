import { distance } from 'fastest-levenshtein'

/** More are no help in choosing. */
const MOST = 40

/** The candidate that was probably meant, if one is near enough. */
export function suggest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined
  let best: string | undefined
  let least = Math.max(2, Math.ceil(word.length * 0.4)) + 1
  for (const candidate of candidates) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase())
    if (far < least && far < candidate.length) [best, least] = [candidate, far]
  }
  return best
}

/** `did you mean "command"?`, or else what there is to choose from. */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  const meant = suggest(word, candidates)
  if (meant !== undefined) return `did you mean "${meant}"?`
  if (candidates.length === 0) return undefined
  const more = candidates.length > MOST ? ' …' : ''
  return `known: ${candidates.slice(0, MOST).join(', ')}${more}`
}

/** The same behind a sentence that names what is not there: ` – did you mean "files"?`, or nothing. */
export function meant(word: string, candidates: readonly string[]): string {
  const hint = didYouMean(word, candidates)
  return hint === undefined ? '' : ` – ${hint}`
}
