import type { Config, JsonObject, PluginHooks } from '../../src/plugin.ts'
import { gatewayError, readList, suggestHint } from '../../src/plugin.ts'
import { hashAccount, parseCaller, formatCaller } from './callers.ts'
import type { UpstreamFlow } from './flow/upstream-flow.ts'
import type { OAuthService } from './service.ts'
import type { CallerIdentity, GrantKey, StoredGrant } from './types.ts'
import { GATEWAY_ACCOUNT, isPerCaller } from './types.ts'
import { NOT_LOGGED_IN } from './vault/grants.ts'

/** Maximum rows for waiting callers. */
const MAX_ROWS = 1000

/** Implements the control verbs for logins. */
export function answerVerbs(hooks: PluginHooks, service: OAuthService, config: Config): void {
  const { control } = hooks
  control.for('login.begin').tap(async params => {
    const login = parseTarget('login.begin', params, service, config)
    return { ...(await service.logins.beginLogin({ ...login, redirectUri: parseLoopbackUri(params) })) }
  })
  control.for('login.finish').tap(async ({ url }) => {
    if (typeof url !== 'string' || !URL.canParse(url)) throw createParamsError('login.finish', '"url" must be a URL')
    return { ...(await service.logins.finishLogin(url)), keptIn: service.vault.location }
  })
  control.for('login.list').tap({ readOnly: true }, async () => ({ logins: await listRows(service) }))
  control.for('login.logout').tap(async params => {
    const { upstream, account } = await parseLogoutTarget(params, service, config)
    return { upstream, account, ...(await removeLogin(service, service.flow(upstream), account)) }
  })
}

interface LoginTarget {
  readonly upstream: string
  readonly account: string
  readonly caller: CallerIdentity | undefined
  readonly scopes: readonly string[]
}

function parseTarget(verb: string, params: JsonObject, service: OAuthService, config: Config): LoginTarget {
  const { upstream, account: text } = params
  if (typeof upstream !== 'string') throw createParamsError(verb, '"upstream" must be an upstream name')
  if (config.upstreams[upstream] === undefined)
    throw gatewayError('GW_UPSTREAM_UNKNOWN', {
      upstream,
      meant: suggestHint(upstream, [...service.flows.keys()]),
    })
  const { spec } = service.flow(upstream)
  const scopes = readList(params, 'scopes').filter(scope => typeof scope === 'string')
  if (text === GATEWAY_ACCOUNT || (text === undefined && !isPerCaller(spec)))
    return { upstream, account: GATEWAY_ACCOUNT, caller: undefined, scopes }
  if (typeof text !== 'string')
    throw createParamsError(verb, `each caller of "${upstream}" has its own login: set --account`)
  const caller = parseCaller(text, config.auth)
  if (caller === undefined)
    throw createParamsError(verb, 'use "key:<name>" or "<issuer> <subject>": there are several issuers')
  return { upstream, account: hashAccount(caller), caller, scopes }
}

/**
 * Parses the login to remove; also accepts an account hash from `gateway logins --json`, whose caller may be unknown.
 */
async function parseLogoutTarget(
  params: JsonObject,
  service: OAuthService,
  config: Config,
): Promise<Pick<LoginTarget, 'upstream' | 'account'>> {
  const { upstream, account } = params
  const isKept = (await service.vault.list()).some(grant => grant.account === account)
  return isKept && typeof account === 'string' && typeof upstream === 'string'
    ? { upstream, account }
    : parseTarget('login.logout', params, service, config)
}

/** Accepts loopback redirect URIs only. */
function parseLoopbackUri({ redirectUri }: JsonObject): string {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null
  if (url?.protocol === 'http:' && url.hostname === '127.0.0.1' && typeof redirectUri === 'string') return redirectUri
  throw createParamsError('login.begin', '"redirectUri" must be a URL on 127.0.0.1')
}

/** Lists existing, lost and missing logins. */
async function listRows(service: OAuthService): Promise<JsonObject[]> {
  const { vault } = service
  const rows = (await vault.list()).map(grant => createGrantRow(grant, service))
  const missing = [...service.flows].filter(
    ([name, { spec }]) =>
      spec.oauth.grant === 'code' &&
      !isPerCaller(spec) &&
      !rows.some(({ upstream, account }) => upstream === name && account === GATEWAY_ACCOUNT),
  )
  const wantedRows = missing.map(([upstream]) => ({
    ...{ upstream, account: GATEWAY_ACCOUNT, state: 'needs_auth', why: NOT_LOGGED_IN },
  }))
  const waitingRows = [...service.waiting.entries()]
    .map(([, one]) => one)
    .filter(one => !rows.some(row => row.upstream === one.upstream && row.account === one.account))
    .slice(0, MAX_ROWS)
    .map(({ upstream, account, caller, since }) => ({
      ...{ upstream, account, caller: formatCaller(caller), state: 'needs_auth', since },
      why: 'a call of this caller was refused without a login',
    }))
  return [...rows, ...wantedRows, ...waitingRows]
}

function createGrantRow(grant: StoredGrant, service: OAuthService): JsonObject {
  const { account, resource, issuer, expiresAt, scopesGranted: scopes, refresh, caller, lost, at } = grant
  const own = {
    ...{ upstream: findUpstreamName(grant, service), account, resource, issuer },
    ...(caller === undefined ? {} : { caller: formatCaller(caller) }),
  }
  if (lost !== undefined) return { ...own, state: 'needs_auth', why: lost, lostAt: at }
  const renews = refresh !== undefined
  const isOver = !renews && expiresAt !== undefined && expiresAt > at && expiresAt <= Date.now()
  return { ...own, scopes: [...scopes], renews, state: isOver ? 'needs_auth' : 'granted', expiresAt }
}

/** Returns a login's upstream; empty if it is no longer configured. */
function findUpstreamName(key: GrantKey, { flows }: OAuthService): string {
  return [...flows].find(([, flow]) => flow.ownsGrant(key))?.[0] ?? ''
}

/** Removes an account's login at an upstream, and revokes it. */
async function removeLogin(
  { vault }: OAuthService,
  flow: UpstreamFlow,
  account: string,
): Promise<{ removed: number; revoked: boolean }> {
  const grant = await vault.findCurrent({ account, resource: flow.resource })
  if (grant === undefined || !(await vault.remove(grant, grant.generation))) return { removed: 0, revoked: false }
  if (grant.lost !== undefined) return { removed: 0, revoked: false }
  return { removed: 1, revoked: await revokeGrant(flow, grant) }
}

function createParamsError(verb: string, why: string): Error {
  return gatewayError('GW_VERB_PARAMS', { verb, why })
}

/** Revokes a grant (RFC 7009). Returns true if the server confirms; a logout does not depend on it. */
async function revokeGrant(flow: UpstreamFlow, grant: StoredGrant): Promise<boolean> {
  const { client, access, refresh = access } = grant
  try {
    const server = await flow.getServer(grant.issuer)
    if (server.revocation_endpoint === undefined) return false
    const wire = await flow.loadWire()
    const { lib } = wire
    const auth = await wire.createClientAuth(client, flow.keySpec)
    const response = await lib.revocationRequest(server, { client_id: client.id }, auth, refresh, wire.options())
    await lib.processRevocationResponse(response)
    return true
  } catch {
    return false
  }
}
