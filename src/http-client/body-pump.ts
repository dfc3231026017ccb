import type { Socket } from 'node:net'
import { writeTogether } from '../util/written.ts'
import { type BodyStream, ClientError } from './port.ts'

/** A whole body up to here leaves in one text with its head. */
const MAX_TEXT = 16 * 1024

const LAST_CHUNK = '0\r\n\r\n'

/** Writes a request whose body comes from elsewhere, no faster than it is taken. */
export class BodyPump {
  /** True once all of it was given to the connection. */
  isDone = false
  readonly #socket: Socket
  readonly #body: BodyStream
  readonly #broken: (error: Error) => void
  /** Pieces of a short body that somebody wants to hear. */
  readonly #pieces: Buffer[] | undefined
  #left: number

  constructor(socket: Socket, body: BodyStream, broken: (error: Error) => void) {
    this.#socket = socket
    this.#body = body
    this.#broken = broken
    this.#left = body.length ?? Infinity
    if (body.sent !== undefined && this.#left <= MAX_TEXT) this.#pieces = []
  }

  /** Writes the head, and what is there of the body. */
  start(head: string): void {
    const { from, length } = this.#body
    const first = from.read() as Buffer | null
    if (first !== null && first.length === length) {
      this.isDone = true
      if (length <= MAX_TEXT) this.#socket.write(head + first.toString('latin1'), 'latin1')
      else writeTogether(this.#socket, [Buffer.from(head, 'latin1'), first])
      if (this.#pieces !== undefined) this.#body.sent?.(first)
      // Its end is heard of only by reading on.
      from.resume()
      return
    }
    this.#socket.write(head, 'latin1')
    if (from.readableEnded) return this.#end()
    if (from.destroyed) return this.#closed()
    from.on('end', this.#end).on('error', this.#fail).on('close', this.#closed)
    this.#socket.on('drain', this.#drain)
    if (first !== null) this.#take(first)
    from.on('data', this.#take)
    if (!this.#socket.writableNeedDrain) from.resume()
  }

  /** Reads and writes no more. */
  stop(): void {
    const { from } = this.#body
    from.off('data', this.#take).off('end', this.#end).off('error', this.#fail).off('close', this.#closed)
    this.#socket.off('drain', this.#drain)
  }

  readonly #take = (piece: Buffer): void => {
    const { from, length } = this.#body
    this.#left -= piece.length
    if (this.#left < 0) return this.#fail(new ClientError('INVALID_ARG', 'the body is longer than it says'))
    const isTaken =
      length === undefined ? this.#writeChunk(piece) : piece.length === 0 || this.#socket.write(piece)
    this.#pieces?.push(piece)
    if (!isTaken) from.pause()
  }

  #writeChunk(piece: Buffer): boolean {
    if (piece.length === 0) return true
    const size = Buffer.from(`${piece.length.toString(16)}\r\n`)
    return writeTogether(this.#socket, [size, piece, Buffer.from('\r\n')])
  }

  readonly #end = (): void => {
    if (this.#body.length === undefined) this.#socket.write(LAST_CHUNK)
    else if (this.#left > 0)
      return this.#fail(new ClientError('INVALID_ARG', 'the body is shorter than it says'))
    this.isDone = true
    if (this.#pieces !== undefined) this.#body.sent?.(Buffer.concat(this.#pieces))
    this.stop()
  }

  readonly #drain = (): void => void this.#body.from.resume()

  readonly #closed = (): void => this.#fail(new ClientError('INVALID_ARG', 'the body broke off'))

  readonly #fail = (error: Error): void => {
    this.stop()
    this.#broken(error)
  }
}
