import type { AuthorizationServer } from 'oauth4webapi'
import type { Grant, GrantKey, Refreshed } from '../types.ts'
import { grantOf, whyFailed, type KeySpec, type Wire } from './wire.ts'

/** A grant that is to be renewed. */
interface ToRefresh {
  readonly key: GrantKey
  readonly grant: Grant
  readonly signal: AbortSignal
  readonly keySpec: KeySpec | undefined
}

/** Statuses with which a server says that it cannot now, whatever its body says. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

/** Asks the authorization server for new tokens, once. Never rejects for what that does. */
export async function refresh(
  wire: Wire,
  serverOf: () => Promise<AuthorizationServer>,
  { key, grant, signal, keySpec }: ToRefresh,
): Promise<Refreshed> {
  const { lib } = wire
  const { client, refresh: token, scopesRequested: scopes } = grant
  if (token === undefined) return { kind: 'refused', error: 'invalid_grant' }
  try {
    const server = await serverOf()
    const known = { client_id: client.id }
    const options = wire.options({ signal, more: { resource: grant.audience ?? key.resource } })
    const auth = await wire.authOf(client, keySpec)
    const response = await lib.refreshTokenGrantRequest(server, known, auth, token, options)
    if (response.status >= 500 || PASSING.has(response.status)) return unreachable(response)
    const tokens = await lib.processRefreshTokenResponse(server, known, response)
    const made = grantOf(tokens, { client, scopes, refresh: token })
    const renewed = grant.audience === undefined ? made : { ...made, audience: grant.audience }
    // A server that says nothing of scopes has left them as they were (RFC 6749, 6).
    const granted = tokens.scope === undefined ? { ...renewed, scopesGranted: grant.scopesGranted } : renewed
    return { kind: 'granted', grant: granted }
  } catch (error) {
    const said = wire.said(error)
    return said === undefined
      ? { kind: 'unreachable', reason: whyFailed(wire, error) }
      : { kind: 'refused', error: said }
  }
}

function unreachable(response: Response): Refreshed {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const reason = `it answers HTTP ${response.status}`
  return Number.isNaN(seconds)
    ? { kind: 'unreachable', reason }
    : { kind: 'unreachable', reason, retryAfterMs: seconds * 1000 }
}
