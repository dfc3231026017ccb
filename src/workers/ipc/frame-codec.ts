import type { Duplex } from 'node:stream'

/** Kinds of frames; both ends may send each. */
export const KIND = {
  request: 1,
  cancel: 2,
  answer: 3,
  failure: 4,
  emit: 5,
  ask: 6,
  takeBack: 7,
  reply: 8,
  note: 9,
} as const
export type Kind = (typeof KIND)[keyof typeof KIND]

/** Length of the rest, kind, number. */
const HEAD_BYTES = 9
/** More than any message that a listener or an upstream lets pass. */
const MAX_FRAME_BYTES = 256 * 1024 * 1024
/** Size up to which a frame is copied, so that it leaves in one piece. */
const SMALL_BYTES = 16 * 1024
/** Most bytes that may wait for an end that does not read: above that it is taken to be stuck. */
const MAX_UNSENT_BYTES = 512 * 1024 * 1024

/** Hears each frame. The bytes are its own. */
type Hear = (kind: Kind, number: number, body: Buffer) => void

/**
 * Whole messages over a stream between two processes of one gateway. What is said in one turn of the event loop leaves in one write,
 * whichever connection it is about: a write, and a wake-up of the other end, cost more than all else here.
 */
export class Frames {
  readonly #stream: Duplex
  readonly #hear: Hear
  #pieces: Buffer[] = []
  #length = 0
  #wanted = HEAD_BYTES
  #isCorked = false

  constructor(stream: Duplex, hear: Hear) {
    this.#stream = stream
    this.#hear = hear
    stream.on('data', (chunk: Buffer) => this.#take(chunk))
    stream.on('error', () => stream.destroy())
  }

  send(kind: Kind, number: number, body: string | Buffer, also: string | Buffer = ''): void {
    if (this.#stream.destroyed) return
    if (!this.#isCorked) this.#cork()
    const length = lengthOf(body) + lengthOf(also)
    if (length <= SMALL_BYTES) this.#stream.write(whole(kind, number, length, body, also))
    else {
      this.#stream.write(whole(kind, number, length, '', ''))
      this.#stream.write(body)
      if (also !== '') this.#stream.write(also)
    }
    if (this.#stream.writableLength > MAX_UNSENT_BYTES) this.#stream.destroy()
  }

  #cork(): void {
    this.#isCorked = true
    this.#stream.cork()
    setImmediate(() => {
      this.#isCorked = false
      this.#stream.uncork()
    })
  }

  #take(chunk: Buffer): void {
    this.#pieces.push(chunk)
    this.#length += chunk.length
    if (this.#length < this.#wanted) return
    const whole = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces)
    let at = 0
    this.#wanted = HEAD_BYTES
    while (whole.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + whole.readUInt32LE(at)
      if (end - at > MAX_FRAME_BYTES) return void this.#stream.destroy()
      if (end > whole.length) {
        this.#wanted = end - at
        break
      }
      this.#hear(whole[at + 4] as Kind, whole.readUInt32LE(at + 5), whole.subarray(at + HEAD_BYTES, end))
      at = end
    }
    this.#pieces = at === whole.length ? [] : [whole.subarray(at)]
    this.#length = whole.length - at
  }
}

/** The head of a frame of this length, and what follows in the same piece. */
function whole(
  kind: Kind,
  number: number,
  length: number,
  body: string | Buffer,
  also: string | Buffer,
): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + lengthOf(body) + lengthOf(also))
  frame.writeUInt32LE(length, 0)
  frame[4] = kind
  frame.writeUInt32LE(number, 5)
  put(frame, also, put(frame, body, HEAD_BYTES))
  return frame
}

function put(frame: Buffer, part: string | Buffer, at: number): number {
  return at + (typeof part === 'string' ? frame.write(part, at) : part.copy(frame, at))
}

function lengthOf(part: string | Buffer): number {
  return typeof part === 'string' ? Buffer.byteLength(part) : part.length
}
