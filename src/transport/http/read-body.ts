import type { IncomingMessage } from 'node:http'

/** How much of a refused body is swallowed, in bodies' limits, so that its sender still reads why. */
const PATIENCE = 8

/** Reads a body of at most `max` bytes: `undefined` when it is larger, `null` when the client went away. */
export function readBody(request: IncomingMessage, max: number): Promise<Buffer | undefined | null> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let length = 0
    const read = (chunk: Buffer): void => {
      length += chunk.length
      if (length <= max) {
        chunks.push(chunk)
        return
      }
      request.off('data', read)
      swallow(request, max)
      resolve(undefined)
    }
    request.on('data', read)
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    // Whatever goes wrong, this follows; without a listener for errors there are none.
    request.on('close', () => resolve(null))
  })
}

/** Reads a body that nobody wants, for a while: to cut it at once would take our answer with it. */
export function swallow(request: IncomingMessage, max: number): void {
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > max * PATIENCE) request.destroy()
  })
}
