import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../api/index.ts'

interface Patience {
  readonly clock: Clock
  /** How long a reader may take for what waits. */
  readonly patienceMs: number
}

/** Streams a body, no faster than it is read. A reader that does not read is cut. */
export async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Buffer>,
  patience: Patience,
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response, patience)
  }
  response.end()
}

function drained(response: ServerResponse, { clock, patienceMs }: Patience): Promise<void> {
  return new Promise(resolve => {
    const cut = clock.after(patienceMs, () => response.destroy())
    const on = (): void => {
      cut()
      response.off('drain', on).off('close', on)
      resolve()
    }
    response.on('drain', on).on('close', on)
  })
}
