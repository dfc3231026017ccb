import type { Clock, UpstreamContext } from '../../api/index.ts'
import { METHODS } from '../../protocol/methods.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { discover } from './handshake.ts'
import type { Link } from './connection.ts'

/** A server is asked again who it is at most once in this time. */
const ASK_AGAIN_MS = 60_000

/** Codes that only a server of the other era answers with. */
const FOREIGN_TO_LEGACY: ReadonlySet<number> = new Set([
  RPC.headerMismatch,
  RPC.missingCapability,
  RPC.unsupportedVersion,
])
const FOREIGN_TO_MODERN: ReadonlySet<number> = new Set([RPC.unsupportedVersion, RPC.legacyBadRequest])

/** Notices when a server answers like one of the other era: it may have been replaced behind our back. */
export class EraDoubt {
  readonly #upstream: string
  readonly #gateway: UpstreamContext['gateway']
  readonly #clock: Clock
  #askedAt = -Infinity

  constructor({ name, gateway, clock }: UpstreamContext) {
    this.#upstream = name
    this.#gateway = gateway
    this.#clock = clock
  }

  isRaisedBy(code: number, method: string, link: Link): boolean {
    if (link.server?.era === 'legacy') return FOREIGN_TO_LEGACY.has(code)
    if (code !== RPC.methodNotFound) return FOREIGN_TO_MODERN.has(code)
    const capability = METHODS.get(method)?.capability
    return capability !== undefined && link.server?.capabilities[capability] !== undefined
  }

  /** A modern server says what it does not like in JSON; one that does not may be none. */
  isRaisedByStatus(status: number, link: Link): boolean {
    return link.server?.era === 'modern' && status >= 400 && status < 500
  }

  /** Asks the server itself. Anything but a clear answer leaves things as they are. */
  async isConfirmed(link: Link): Promise<boolean> {
    if (this.#clock.now() - this.#askedAt < ASK_AGAIN_MS) return false
    this.#askedAt = this.#clock.now()
    const said = await discover(link, { upstream: this.#upstream, gateway: this.#gateway }).catch(() => null)
    return said !== null && (said?.era ?? 'legacy') !== link.server?.era
  }
}
