import { RE2JS, RE2JSException } from 're2js'

/** Characters of a prompt that are looked through: what a task is about is said early. */
const MAX_EXAMINED = 16_384
const REGEX = 're:'

/** A test for "does this prompt have one of these words"; `re:` begins a regular expression. @throws SyntaxError */
export function keywordTest(keywords: readonly string[]): (prompt: string) => boolean {
  const patterns = keywords
    .filter(keyword => keyword.startsWith(REGEX))
    .map(keyword => pattern(keyword.slice(REGEX.length)))
  const words = keywords.filter(keyword => !keyword.startsWith(REGEX)).map(keyword => keyword.toLowerCase())
  return prompt => {
    const examined = prompt.slice(0, MAX_EXAMINED)
    const lower = examined.toLowerCase()
    return words.some(word => hasWord(lower, word)) || patterns.some(found => found.matcher(examined).find())
  }
}

/** Its time is linear in the text, whoever wrote the pattern; so it has neither look-around nor references. */
function pattern(written: string): RE2JS {
  try {
    return RE2JS.compile(written, RE2JS.CASE_INSENSITIVE)
  } catch (error) {
    if (error instanceof RE2JSException) throw new SyntaxError(error.message, { cause: error })
    throw error
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
