import v8 from 'node:v8'
import { tuneCollecting, type SetFlag } from './collecting.ts'

/** V8 with the flags that are set here; an older or newer one may complain of them on stderr. */
const KNOWN = /^13\./

const CALLS_FLAG = 'invocation-count-for-maglev'

/**
 * Calls after which V8 may compile a function with Maglev, its second compiler. By itself it does so after 400, which reloads
 * bring about for a thousand functions that messages hardly use; the memory of that stays with the allocator. What each message
 * runs has its calls within a second or two of traffic.
 */
const CALLS = 2000

/** The same as V8 has it by itself. */
const CALLS_OF_V8 = 400

/**
 * Has V8 collect and compile as fits a gateway, for as long as this process is one and nothing else: the flags are those of the
 * whole process, so a program that embeds a gateway decides for itself. Returns the way to end it.
 */
export function tuneV8(set: SetFlag = v8.setFlagsFromString, version = process.versions.v8): () => void {
  if (!KNOWN.test(version)) return () => undefined
  const stopCollecting = tuneCollecting(set)
  set(`--${CALLS_FLAG}=${CALLS}`)
  return () => {
    stopCollecting()
    set(`--${CALLS_FLAG}=${CALLS_OF_V8}`)
  }
}
