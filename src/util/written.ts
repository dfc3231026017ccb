import type { Writable } from 'node:stream'

/** A message as it goes out: in pieces where its bytes are too many to be copied together. */
export type Written = string | Buffer | readonly Buffer[]

const LINE_END = Buffer.from('\n')
/** Above this, lines are handed over one by one instead of copied together. */
const MAX_JOINED = 64 * 1024

/** Bytes of a message. */
export function lengthOf(message: Written): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  return Buffer.isBuffer(message) ? message.length : message.reduce((sum, piece) => sum + piece.length, 0)
}

/** Joins the pieces of a message, for a caller that cannot take it in pieces. */
export function inOnePiece(message: Written): string | Buffer {
  return typeof message === 'string' || Buffer.isBuffer(message) ? message : Buffer.concat(message)
}

/** Messages, each on a line of its own: in one piece, or in several where they are too many bytes to be copied together. */
export function inLines(messages: readonly Written[], bytes: number): Written {
  if (messages.every(message => typeof message === 'string')) return `${messages.join('\n')}\n`
  const pieces = messages.flatMap(message => [...piecesOf(message), LINE_END])
  return bytes > MAX_JOINED ? pieces : Buffer.concat(pieces)
}

/** Writes in one call of the system what stands in pieces; `written` runs when all of it has left. */
export function writeTogether(
  to: Writable,
  pieces: readonly Buffer[],
  written?: (error?: Error | null) => void,
): void {
  to.cork()
  const last = pieces.length - 1
  pieces.forEach((piece, nth) => void to.write(piece, nth === last ? written : undefined))
  to.uncork()
}

function piecesOf(message: Written): readonly Buffer[] {
  if (typeof message === 'string') return [Buffer.from(message)]
  return Buffer.isBuffer(message) ? [message] : message
}
