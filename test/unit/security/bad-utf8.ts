/** Sequences that are not UTF-8: lone continuations, starts without their rest, overlong forms, surrogates, what is above U+10FFFF. */
export const BAD: readonly (readonly number[])[] = [
  ...Array.from({ length: 16 }, (_, n) => [0x80 + 4 * n]),
  ...Array.from({ length: 15 }, (_, n) => [0xc2 + 2 * n, 0x41]),
  ...[0xc0, 0xc1].map(byte => [byte, 0x80]),
  ...Array.from({ length: 8 }, (_, n) => [0xe0, 0x80 + n, 0x80]),
  ...Array.from({ length: 8 }, (_, n) => [0xed, 0xa0 + n, 0x80]),
  ...Array.from({ length: 4 }, (_, n) => [0xf0, 0x80 + n, 0x80, 0x80]),
  ...[0xf5, 0xf8, 0xfc, 0xfe, 0xff].map(byte => [byte, 0x80, 0x80, 0x80]),
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
]

/** The text with these bytes in the place of its `?`. */
export function withBytes(text: string, bytes: readonly number[]): Buffer {
  const [before = '', after = ''] = text.split('?')
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}
