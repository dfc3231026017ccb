import type { KeptGrant } from '../types.ts'
import type { UpstreamFlow } from './upstream-flow.ts'

const WITHIN_MS = 5000

/** Tells the authorization server that a grant is over (RFC 7009). True where it says that it knows; a logout needs no more than the vault. */
export async function revoke(flow: UpstreamFlow, grant: KeptGrant): Promise<boolean> {
  const { client, access, refresh = access } = grant
  try {
    const server = await flow.serverOf(grant.issuer)
    if (server.revocation_endpoint === undefined) return false
    const wire = await flow.wire()
    const { lib } = wire
    const auth = await wire.authOf(client, flow.keySpec)
    const options = wire.options({ signal: AbortSignal.timeout(WITHIN_MS) })
    const response = await lib.revocationRequest(server, { client_id: client.id }, auth, refresh, options)
    await lib.processRevocationResponse(response)
    return true
  } catch {
    return false
  }
}
