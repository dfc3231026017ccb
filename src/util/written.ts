/** A message as it goes out: in pieces where its bytes are too many to be copied together. */
export type Written = string | Buffer | readonly Buffer[]

const LINE_END = Buffer.from('\n')

/** Bytes of a message. */
export function lengthOf(message: Written): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  return Buffer.isBuffer(message) ? message.length : message.reduce((sum, piece) => sum + piece.length, 0)
}

/** Joins the pieces of a message, for a caller that cannot take it in pieces. */
export function inOnePiece(message: Written): string | Buffer {
  return typeof message === 'string' || Buffer.isBuffer(message) ? message : Buffer.concat(message)
}

/** Joins messages, each on a line of its own. */
export function inLines(messages: readonly Written[]): string | Buffer {
  if (messages.every(message => typeof message === 'string')) return `${messages.join('\n')}\n`
  return Buffer.concat(messages.flatMap(message => [...piecesOf(message), LINE_END]))
}

function piecesOf(message: Written): readonly Buffer[] {
  if (typeof message === 'string') return [Buffer.from(message)]
  return Buffer.isBuffer(message) ? [message] : message
}
