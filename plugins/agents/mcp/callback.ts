import { createHash, randomBytes, randomUUID } from 'node:crypto'
import {
  type Credentials,
  gatewayError,
  globs,
  type ListenerConfig,
  type PluginHooks,
  type Principal,
  type Refusal,
  refuse,
  RPC,
} from '../../../src/plugin.ts'
import { TOOLS } from './tool-list.ts'
import type { Callback, CallbackToken, CallerIdentity } from '../types/tasks.ts'

/** Never among the scopes of a token: it keeps what an agent sees apart from what its owner sees. */
const MARK = 'tapgate:agent:'

const TOKEN_BYTES = 32

/** Tokens in use at once. */
const MAX_OPEN = 1000

/** Name of the listener for agents alone. */
export const CALLBACK_LISTENER = 'agents-callback'

/** A listener of its own, which other machines cannot reach. Its port is whichever is free. */
export const CALLBACK_SPEC = {
  type: 'http',
  host: '127.0.0.1',
  port: 0,
  path: '/mcp',
  sessionLabel: false,
} as unknown as ListenerConfig

const refused = refuse(RPC.invalidRequest, 'who sends this is not known: the token of an agent is needed')

const REFUSED: Refusal = {
  status: 401,
  error: 'error' in refused ? refused.error : { code: RPC.invalidRequest, message: 'unknown' },
  headers: { 'www-authenticate': 'Bearer' },
}

/** Lets agents in by their tokens, and shows them what their owners see, as far as they may use it. */
export function openCallback(hooks: PluginHooks, callbackTokens: CallbackTokens, upstream: string): void {
  hooks.listening.tap(({ name, url }) => {
    if (name === CALLBACK_LISTENER) callbackTokens.url = url
  })
  hooks.authenticate.tap({ stage: 'identify', listeners: [CALLBACK_LISTENER] }, credentials =>
    identify(credentials, callbackTokens),
  )
  hooks.session.tap({ stage: 'identify' }, ({ listener, principal, profile }) => {
    if (listener !== CALLBACK_LISTENER) return
    const grant = callbackTokens.grantOf(principal)
    if (grant === undefined || grant.profile !== profile)
      throw gatewayError('GW_UNAUTHORIZED', { why: 'the token of an agent is for another profile' })
  })
  // After the profiles, so that it speaks of names as clients know them, and of what the owner sees.
  hooks.catalog.tap({ stage: 'transform' }, (entries, { kind, principal }) => {
    const grant = callbackTokens.grantOf(principal)
    if (grant === undefined) return undefined
    if (kind !== 'tools') return []
    return entries.filter(
      ({ exposed, original, upstream: owner }) =>
        grant.permits(exposed) && (grant.mayDelegate || owner !== upstream || !TOOLS.has(original)),
    )
  })
}

function identify(credentials: Credentials, callbackTokens: CallbackTokens): Principal | Refusal {
  const sent = credentials.header('authorization')
  const token = sent.length === 1 ? /^bearer ([\w-]{1,256})$/i.exec(sent[0] ?? '')?.[1] : undefined
  const grant = token === undefined ? undefined : callbackTokens.find(token)
  // Beside MCP, other plugins may serve what is not for agents.
  if (grant === undefined || credentials.path !== grant.path) return REFUSED
  grant.wasUsed = true
  return grant.principal
}

/** One session of one task, as the gateway knows whoever comes with its token. */
interface Grant {
  readonly task: string
  readonly root: string
  readonly depth: number
  /** True if its tasks may begin others. */
  readonly mayDelegate: boolean
  readonly principal: Principal
  readonly profile: string | undefined
  /** Path of the endpoint that the token is for. */
  readonly path: string
  readonly permits: (tool: string) => boolean
  wasUsed: boolean
}

type Visit = Parameters<Callback['open']>[0]

/** The ways back into the gateway: each has a token of its own, of which only a digest is kept. */
export class CallbackTokens implements Callback {
  readonly #grants = new Map<string, Grant>()
  readonly #byPrincipal = new WeakMap<Principal, Grant>()
  readonly #identityOf: (task: string) => CallerIdentity | undefined
  /** URL at which agents find the gateway; undefined while nobody listens. */
  url: string | undefined

  /** `identityOf` finds the identity behind a task, where its caller has none. */
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
