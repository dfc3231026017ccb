import { randomBytes, randomUUID } from 'node:crypto'
import type { Credentials, Principal, Refusal, Config, PluginApi } from '../../src/plugin.ts'
import { BoundedMap, gatewayError, compileGlobs, refuse, RPC, hashSecret } from '../../src/plugin.ts'
import { TOOLS } from './mcp/schemas.ts'
import type { AgentSettings } from './settings.ts'
import type { CallerIdentity, TaskCaller } from './types.ts'

/** Scope prefix that distinguishes an agent from its owner; not a scope of the token itself. */
const MARK = 'tapgate:agent:'

const TOKEN_BYTES = 32

/** Limits on open and remembered tokens. */
const MAX_OPEN = 1000
const MAX_KNOWN = 10_000

/** Listener name for agent callbacks. */
export const CALLBACK_LISTENER = 'agents-callback'

/** A dedicated loopback listener on a free port. */
export const CALLBACK_SPEC = {
  type: 'http',
  host: '127.0.0.1',
  port: 0,
  path: '/mcp',
  sessionLabel: false,
} as unknown as Config['listeners'][string]

const refused = refuse(RPC.invalidRequest, 'authentication required: send an agent token')

const REFUSED: Refusal = {
  status: 401,
  error: 'error' in refused ? refused.error : { code: RPC.invalidRequest, message: 'unknown' },
  headers: { 'www-authenticate': 'Bearer' },
}

/** Authenticates agents by token and limits their view by owner and grant. */
export function openCallback(
  { hooks, getListenerUrl }: Pick<PluginApi, 'hooks' | 'getListenerUrl'>,
  callbackTokens: CallbackTokens,
  upstream: string,
): void {
  callbackTokens.getUrl = () => getListenerUrl(CALLBACK_LISTENER)
  hooks.authenticate.tap({ stage: 'identify', listeners: [CALLBACK_LISTENER] }, credentials =>
    identify(credentials, callbackTokens),
  )
  hooks.session.tap({ stage: 'identify' }, ({ listener, principal, profile }) => {
    if (listener !== CALLBACK_LISTENER) return
    const grant = callbackTokens.resolveGrant(principal)
    if (grant === undefined || grant.profile !== profile)
      throw gatewayError('GW_UNAUTHORIZED', { why: 'the agent token is for another profile' })
  })
  // After profiles, so that names and entries are those the owner sees.
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

/** Grant for one task session, identified by its token. */
export interface AgentGrant {
  readonly task: string
  readonly root: string
  readonly depth: number
  /** True if the agent may delegate further tasks. */
  readonly mayDelegate: boolean
  readonly principal: Principal
  readonly profile: string | undefined
  /** Endpoint path that the token is valid for. */
  readonly path: string
  /** Tool globs; a tool must match one in each list. */
  readonly tools: readonly (readonly string[])[]
  readonly permits: (tool: string) => boolean
}

/** Returns true for a tool that matches every list. */
function compilePermits(tools: AgentGrant['tools']): AgentGrant['permits'] {
  const lists = tools.map(list => compileGlobs(list))
  return tool => lists.every(fits => fits(tool))
}

/** Finds the scope that identifies the agent's grant in any process. */
function findMark({ scopes }: Principal): string | undefined {
  return scopes.find(scope => scope.startsWith(MARK))
}

interface GrantRequest {
  readonly task: string
  /** First task in the chain, and the number of tasks in between: 0 for a client's task. */
  readonly root: string
  readonly depth: number
  readonly caller: TaskCaller
  readonly agent: AgentSettings
}

interface OpenGrant extends AgentGrant {
  wasUsed: boolean
}

/** A token for one session, valid until closed: acts as the task's owner with at most the same access. */
export type CallbackToken = NonNullable<ReturnType<CallbackTokens['open']>>

/** Callback tokens, stored only as digests. */
export class CallbackTokens {
  readonly #grants = new Map<string, OpenGrant>()
  /** Includes closed grants, because requests may outlive their token. */
  readonly #byMark = new BoundedMap<string, AgentGrant>({ max: MAX_KNOWN })
  /** Returns the callback URL; undefined while there is no listener. */
  getUrl: () => string | undefined = () => undefined

  /** Creates a token for one session; undefined if callbacks are not allowed or not possible. */
  open(request: GrantRequest) {
    const { identity } = request.caller
    const base = this.getUrl()
    if (identity === undefined || base === undefined || this.#grants.size >= MAX_OPEN) return undefined
    const url = identity.profile === undefined ? base : `${base}/${identity.profile}`
    const grant = this.#createGrant(request, identity, new URL(url).pathname)
    if (grant === undefined) return undefined
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const digest = hashSecret(token)
    this.#grants.set(digest, grant)
    this.#byMark.set(findMark(grant.principal) ?? '', grant)
    return {
      /** An `mcpServers` entry; contains a secret. */
      server: {
        type: 'http',
        name: 'gateway',
        url,
        headers: [{ name: 'Authorization', value: `Bearer ${token}` }],
      },
      /** True if a request used the token. */
      get wasUsed() {
        return grant.wasUsed
      },
      close: () => void this.#grants.delete(digest),
    }
  }

  #createGrant(
    { task, root, depth, agent }: GrantRequest,
    identity: CallerIdentity,
    path: string,
  ): OpenGrant | undefined {
    if (agent.callback === undefined) return undefined
    // A nested agent sees no more than its parent.
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

  /**
   * Finds an open grant by token digest. Rejects other paths, because plugins may serve endpoints that agents must
   * not use.
   */
  findGrant(digest: string, path: string): AgentGrant | undefined {
    const grant = this.#grants.get(digest)
    if (grant === undefined || grant.path !== path) return undefined
    grant.wasUsed = true
    return grant
  }

  /**
   * Returns the calling agent's grant; undefined for other callers. @throws GatewayError if the grant is no longer
   * known
   */
  resolveGrant(principal: Principal): AgentGrant | undefined {
    const mark = findMark(principal)
    if (mark === undefined) return undefined
    const grant = this.#byMark.get(mark)
    if (grant === undefined) throw gatewayError('GW_UNAUTHORIZED', { why: 'the agent token has expired' })
    return grant
  }
}
