import type { Call, Exchange, Patience } from '../../../src/plugin.ts'
import { MAX_WAIT_MS } from './schemas.ts'

/** Tools whose calls wait for work to end, and by themselves no longer than this. */
const WAITING: ReadonlySet<unknown> = new Set(['delegate_task', 'agent_reply'])

interface Waiting {
  isOver: boolean
  end: (() => void) | undefined
}

/** Ends the waits of calls whose clients wait no longer. The core has the clock; the work itself goes on in the task service. */
export class CallPatience {
  readonly #waiting = new WeakMap<Exchange, Waiting>()

  /** Patience of the client of a call: what is known of it, or what the call itself says. */
  of(known: Patience | undefined, { params, exchange }: Call): Patience | undefined {
    const { name, arguments: given } = params ?? {}
    const own = WAITING.has(name) ? (waitOf(given) ?? MAX_WAIT_MS) : Infinity
    const ms = Math.min(known?.ms ?? Infinity, own)
    if (ms === Infinity) return undefined
    const over = (): void => {
      const waiting = this.#of(exchange)
      waiting.isOver = true
      waiting.end?.()
    }
    return { ms: Math.max(0, ms), over }
  }

  /** Runs `end` when the client of a call waits no longer; returns the way to say that the call does not wait any more. */
  waits(exchange: Exchange, end: () => void): () => void {
    const waiting = this.#of(exchange)
    waiting.end = end
    if (waiting.isOver) end()
    return () => void (waiting.end = undefined)
  }

  #of(exchange: Exchange): Waiting {
    const known = this.#waiting.get(exchange)
    if (known !== undefined) return known
    const made: Waiting = { isOver: false, end: undefined }
    this.#waiting.set(exchange, made)
    return made
  }
}

/** Time in milliseconds for which a call says that it waits. */
export function waitOf(given: unknown): number | undefined {
  const wait = (given as { wait_ms?: unknown } | undefined)?.wait_ms
  return typeof wait === 'number' && Number.isFinite(wait) ? Math.min(wait, MAX_WAIT_MS) : undefined
}
