/** Fractions of the cube roots of the first 64 primes, as the standard has them. */
const ROUNDS = wordsOf(
  '428a2f9871374491b5c0fbcfe9b5dba53956c25b59f111f1923f82a4ab1c5ed5d807aa9812835b01243185be550c7dc3' +
    '72be5d7480deb1fe9bdc06a7c19bf174e49b69c1efbe47860fc19dc6240ca1cc2de92c6f4a7484aa5cb0a9dc76f988da' +
    '983e5152a831c66db00327c8bf597fc7c6e00bf3d5a7914706ca63511429296727b70a852e1b21384d2c6dfc53380d13' +
    '650a7354766a0abb81c2c92e92722c85a2bfe8a1a81a664bc24b8b70c76c51a3d192e819d6990624f40e3585106aa070' +
    '19a4c1161e376c082748774c34b0bcb5391c0cb34ed8aa4a5b9cca4f682e6ff3748f82ee78a5636f84c878148cc70208' +
    '90befffaa4506cebbef9a3f7c67178f2',
)
/** Those of the square roots of the first 8. */
const BEGIN = wordsOf('6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19')

const BLOCK = 64
/** A message ends with a bit, and with its length in 8 bytes. */
const ENDING = 9

/**
 * The SHA-256 digest of a short text, in hexadecimal. Loading `node:crypto` for the name of one socket would cost each
 * attached client 2 MB; whatever guards something uses that one.
 */
export function sha256(text: string): string {
  const message = Buffer.from(text)
  const blocks = Buffer.alloc(Math.ceil((message.length + ENDING) / BLOCK) * BLOCK)
  message.copy(blocks)
  blocks[message.length] = 0x80
  blocks.writeUInt32BE(message.length * 8, blocks.length - 4)
  const state = Uint32Array.from(BEGIN)
  for (let at = 0; at < blocks.length; at += BLOCK) mix(state, blocks.subarray(at, at + BLOCK))
  return [...state].map(word => word.toString(16).padStart(8, '0')).join('')
}

type Eight = [number, number, number, number, number, number, number, number]

function mix(state: Uint32Array, block: Buffer): void {
  const words = scheduled(block)
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight
  for (const [i, round] of ROUNDS.entries()) {
    const chosen = (e & f) ^ (~e & g)
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + round + (words[i] ?? 0)) | 0
    const major = (a & b) ^ (a & c) ^ (b & c)
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + major) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word
}

/** The sixteen words of a block, and 48 that are made from them. */
function scheduled(block: Buffer): Int32Array {
  const words = new Int32Array(ROUNDS.length)
  for (let i = 0; i < 16; i++) words[i] = block.readInt32BE(4 * i)
  for (let i = 16; i < words.length; i++) {
    const [far = 0, near = 0] = [words[i - 15], words[i - 2]]
    const one = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3)
    const two = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10)
    words[i] = (words[i - 16] ?? 0) + one + (words[i - 7] ?? 0) + two
  }
  return words
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

function wordsOf(hex: string): Int32Array {
  const bytes = Buffer.from(hex, 'hex')
  return Int32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32BE(4 * i))
}
