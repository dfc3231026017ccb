import v8 from 'node:v8'

/**
 * Counts memory outside of the heap, such as buffers of large messages, as heap. Otherwise V8 collects all of the heap after
 * each 64 MiB of it, which takes more than half of the time of a 1 MB reply. V8 13 (Node 24) has the flag.
 */
const FLAG = '--external-memory-accounted-in-global-limit'

/** Sets the V8 flag of a gateway process. A program that embeds a gateway decides for itself. */
export function tuneV8(): void {
  if (process.versions.v8.startsWith('13.')) v8.setFlagsFromString(FLAG)
}
