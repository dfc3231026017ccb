import {
  gatewayError,
  isObject,
  listAt,
  type Config,
  type JsonObject,
  type PluginHooks,
} from '../../src/plugin.ts'
import { accountNamed } from './account.ts'
import type { UpstreamFlow } from './flow/upstream-flow.ts'
import { revoke } from './flow/revoke.ts'
import type { OAuthService } from './service.ts'
import { GATEWAY_ACCOUNT, type GrantKey, type KeptGrant, type LostGrant } from './types.ts'
import { isOfCaller } from './upstreams.ts'
import { NOBODY } from './vault/grants.ts'

/** Verbs of logins for the owner: `login.begin`, `finish`, `device`, `device.wait`, `list` and `logout`. */
export function answerVerbs(hooks: PluginHooks, service: OAuthService, config: Config): void {
  const { control } = hooks
  control.for('login.begin').tap(async params => {
    const { upstream, account, scopes } = wanted('login.begin', params, service, config)
    const redirectUri = loopbackIn(params)
    return { ...(await service.logins.begin({ upstream, account, redirectUri, scopes })) }
  })
  control.for('login.finish').tap(async ({ url }) => {
    if (typeof url !== 'string' || !URL.canParse(url)) throw wrong('login.finish', '"url" must be an address')
    return { ...(await service.logins.finish(url)) }
  })
  control.for('login.device').tap(async params => {
    const { upstream, account, scopes } = wanted('login.device', params, service, config)
    return { ...(await service.devices.begin(upstream, account, scopes)) }
  })
  control.for('login.device.wait').tap(async ({ handle }) => {
    if (typeof handle !== 'string') throw wrong('login.device.wait', '"handle" must be that of a login')
    return { ...(await service.devices.wait(handle)) }
  })
  control.for('login.list').tap(async () => ({ logins: await rows(service) }))
  control.for('login.logout').tap(async params => {
    const { upstream, account } = wanted('login.logout', params, service, config)
    return { upstream, account, ...(await logout(service, service.flow(upstream), account)) }
  })
}

/** Login that is meant: upstream, account and scopes. */
interface Wanted {
  readonly upstream: string
  readonly account: string
  readonly scopes: readonly string[]
}

function wanted(verb: string, params: JsonObject, service: OAuthService, config: Config): Wanted {
  const { upstream, account } = params
  if (typeof upstream !== 'string') throw wrong(verb, '"upstream" must be the name of one')
  if (config.upstreams[upstream] === undefined)
    throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream, meant: '' })
  const { spec } = service.flow(upstream)
  const scopes = listAt(params, 'scopes').filter(scope => typeof scope === 'string')
  if (typeof account === 'string') return { upstream, account: accountOfText(account, verb, config), scopes }
  if (isOfCaller(spec))
    throw wrong(verb, `each caller of "${upstream}" has a login of its own: say whose with --account`)
  return { upstream, account: GATEWAY_ACCOUNT, scopes }
}

function accountOfText(text: string, verb: string, config: Config): string {
  if (text === GATEWAY_ACCOUNT) return text
  const account = accountNamed(text, config.auth)
  if (account !== undefined) return account
  throw wrong(verb, 'say "<issuer> <subject>": callers come from several issuers')
}

/** Where the browser of whoever sits here comes back to: nowhere but this machine. */
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
  return [...found, ...wantedRows].filter(isObject)
}

function rowOfGrant(grant: KeptGrant, service: OAuthService): JsonObject {
  const { account, resource, issuer, expiresAt, scopesGranted: scopes, refresh } = grant
  const renews = refresh !== undefined
  const isOver = !renews && expiresAt !== undefined && expiresAt > grant.at && expiresAt <= Date.now()
  return {
    ...{ upstream: nameOf(grant, service), account, resource, issuer, scopes: [...scopes], renews },
    state: isOver ? 'needs_auth' : 'granted',
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}

function rowOfLost(lost: LostGrant, service: OAuthService): JsonObject {
  const { account, resource, issuer, why, at } = lost
  return { upstream: nameOf(lost, service), account, resource, issuer, state: 'needs_auth', why, lostAt: at }
}

/** The upstream whose login it is; empty where the configuration has it no more. */
function nameOf(key: GrantKey, { flows }: OAuthService): string {
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
