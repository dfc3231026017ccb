import {
  BoundedMap,
  gatewayError,
  isObject,
  type JsonObject,
  type Principal,
  type SharedState,
} from '../../../src/plugin.ts'
import { type CallbackGrants, type CallbackTokens, type Grant, markOf, permitting } from './callback.ts'

/** Grants that a process remembers of those that came to it. */
const MAX_KNOWN = 10_000

/** Answers, in the process that has the agents, who comes back to another. */
export function keepTokens(
  others: Extract<SharedState, { role: 'keeps' }>,
  callbackTokens: CallbackTokens,
): void {
  others.serve({
    answer({ url, digest, path }): JsonObject {
      if (typeof url === 'string') callbackTokens.listensAt(url)
      const grant = callbackTokens.enter(String(digest), String(path))
      if (grant === undefined) return {}
      const { permits: _, ...plain } = grant
      return { grant: plain }
    },
    gone: () => undefined,
  })
}

/** Grants that another process keeps, which is asked whenever an agent comes. */
export class GrantsElsewhere implements CallbackGrants {
  readonly #owner: Extract<SharedState, { role: 'asks' }>
  readonly #known = new BoundedMap<string, Grant>({ max: MAX_KNOWN })

  constructor(owner: Extract<SharedState, { role: 'asks' }>) {
    this.#owner = owner
  }

  /** Tells where agents find the gateway. */
  listensAt(url: string | undefined): void {
    void this.#owner.ask({ url }).catch(() => undefined)
  }

  async enter(digest: string, path: string): Promise<Grant | undefined> {
    const { grant } = await this.#owner.ask({ digest, path })
    if (!isObject(grant)) return undefined
    const told = grant as unknown as Omit<Grant, 'permits'>
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
