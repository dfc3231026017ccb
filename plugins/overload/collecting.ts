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
  constructor(limit: number, version = process.versions.v8, set = v8.setFlagsFromString) {
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
