import type { Readable } from 'node:stream'
import { loopTurns, type Pausable } from './loop-turns.ts'

/** A read of so much has been waiting for us: more is on its way. */
export const LARGE_READ = 16 * 1024

let last = 0

/** The key of a stream that no caller has alone. */
export function readerKey(of: string): string {
  return `reads of ${of} ${++last}`
}

/**
 * Has the reads of a stream that no caller has alone take turns with everybody's work: after a large one, the next waits. To be
 * called when whoever handles what is read listens already. `flow` is what is paused, where that is not the stream itself.
 */
export function readInTurns(stream: Readable, key: string, flow: Pausable = stream): void {
  let began = 0
  stream.prependListener('data', () => (began = performance.now()))
  stream.on('data', (chunk: Buffer) => {
    if (chunk.length >= LARGE_READ) loopTurns.readInTurn(key, began, flow)
  })
}
