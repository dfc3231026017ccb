import { totalmem } from 'node:os'
import { PerformanceObserver } from 'node:perf_hooks'
import v8 from 'node:v8'

const MIB = 1024 * 1024

/**
 * Memory of the process up to which large messages may wait for V8 to collect when it likes. Between two looks it grows by a
 * hundred more under a flood, and all of it is to stay within 300 over an idle process.
 */
const MOST = 256 * MIB

/** The same as a part of what is there, where that is less. */
const PART = 1 / 4

const LAZY_FLAG = 'external-memory-accounted-in-global-limit'

/**
 * Growth of the heap beyond what is in use, in percent, up to which V8 lets garbage lie once much memory is in use. By
 * itself it lets a heap of 60 MiB grow to 200.
 */
const GROWING = 60

/**
 * The same while little memory is in use. By itself V8 then collects after each 16 MiB, and under large messages so often
 * that one call of twenty-five meets a collection.
 */
const GROWING_LAZILY = 200

/**
 * Both halves of the space for young objects. By itself V8 makes them as large as 128 MiB together under a flood and keeps
 * that; with a quarter of it a call costs the same.
 */
const MOST_YOUNG = 32 * MIB

/** Sets a flag of V8 while it runs. */
export type SetFlag = (flag: string) => void

/**
 * Decides how soon V8 collects what large messages leave behind. They stand outside of its heap, and after each 64 MiB of
 * them it looks through all of the heap, though hardly any of it has changed: that took more than half of a reply of 1 MB on
 * a pipe. With little memory in use it counts them as heap instead, and looks rarely; with much it looks soon.
 */
export class Collecting {
  readonly #most: number
  readonly #set: SetFlag
  #isLazy: boolean | undefined

  /** `limit` is the memory that is there, in bytes. */
  constructor(limit: number, set: SetFlag) {
    this.#most = Math.min(MOST, PART * limit)
    this.#set = set
  }

  /** The process has so much memory now. */
  see(bytes: number): void {
    const isLazy = bytes < this.#most
    if (isLazy === this.#isLazy) return
    this.#isLazy = isLazy
    this.#set(isLazy ? `--${LAZY_FLAG}` : `--no-${LAZY_FLAG}`)
    this.#set(`--heap-growing-percent=${isLazy ? GROWING_LAZILY : GROWING}`)
  }

  /** Leaves it to V8 again. */
  end(): void {
    this.see(Infinity)
    this.#set('--heap-growing-percent=0')
  }
}

/** Bounds the space for young objects, which V8 doubles after a collection where many are still in use. */
export class YoungSpace {
  readonly #set: SetFlag
  #mayGrow = true

  constructor(set: SetFlag) {
    this.#set = set
  }

  /** V8 has collected, and the space has so many bytes now. */
  see(bytes: number): void {
    this.#let(bytes < MOST_YOUNG)
  }

  /** Leaves it to V8 again. */
  end(): void {
    this.#let(true)
  }

  #let(mayGrow: boolean): void {
    if (mayGrow !== this.#mayGrow) this.#set(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`)
    this.#mayGrow = mayGrow
  }
}

/** Time between two looks at the memory of the process. */
const EVERY_MS = 250

/** Has V8 collect as fits a gateway. Returns the way to end it. */
export function tuneCollecting(set: SetFlag): () => void {
  const there = process.constrainedMemory()
  const collecting = new Collecting(there > 0 ? Math.min(there, totalmem()) : totalmem(), set)
  const young = new YoungSpace(set)
  const look = (): void => collecting.see(process.memoryUsage.rss())
  look()
  const timer = setInterval(look, EVERY_MS).unref()
  const observer = new PerformanceObserver(() => young.see(youngBytes()))
  observer.observe({ entryTypes: ['gc'] })
  return () => {
    clearInterval(timer)
    observer.disconnect()
    collecting.end()
    young.end()
  }
}

function youngBytes(): number {
  return v8.getHeapSpaceStatistics().find(space => space.space_name === 'new_space')?.space_size ?? 0
}
