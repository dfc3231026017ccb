import {
  gatewayError,
  refuse,
  RPC,
  type Credentials,
  type ListenerConfig,
  type PluginHooks,
  type Principal,
  type Refusal,
} from '../../../src/plugin.ts'
import { TOOLS } from '../mcp/tool-list.ts'
import type { CallbackTokens } from './callback-tokens.ts'

/** Where agents come in; nobody else can. */
export const CALLBACK_LISTENER = 'agents-callback'

/** A listener of its own, which other machines cannot reach. Its port is whichever is free. */
export const CALLBACK_SPEC = {
  type: 'http',
  host: '127.0.0.1',
  port: 0,
  path: '/mcp',
  sessionLabel: false,
} as unknown as ListenerConfig

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

const refused = refuse(RPC.invalidRequest, 'who sends this is not known: the token of an agent is needed')
const REFUSED: Refusal = {
  status: 401,
  error: 'error' in refused ? refused.error : { code: RPC.invalidRequest, message: 'unknown' },
  headers: { 'www-authenticate': 'Bearer' },
}
