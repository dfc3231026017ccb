import type { Writable } from 'node:stream'

/** A text with a character for each byte, as Latin-1 has it: put together and written at less cost than bytes, where it is short. */
export class ByteText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get bytes(): Buffer {
    return Buffer.from(this.text, 'latin1')
  }
}

/** A message as it goes out: in pieces where its bytes are too many to be copied together. */
export type EncodedMessage = string | ByteText | Buffer | readonly Buffer[]

const LINE_END = Buffer.from('\n')
/** Above this, lines are handed over one by one instead of copied together. */
const MAX_JOINED = 64 * 1024

/** Bytes of a message. */
export function getByteLength(message: EncodedMessage): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  if (message instanceof ByteText) return message.text.length
  return Buffer.isBuffer(message) ? message.length : message.reduce((sum, piece) => sum + piece.length, 0)
}

/** Joins the pieces of a message, for a caller that cannot take it in pieces. */
export function joinPieces(message: EncodedMessage): string | Buffer {
  if (message instanceof ByteText) return message.bytes
  return typeof message === 'string' || Buffer.isBuffer(message) ? message : Buffer.concat(message)
}

/** Messages, each on a line of its own: in one piece, or in several where they are too many bytes to be copied together. */
export function joinLines(
  messages: readonly EncodedMessage[],
  bytes: number,
): string | Buffer | readonly Buffer[] {
  if (messages.every(message => typeof message === 'string')) return `${messages.join('\n')}\n`
  const pieces = messages.flatMap(message => [...toBuffers(message), LINE_END])
  return bytes > MAX_JOINED ? pieces : Buffer.concat(pieces)
}

/** Writes in one call of the system what stands in pieces; `written` runs when all of it has left. False when the reader is behind. */
export function writePieces(
  to: Writable,
  pieces: readonly Buffer[],
  written?: (error?: Error | null) => void,
): boolean {
  to.cork()
  const last = pieces.length - 1
  let isTaken = true
  pieces.forEach((piece, nth) => (isTaken = to.write(piece, nth === last ? written : undefined)))
  to.uncork()
  return isTaken
}

/** A message as bytes, uncopied where it is bytes already. */
export function toBuffers(message: EncodedMessage): readonly Buffer[] {
  if (typeof message === 'string') return [Buffer.from(message)]
  if (message instanceof ByteText) return [message.bytes]
  return Buffer.isBuffer(message) ? [message] : message
}
