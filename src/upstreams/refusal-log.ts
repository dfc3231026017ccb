import type { UpstreamContext } from '../api/index.ts'
import { GatewayError } from '../errors/errors.ts'

const WINDOW_MS = 1000
/** Beyond these in a second they are counted, so that a failing server does not flood the log. */
const MOST = 10

/** Tells the owner what a server said when it refused a call, as callers are not told: it may quote our credentials. */
export class Refusals {
  readonly #context: UpstreamContext
  readonly #keep: (problem: string) => void
  #windowStart = -Infinity
  #count = 0

  /** `keep` gets the last one, for `ps` and `inspect`. */
  constructor(context: UpstreamContext, keep: (problem: string) => void) {
    this.#context = context
    this.#keep = keep
  }

  note(error: unknown, method: string): void {
    if (!(error instanceof GatewayError) || !error.isForOwner) return
    const { log, clock, hide } = this.#context
    const why = hide(String(error.fields.why ?? error.message))
    this.#keep(why)
    if (clock.now() - this.#windowStart >= WINDOW_MS) this.#nextWindow()
    if (++this.#count <= MOST) log.warn('a call was refused', { method, code: error.code, why })
  }

  #nextWindow(): void {
    if (this.#count > MOST) this.#context.log.warn('more calls were refused', { count: this.#count - MOST })
    this.#windowStart = this.#context.clock.now()
    this.#count = 0
  }
}
