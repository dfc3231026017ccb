import { BoundedMap, gatewayError, type Principal, type SharedStore } from '../../../src/plugin.ts'
import { type CallbackGrants, type CallbackTokens, type Grant, markOf, permitting } from './callback.ts'

/** Grants that a process remembers of those that came to it. */
const MAX_KNOWN = 10_000
/** Longer than any session of an agent: at its end its grant is deleted. */
const GRANT_MS = 365 * 86_400_000
const LISTENING = 'listening'
const USED = 'used'

/** Has the processes at which agents arrive know the grants of this one, which has the agents. */
export function shareTokens(tokens: CallbackTokens, shared: SharedStore): void {
  shared.subscribe(LISTENING, url => tokens.listensAt(url))
  shared.subscribe(USED, digest => tokens.noteUse(digest))
  tokens.told = (digest, grant) => {
    const { permits: _, ...plain } = grant ?? {}
    const done =
      grant === undefined
        ? shared.delete(keyOf(digest))
        : shared.put(keyOf(digest), JSON.stringify(plain), { ms: GRANT_MS })
    // Its agent is nobody anywhere else then.
    done.catch(() => undefined)
  }
}

/** Grants that another process gives, and that are looked up whenever an agent comes. */
export class GrantsElsewhere implements CallbackGrants {
  readonly #shared: SharedStore
  readonly #known = new BoundedMap<string, Grant>({ max: MAX_KNOWN })

  constructor(shared: SharedStore) {
    this.#shared = shared
  }

  /** Tells where agents find the gateway. */
  listensAt(url: string | undefined): void {
    if (url !== undefined) void this.#shared.publish(LISTENING, url).catch(() => undefined)
  }

  async enter(digest: string, path: string): Promise<Grant | undefined> {
    const text = await this.#shared.get(keyOf(digest))
    const told = text === undefined ? undefined : (JSON.parse(text) as Omit<Grant, 'permits'>)
    if (told?.path !== path) return undefined
    await this.#shared.publish(USED, digest)
    const mark = markOf(told.principal) ?? ''
    const found = this.#known.get(mark) ?? { ...told, permits: permitting(told.tools) }
    this.#known.set(mark, found)
    return found
  }

  /** The same as there. @throws GatewayError where it is not known any more */
  grantOf(principal: Principal): Grant | undefined {
    const mark = markOf(principal)
    if (mark === undefined) return undefined
    const grant = this.#known.get(mark)
    if (grant === undefined) throw gatewayError('GW_UNAUTHORIZED', { why: 'the token of an agent has ended' })
    return grant
  }
}

function keyOf(digest: string): string {
  return `grant ${digest}`
}
