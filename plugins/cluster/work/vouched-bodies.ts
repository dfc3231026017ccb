import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../src/plugin.ts'
import { bodyDigest, type VouchedBody } from '../vouchers.ts'

/** Most bytes of one body, and of all that are read at a time. */
const MOST_BYTES = 64 * 1024 * 1024
const MOST_HELD = 256 * 1024 * 1024
/** Time for a body to arrive: its writer has all of it. */
const READ_MS = 30_000

/** Reads bodies that another replica has vouched for, and no byte more. */
export class VouchedBodies {
  readonly #clock: Clock
  #held = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The body; `other` where it is not the one that the voucher is for. */
  async read(
    { digest, length }: VouchedBody,
    request: IncomingMessage,
  ): Promise<Buffer | 'other' | 'no room'> {
    // Its writer says its length, and the parser holds it to that.
    if (!(length <= MOST_BYTES) || request.headers['content-length'] !== String(length)) return 'other'
    if (this.#held + length > MOST_HELD) return 'no room'
    this.#held += length
    const takeBack = this.#clock.after(READ_MS, () => request.destroy())
    try {
      const body = await wholeOf(request)
      return bodyDigest(body) === digest ? body : 'other'
    } finally {
      takeBack()
      this.#held -= length
    }
  }
}

async function wholeOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}
