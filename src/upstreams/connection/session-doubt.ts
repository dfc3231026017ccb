import type { Clock } from '../../api/index.ts'
import { GatewayError } from '../../errors/errors.ts'
import type { Connection } from './connection.ts'

/** Refusals within this time after the first are of the call, or pass. */
const PAUSE_MS = 1000

/** Notices when a server goes on to refuse a session with statuses that do not say why. */
export class SessionDoubt {
  readonly #clock: Clock
  #connection: Connection | undefined
  #since = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a refusal; true if it comes a while after the first, and the server refuses a ping too. */
  async isConfirmed(connection: Connection): Promise<boolean> {
    if (connection.transport.session === undefined) return false
    const now = this.#clock.now()
    const isFirst = connection !== this.#connection
    if (!isFirst && now - this.#since < PAUSE_MS) return false
    this.#connection = connection
    this.#since = now
    return !isFirst && (await isRefused(connection))
  }
}

async function isRefused(connection: Connection): Promise<boolean> {
  try {
    await connection.ask('ping', undefined)
    return false
  } catch (error) {
    return error instanceof GatewayError && typeof error.fields.status === 'number'
  }
}
