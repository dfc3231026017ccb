import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/ports.ts'

/** How long a reader may take for what waits. */
const STUCK_MS = 30_000

/** Streams a body, no faster than it is read. A reader that does not read is cut. */
export async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Buffer>,
  clock: Clock,
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response, clock)
  }
  response.end()
}

function drained(response: ServerResponse, clock: Clock): Promise<void> {
  return new Promise(resolve => {
    const cut = clock.after(STUCK_MS, () => response.destroy())
    const on = (): void => {
      cut()
      response.off('drain', on).off('close', on)
      resolve()
    }
    response.on('drain', on).on('close', on)
  })
}
