import type { Clock, Principal } from '../../src/plugin.ts'
import type { Verified } from './tokens.ts'

const MOST = 10_000
/** The longest that a verdict is kept, so that a withdrawn signing key is noticed. */
const KEEP_MS = 60_000

interface Kept {
  readonly principal: Principal
  readonly until: number
}

/** Verdicts on tokens, by a hash of the token. Kept no longer than the token is good, on a clock that does not jump. */
export class Remembered {
  readonly #kept = new Map<string, Kept>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(key: string): Principal | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    if (this.#clock.now() < kept.until) return kept.principal
    this.#kept.delete(key)
    return undefined
  }

  set(key: string, { principal, expiresAt }: Verified): void {
    const left = Math.min(KEEP_MS, expiresAt - Date.now())
    if (left <= 0) return
    const oldest = this.#kept.size >= MOST ? this.#kept.keys().next().value : undefined
    if (oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(key, { principal, until: this.#clock.now() + left })
  }
}
