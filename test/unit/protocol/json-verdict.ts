/** Tells whether a text is JSON, as JSON.parse decides it. */
export function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
