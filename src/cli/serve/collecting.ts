import { totalmem } from 'node:os'
import v8 from 'node:v8'

const MIB = 1024 * 1024

/**
 * Memory of the process up to which large messages may wait for V8 to collect when it likes. Between two looks it grows by a
 * hundred more under a flood, and all of it is to stay within 300 over an idle process.
 */
const MOST = 256 * MIB

/** The same as a part of what is there, where that is less. */
const PART = 1 / 4

/** V8 with the flag below; an older or newer one may complain of it on stderr. */
const KNOWN = /^13\./

const FLAG = 'external-memory-accounted-in-global-limit'

/**
 * Decides how soon V8 collects what large messages leave behind. They stand outside of its heap, and after each 64 MiB of
 * them it looks through all of the heap, though hardly any of it has changed: that took more than half of a reply of 1 MB on
 * a pipe. With little memory in use it counts them as heap instead, and looks rarely.
 */
export class Collecting {
  readonly #most: number
  readonly #set: (flag: string) => void
  #isLazy = false

  /** `limit` is the memory that is there, in bytes. */
  constructor(limit: number, version: string, set: (flag: string) => void) {
    this.#most = KNOWN.test(version) ? Math.min(MOST, PART * limit) : 0
    this.#set = set
  }

  /** The process has so much memory now. */
  see(bytes: number): void {
    const isLazy = bytes < this.#most
    if (isLazy === this.#isLazy) return
    this.#isLazy = isLazy
    this.#set(isLazy ? `--${FLAG}` : `--no-${FLAG}`)
  }
}

/** Time between two looks. */
const EVERY_MS = 250

/**
 * Lets V8 collect rarely, for as long as this process is a gateway and nothing else: the flag is one of the whole process, so a
 * program that embeds a gateway decides for itself. Returns the way to end it.
 */
export function collectRarely(set = v8.setFlagsFromString): () => void {
  const there = process.constrainedMemory()
  const collecting = new Collecting(
    there > 0 ? Math.min(there, totalmem()) : totalmem(),
    process.versions.v8,
    set,
  )
  const look = (): void => collecting.see(process.memoryUsage.rss())
  look()
  const timer = setInterval(look, EVERY_MS).unref()
  return () => {
    clearInterval(timer)
    collecting.see(Infinity)
  }
}
