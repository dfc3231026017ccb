const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Text of a peer as it may stand in a log or an error: control characters escaped, cut to `limit`. */
export function visible(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text
  return cut.replace(UNSAFE, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
