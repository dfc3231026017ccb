import type { Config, JsonObject, PluginHooks } from '../../src/plugin.ts'
import { gatewayError, isObject, readList, suggestHint } from '../../src/plugin.ts'
import { accountFor, callerNamed, nameOf, rowOfWaiting } from './callers.ts'
import type { UpstreamFlow } from './flow/upstream-flow.ts'
import type { OAuthService } from './service.ts'
import type { Caller, GrantKey, KeptGrant, LostGrant } from './types.ts'
import { GATEWAY_ACCOUNT } from './types.ts'
import { isOfCaller } from './upstreams.ts'
import { NOBODY } from './vault/grants.ts'

/** Rows of callers that wait, at most. */
const MAX_ROWS = 1000

/** Answers the verbs of logins: `VERBS`. */
export function answerVerbs(hooks: PluginHooks, service: OAuthService, config: Config): void {
  const { control } = hooks
  control.for('login.begin').tap(async params => {
    const login = wanted('login.begin', params, service, config)
    return { ...(await service.logins.begin({ ...login, redirectUri: loopbackIn(params) })) }
  })
  control.for('login.finish').tap(async ({ url }) => {
    if (typeof url !== 'string' || !URL.canParse(url)) throw wrong('login.finish', '"url" must be an address')
    return { ...(await service.logins.finish(url)), keptIn: service.place }
  })
  control.for('login.device').tap(async params => {
    return { ...(await service.devices.begin(wanted('login.device', params, service, config))) }
  })
  control.for('login.device.wait').tap(async ({ handle }) => {
    if (typeof handle !== 'string') throw wrong('login.device.wait', '"handle" must be that of a login')
    return { ...(await service.devices.wait(handle)), keptIn: service.place }
  })
  control.for('login.list').tap({ looks: true }, async () => ({ logins: await rows(service) }))
  control.for('login.logout').tap(async params => {
    const { upstream, account } = await logoutWanted(params, service, config)
    return { upstream, account, ...(await logout(service, service.flow(upstream), account)) }
  })
}

/** Login that is meant: upstream, account and scopes. */
interface LoginTarget {
  readonly upstream: string
  readonly account: string
  readonly caller: Caller | undefined
  readonly scopes: readonly string[]
}

function wanted(verb: string, params: JsonObject, service: OAuthService, config: Config): LoginTarget {
  const { upstream, account: text } = params
  if (typeof upstream !== 'string') throw wrong(verb, '"upstream" must be the name of one')
  if (config.upstreams[upstream] === undefined)
    throw gatewayError('GW_UPSTREAM_UNKNOWN', {
      upstream,
      meant: suggestHint(
        upstream,
        [...service.flows].map(([name]) => name),
      ),
    })
  const { spec } = service.flow(upstream)
  const scopes = readList(params, 'scopes').filter(scope => typeof scope === 'string')
  if (text === GATEWAY_ACCOUNT || (text === undefined && !isOfCaller(spec)))
    return { upstream, account: GATEWAY_ACCOUNT, caller: undefined, scopes }
  if (typeof text !== 'string')
    throw wrong(verb, `each caller of "${upstream}" has a login of its own: say whose with --account`)
  const caller = callerNamed(text, config.auth)
  if (caller === undefined)
    throw wrong(verb, 'say "key:<name>" or "<issuer> <subject>": callers come from several issuers')
  return { upstream, account: accountFor(caller), caller, scopes }
}

/** Login that is to end: also one of an account as `gateway logins --json` has it, whose caller nobody can name any more. */
async function logoutWanted(
  params: JsonObject,
  service: OAuthService,
  config: Config,
): Promise<Pick<LoginTarget, 'upstream' | 'account'>> {
  const { upstream, account } = params
  const isKept = (await service.vault.list()).some(grant => grant.account === account)
  return isKept && typeof account === 'string' && typeof upstream === 'string'
    ? { upstream, account }
    : wanted('login.logout', params, service, config)
}

/** The address that the browser of whoever sits here comes back to: nowhere but this machine. */
function loopbackIn({ redirectUri }: JsonObject): string {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null
  if (url?.protocol === 'http:' && url.hostname === '127.0.0.1' && typeof redirectUri === 'string')
    return redirectUri
  throw wrong('login.begin', '"redirectUri" must be an address on 127.0.0.1')
}

/** Every login that there is, that was lost, or that is wanted. */
async function rows(service: OAuthService): Promise<JsonObject[]> {
  const { vault } = service
  const [kept, lost] = [await vault.list(), await vault.lost()]
  const found = [
    ...kept.map(grant => rowOfGrant(grant, service)),
    ...lost.filter(one => !kept.some(grant => isSame(grant, one))).map(one => rowOfLost(one, service)),
  ]
  const missing = [...service.flows].filter(
    ([name, { spec }]) =>
      spec.oauth.grant === 'code' &&
      !isOfCaller(spec) &&
      !found.some(({ upstream, account }) => upstream === name && account === GATEWAY_ACCOUNT),
  )
  const wantedRows = missing.map(([upstream]) => ({
    ...{ upstream, account: GATEWAY_ACCOUNT, state: 'needs_auth', why: NOBODY },
  }))
  const waitingRows = service.waiting
    .all()
    .filter(one => !found.some(row => row.upstream === one.upstream && row.account === one.account))
    .slice(0, MAX_ROWS)
    .map(one => ({ ...rowOfWaiting(one), caller: nameOf(one.caller) }))
  return [...found, ...wantedRows, ...waitingRows].filter(isObject)
}

function rowOfGrant(grant: KeptGrant, service: OAuthService): JsonObject {
  const { account, resource, issuer, expiresAt, scopesGranted: scopes, refresh } = grant
  const renews = refresh !== undefined
  const isOver = !renews && expiresAt !== undefined && expiresAt > grant.at && expiresAt <= Date.now()
  return {
    ...{ upstream: upstreamOf(grant, service), account, resource, issuer, scopes: [...scopes], renews },
    ...callerIn(grant),
    state: isOver ? 'needs_auth' : 'granted',
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}

function rowOfLost(lost: LostGrant, service: OAuthService): JsonObject {
  const { account, resource, issuer, why, at } = lost
  const row = { upstream: upstreamOf(lost, service), account, resource, issuer, ...callerIn(lost) }
  return { ...row, state: 'needs_auth', why, lostAt: at }
}

/** Name of the caller whose login it is; nothing for a login of the gateway. */
function callerIn({ caller }: { readonly caller?: Caller }): JsonObject {
  return caller === undefined ? {} : { caller: nameOf(caller) }
}

/** The upstream whose login it is; empty where the configuration has it no more. */
function upstreamOf(key: GrantKey, { flows }: OAuthService): string {
  return [...flows].find(([, flow]) => flow.isFor(key))?.[0] ?? ''
}

function isSame(one: GrantKey, other: GrantKey): boolean {
  return one.account === other.account && one.resource === other.resource && one.issuer === other.issuer
}

/** Removes the grants of an account at an upstream, and tells their authorization servers. */
async function logout(
  { vault, grants }: OAuthService,
  flow: UpstreamFlow,
  account: string,
): Promise<{ removed: number; revoked: boolean }> {
  const own = (await vault.list()).filter(grant => grant.account === account && flow.isFor(grant))
  let removed = 0
  let revoked = own.length > 0
  for (const grant of own) {
    if (await vault.remove(grant, grant.generation)) removed++
    grants.forget(account, grant.resource)
    revoked = (await revoke(flow, grant)) && revoked
  }
  return { removed, revoked }
}

function wrong(verb: string, why: string): Error {
  return gatewayError('GW_VERB_PARAMS', { verb, why })
}

const REVOKE_TIMEOUT_MS = 5000

/** Tells the authorization server that a grant is over (RFC 7009). True where it says that it knows; a logout needs no more than the vault. */
async function revoke(flow: UpstreamFlow, grant: KeptGrant): Promise<boolean> {
  const { client, access, refresh = access } = grant
  try {
    const server = await flow.serverOf(grant.issuer)
    if (server.revocation_endpoint === undefined) return false
    const wire = await flow.wire()
    const { lib } = wire
    const auth = await wire.authOf(client, flow.keySpec)
    const options = wire.options({ signal: AbortSignal.timeout(REVOKE_TIMEOUT_MS) })
    const response = await lib.revocationRequest(server, { client_id: client.id }, auth, refresh, options)
    await lib.processRevocationResponse(response)
    return true
  } catch {
    return false
  }
}
