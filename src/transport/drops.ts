import type { Log } from '../core/ports.ts'
import { visible } from './visible.ts'

const WHAT = {
  garbage: 'skipped what is no message',
  response: 'dropped a response that nobody waits for',
  progress: 'dropped progress of an unknown token',
  message: 'dropped a log message that belongs to no request',
  request: 'dropped a request that this era does not have',
} as const

/** Counts what a server sends in vain, and says so at the 1st, 10th, 100th … time. */
export class Drops {
  readonly #log: Log
  readonly #counts: Record<keyof typeof WHAT, number> = {
    garbage: 0,
    response: 0,
    progress: 0,
    message: 0,
    request: 0,
  }

  constructor(log: Log) {
    this.#log = log
  }

  count(what: keyof typeof WHAT, sample?: () => string): void {
    const count = ++this.#counts[what]
    if (!/^10*$/.test(String(count))) return
    const fields = { count, ...(sample === undefined ? undefined : { sample: visible(sample(), 200) }) }
    if (what === 'garbage') this.#log.warn(WHAT[what], fields)
    else this.#log.debug(WHAT[what], fields)
  }
}
