import { randomBytes, randomUUID } from 'node:crypto'
import type { Credentials, ListenerConfig, PluginHooks, Principal, Refusal } from '../../../src/plugin.ts'
import { BoundedMap, gatewayError, compileGlobs, refuse, RPC, hashSecret } from '../../../src/plugin.ts'
import { TOOLS } from './schemas.ts'
import type { Callback, CallbackToken, CallerIdentity } from '../types.ts'

/** Never among the scopes of a token: it keeps what an agent sees apart from what its owner sees. */
const MARK = 'tapgate:agent:'

const TOKEN_BYTES = 32

/** Tokens in use at once, and those that are remembered. */
const MAX_OPEN = 1000
const MAX_KNOWN = 10_000

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
    if (name === CALLBACK_LISTENER) callbackTokens.setUrl(url)
  })
  hooks.authenticate.tap({ stage: 'identify', listeners: [CALLBACK_LISTENER] }, credentials =>
    identify(credentials, callbackTokens),
  )
  hooks.session.tap({ stage: 'identify' }, ({ listener, principal, profile }) => {
    if (listener !== CALLBACK_LISTENER) return
    const grant = callbackTokens.resolveGrant(principal)
    if (grant === undefined || grant.profile !== profile)
      throw gatewayError('GW_UNAUTHORIZED', { why: 'the token of an agent is for another profile' })
  })
  // After the profiles, so that it speaks of names as clients know them, and of what the owner sees.
  hooks.catalog.tap({ stage: 'transform' }, (entries, { kind, principal }) => {
    const grant = callbackTokens.resolveGrant(principal)
    if (grant === undefined) return undefined
    if (kind !== 'tools') return []
    return entries.filter(
      ({ exposed, original, upstream: owner }) =>
        grant.permits(exposed) && (grant.mayDelegate || owner !== upstream || !TOOLS.has(original)),
    )
  })
}

function identify(credentials: Credentials, grants: CallbackTokens): Principal | Refusal {
  const sent = credentials.header('authorization')
  const token = sent.length === 1 ? /^bearer ([\w-]{1,256})$/i.exec(sent[0] ?? '')?.[1] : undefined
  const grant = token === undefined ? undefined : grants.findGrant(hashSecret(token), credentials.path)
  return grant?.principal ?? REFUSED
}

/** One session of one task, as the gateway knows whoever comes with its token. */
export interface AgentGrant {
  readonly task: string
  readonly root: string
  readonly depth: number
  /** True if its tasks may begin others. */
  readonly mayDelegate: boolean
  readonly principal: Principal
  readonly profile: string | undefined
  /** Path of the endpoint that the token is for. */
  readonly path: string
  /** Globs of the tools that its agent may use: of each list, one must fit. */
  readonly tools: readonly (readonly string[])[]
  readonly permits: (tool: string) => boolean
}

/** True for a tool that each of the lists lets through. */
function compilePermits(tools: AgentGrant['tools']): AgentGrant['permits'] {
  const lists = tools.map(list => compileGlobs(list))
  return tool => lists.every(fits => fits(tool))
}

/** The scope that keeps an agent apart from its owner, by which its grant is found in any process. */
function findMark({ scopes }: Principal): string | undefined {
  return scopes.find(scope => scope.startsWith(MARK))
}

type GrantRequest = Parameters<Callback['open']>[0]

interface OpenGrant extends AgentGrant {
  wasUsed: boolean
}

/** The ways back into the gateway: each has a token of its own, of which only a digest is kept. */
export class CallbackTokens implements Callback {
  readonly #grants = new Map<string, OpenGrant>()
  /** Those of late too: what came with a token may go on after its end. */
  readonly #byMark = new BoundedMap<string, AgentGrant>({ max: MAX_KNOWN })
  readonly #findIdentity: (task: string) => CallerIdentity | undefined
  /** URL at which agents find the gateway; undefined while nobody listens. */
  url: string | undefined

  /** `findIdentity` finds the identity behind a task, where its caller has none. */
  constructor(identityOf: (task: string) => CallerIdentity | undefined) {
    this.#findIdentity = identityOf
  }

  open(visit: GrantRequest): CallbackToken | undefined {
    const identity = visit.caller.identity ?? this.#findIdentity(visit.task)
    if (identity === undefined || this.url === undefined || this.#grants.size >= MAX_OPEN) return undefined
    const url = identity.profile === undefined ? this.url : `${this.url}/${identity.profile}`
    const grant = this.#createGrant(visit, identity, new URL(url).pathname)
    if (grant === undefined) return undefined
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const digest = hashSecret(token)
    this.#grants.set(digest, grant)
    this.#byMark.set(findMark(grant.principal) ?? '', grant)
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
      close: () => {
        this.#grants.delete(digest)
      },
    }
  }

  #createGrant(
    { task, root, depth, agent }: GrantRequest,
    identity: CallerIdentity,
    path: string,
  ): OpenGrant | undefined {
    if (agent.callback === undefined) return undefined
    // An agent that an agent called sees no more than that one.
    const outer = this.resolveGrant(identity.principal)
    const tools = [agent.callback.tools, ...(outer?.tools ?? [])]
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
      tools,
      permits: compilePermits(tools),
      wasUsed: false,
    }
  }

  /** URL at which agents find the gateway. */
  setUrl(url: string | undefined): void {
    this.url = url
  }

  /** Finds the grant of a token while its session lives. Beside MCP, other plugins may serve what is not for agents. */
  findGrant(digest: string, path: string): AgentGrant | undefined {
    const grant = this.#grants.get(digest)
    if (grant === undefined || grant.path !== path) return undefined
    grant.wasUsed = true
    return grant
  }

  /** The grant of the agent that came; undefined for all other callers. @throws GatewayError where that is not known any more */
  resolveGrant(principal: Principal): AgentGrant | undefined {
    const mark = findMark(principal)
    if (mark === undefined) return undefined
    const grant = this.#byMark.get(mark)
    if (grant === undefined) throw gatewayError('GW_UNAUTHORIZED', { why: 'the token of an agent has ended' })
    return grant
  }
}
