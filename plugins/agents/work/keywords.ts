import { linearPattern } from './linear-pattern.ts'

/** Characters of a prompt that are looked through: what a task is about is said early. */
const MAX_EXAMINED = 16_384
const REGEX = 're:'

/** A test for "does this prompt have one of these words"; `re:` begins a regular expression. @throws SyntaxError */
export function keywordTest(keywords: readonly string[]): (prompt: string) => boolean {
  const patterns = keywords
    .filter(keyword => keyword.startsWith(REGEX))
    .map(keyword => linearPattern(keyword.slice(REGEX.length)))
  const words = keywords.filter(keyword => !keyword.startsWith(REGEX)).map(keyword => keyword.toLowerCase())
  return prompt => {
    const examined = prompt.slice(0, MAX_EXAMINED)
    const lower = examined.toLowerCase()
    return words.some(word => hasWord(lower, word)) || patterns.some(matches => matches(examined))
  }
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!isJoined(text, at) && !isJoined(text, at + word.length)) return true
  return false
}

/** Whether there are letters or digits on both sides of this place: then the word is a part of another one. */
function isJoined(text: string, at: number): boolean {
  return isLetter(text.charAt(at - 1)) && isLetter(text.charAt(at))
}

function isLetter(character: string): boolean {
  return /^[\p{L}\p{N}_]$/u.test(character)
}
