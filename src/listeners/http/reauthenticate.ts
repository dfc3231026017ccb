import type { Clock, Gate, Principal } from '../../api/index.ts'
import { authorizationKey } from '../../plugin.ts'
import type { RequestHeaders } from './request-headers.ts'

const EVERY_MS = 30_000

interface Open {
  readonly headers: RequestHeaders
  end(reason: string): void
}

/**
 * What stays open after the request that began it was let in. Whose it is is asked again now and then, and at each
 * reload, so that a credential which has expired or was taken back opens nothing for longer.
 */
export class Standing {
  readonly #gate: Gate
  readonly #clock: Clock
  readonly #open = new Set<Open>()
  #takeBack: (() => void) | undefined

  constructor(gate: Gate, clock: Clock) {
    this.#gate = gate
    this.#clock = clock
  }

  /** Notes what is open, until the function it returns is called. `end` closes it. */
  note(headers: RequestHeaders, end: (reason: string) => void): () => void {
    const open: Open = { headers, end }
    this.#open.add(open)
    this.#arm()
    return () => void this.#open.delete(open)
  }

  recheck(): void {
    for (const open of this.#open) void this.#check(open)
  }

  stop(): void {
    this.#takeBack?.()
    this.#open.clear()
  }

  #arm(): void {
    this.#takeBack ??= this.#clock.after(EVERY_MS, () => {
      this.#takeBack = undefined
      this.recheck()
      if (this.#open.size > 0) this.#arm()
    })
  }

  async #check(open: Open): Promise<void> {
    const { caller, credentials } = open.headers
    if (credentials === undefined) return
    const now = await this.#gate.authenticate(credentials)
    // That we failed to find out is no reason to cut anybody off.
    const isUnsure = 'status' in now && now.status >= 500
    if (isUnsure || isSame(caller, now) || !this.#open.delete(open)) return
    open.end('its credentials are no longer valid')
  }
}

function isSame(before: Principal, now: Principal | { readonly status: number }): boolean {
  return !('status' in now) && authorizationKey(before) === authorizationKey(now)
}
