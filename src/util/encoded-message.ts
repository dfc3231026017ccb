import type { Writable } from 'node:stream'

/** Latin-1 text with one character per byte; for short messages cheaper to build and write than bytes. */
export class ByteText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get bytes(): Buffer {
    return Buffer.from(this.text, 'latin1')
  }
}

/** Encoded message, in pieces if it is too large to copy. */
export type EncodedMessage = string | ByteText | Buffer | readonly Buffer[]

export function getByteLength(message: EncodedMessage): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  if (message instanceof ByteText) return message.text.length
  return Buffer.isBuffer(message) ? message.length : message.reduce((sum, piece) => sum + piece.length, 0)
}

/** Joins a message's pieces. */
export function joinPieces(message: EncodedMessage): string | Buffer {
  if (message instanceof ByteText) return message.bytes
  return typeof message === 'string' || Buffer.isBuffer(message) ? message : Buffer.concat(message)
}

/** Writes all pieces in one system call; `written` runs once all are flushed. Returns false on backpressure. */
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

/** Converts a message to buffers, without a copy if possible. */
export function toBuffers(message: EncodedMessage): readonly Buffer[] {
  if (typeof message === 'string') return [Buffer.from(message)]
  if (message instanceof ByteText) return [message.bytes]
  return Buffer.isBuffer(message) ? [message] : message
}
