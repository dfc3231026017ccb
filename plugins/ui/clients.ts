import { BoundedMap, principalKey, type Session } from '../../src/plugin.ts'
import type { ClientRow } from './types.ts'

const MAX_CLIENTS = 1000
/** Clients of one caller: names are theirs to choose. */
const MAX_OF_CALLER = 100
const LONGEST = 100

type Counted = { -readonly [K in keyof ClientRow]: ClientRow[K] }

/** Clients that are here or have been: those of one caller that say the same of themselves are one. */
export class Clients {
  readonly #rows = new BoundedMap<string, Counted>({ max: MAX_CLIENTS, share: MAX_OF_CALLER })
  /** By the slots of a session, which all forms of it share. */
  readonly #bySession = new WeakMap<readonly unknown[], Counted>()

  opened(session: Session): void {
    const row = this.#rowOf(session)
    row.open++
    row.seenAt = Date.now()
    this.#bySession.set(session.slots, row)
  }

  called({ slots }: Session): void {
    const row = this.#bySession.get(slots)
    if (row === undefined) return
    row.calls++
    row.seenAt = Date.now()
  }

  closed({ slots }: Session): void {
    const row = this.#bySession.get(slots)
    if (row !== undefined && this.#bySession.delete(slots)) row.open--
  }

  /** The latest first. */
  list(): ClientRow[] {
    return [...this.#rows.values()].sort((a, b) => b.seenAt - a.seenAt).map(row => ({ ...row }))
  }

  #rowOf({ client, principal, listener, profile = '' }: Session): Counted {
    const { info, era, version: protocol } = client
    const [name, version] = [info.name.slice(0, LONGEST), info.version.slice(0, LONGEST)]
    const caller = principalKey(principal)
    const key = JSON.stringify([name, version, era, protocol, caller, listener, profile])
    const known = this.#rows.use(key)
    if (known !== undefined) return known
    const { subject, issuer } = principal
    const row = { client: name, version, era, protocol, subject, issuer, listener, profile }
    const counted = { ...row, open: 0, calls: 0, seenAt: 0 }
    this.#rows.set(key, counted, caller)
    return counted
  }
}
