import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { globs, type Principal } from '../../../src/plugin.ts'
import type { Callback, CallbackToken, CallerIdentity } from '../types/tasks.ts'

/** One session of one task, as the gateway knows whoever comes with its token. */
export interface Grant {
  readonly task: string
  readonly root: string
  readonly depth: number
  /** Whether its tasks may begin others. */
  readonly mayDelegate: boolean
  readonly principal: Principal
  readonly profile: string | undefined
  /** Path of the endpoint that the token is for. */
  readonly path: string
  readonly permits: (tool: string) => boolean
  wasUsed: boolean
}

type Visit = Parameters<Callback['open']>[0]

/** Never among the scopes of a token: it keeps what an agent sees apart from what its owner sees. */
const MARK = 'tapgate:agent:'
const TOKEN_BYTES = 32
/** Tokens in use at once. */
const MAX_OPEN = 1000

/** The ways back into the gateway: each has a token of its own, of which only a digest is kept. */
export class CallbackTokens implements Callback {
  readonly #grants = new Map<string, Grant>()
  readonly #byPrincipal = new WeakMap<Principal, Grant>()
  readonly #identityOf: (task: string) => CallerIdentity | undefined
  /** Where agents find the gateway; undefined while nobody listens. */
  url: string | undefined

  /** `visitorOf` says whose a task is, where its caller does not. */
  constructor(identityOf: (task: string) => CallerIdentity | undefined) {
    this.#identityOf = identityOf
  }

  open(visit: Visit): CallbackToken | undefined {
    const identity = visit.caller.identity ?? this.#identityOf(visit.task)
    if (identity === undefined || this.url === undefined || this.#grants.size >= MAX_OPEN) return undefined
    const url = identity.profile === undefined ? this.url : `${this.url}/${identity.profile}`
    const grant = this.#grantFor(visit, identity, new URL(url).pathname)
    if (grant === undefined) return undefined
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const digest = digestOf(token)
    this.#grants.set(digest, grant)
    this.#byPrincipal.set(grant.principal, grant)
    return {
      server: {
        type: 'http',
        name: 'gateway',
        url,
        headers: [{ name: 'Authorization', value: `Bearer ${token}` }],
      },
      get wasUsed() {
        return grant.wasUsed
      },
      close: () => void this.#grants.delete(digest),
    }
  }

  #grantFor({ task, root, depth, agent }: Visit, identity: CallerIdentity, path: string): Grant | undefined {
    if (agent.callback === undefined) return undefined
    const own = globs(agent.callback.tools)
    // An agent that an agent called sees no more than that one.
    const outer = this.grantOf(identity.principal)
    const { issuer, client, subject, scopes } = identity.principal
    const marked = [...scopes.filter(scope => !scope.startsWith(MARK)), `${MARK}${randomUUID()}`]
    return {
      task,
      root,
      depth,
      mayDelegate: depth < agent.callback.maxDepth && outer?.mayDelegate !== false,
      principal: Object.freeze({ issuer, client, subject, scopes: Object.freeze(marked), delegate: task }),
      profile: identity.profile,
      path,
      permits: outer === undefined ? own : tool => own(tool) && outer.permits(tool),
      wasUsed: false,
    }
  }

  /** Finds the grant of a token while its session lives. */
  find(token: string): Grant | undefined {
    return this.#grants.get(digestOf(token))
  }

  /** The grant of the agent that came; undefined for all other callers. */
  grantOf(principal: Principal): Grant | undefined {
    return this.#byPrincipal.get(principal)
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
