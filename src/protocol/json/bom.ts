/** Bytes of a byte order mark in UTF-8, which some programs write in front of every text. */
export const BOM_LENGTH = 3

/** Tells whether a text begins with a byte order mark. */
export function hasBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** The text behind a byte order mark; the same bytes if it has none. */
export function withoutBom(bytes: Buffer): Buffer {
  return hasBom(bytes) ? bytes.subarray(BOM_LENGTH) : bytes
}
