import type { Config, Plugin, Report } from '../../src/plugin.ts'
import { readList, readMap, appendPointer, readText, readValue } from '../../src/plugin.ts'
import { ERRORS } from './errors.ts'
import { hasCallerLogins, hasOAuth, isPerCaller } from './types.ts'

/** Logs in to upstreams with OAuth, and adds the tokens to their requests. */
export const oauth: Plugin<Config['oauth']> = {
  name: 'oauth',
  sharesState: true,
  claims: { section: 'oauth', upstream: ['oauth'], makesUpstreams: true },
  errors: ERRORS,
  check: checkOAuth,
  commands: () => import('./commands.ts'),
  async setup(api) {
    const { hooks, slot, config, clock } = api
    // Load the login code only if an upstream needs it.
    const [{ OAuthService, watchLogins }, { documentUrl, serveDocument }, { answerVerbs }] = await Promise.all([
      import('./service.ts'),
      import('./flow/client-identity.ts'),
      import('./control-verbs.ts'),
    ])
    const service = slot.gateway(() => new OAuthService(api))
    const document = documentUrl(config)
    service.addGeneration(api, document)
    if (document !== undefined) serveDocument(hooks, document)
    hooks.configure.tap(isolateCallers)
    hooks.authorize.tap((spec, { name }) => (hasOAuth(spec) ? service.createAuthorizer(name, spec) : undefined))
    answerVerbs(hooks, service, config)
    watchLogins(hooks, service, clock)
    hooks.close.tap(() => service.removeGeneration())
    if (!hasCallerLogins(config)) return
    const [{ connectCallers }, { ConnectState }] = await Promise.all([
      import('./connect/connect-callers.ts'),
      import('./connect/login-state.ts'),
    ])
    const state = slot.gateway(() => new ConnectState(api))
    connectCallers(api, service, state)
  },
}

/** Isolates sessions and caches per caller, as each login may get different answers. */
function isolateCallers(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, spec]) => {
    const isShared = hasOAuth(spec) && isPerCaller(spec) && spec.isolation === 'shared'
    return [name, isShared ? { ...spec, isolation: 'principal' as const } : spec] as const
  })
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}

/** Keys that only some grants use. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  assertionFile: ['workload'],
  audience: ['exchange'],
  identityProvider: ['exchange', 'id-jag'],
  subject: ['exchange', 'id-jag'],
}

/** Grants that exchange a caller's token. */
const DELEGATED = ['exchange', 'id-jag']

const NEEDED: Readonly<Record<string, { readonly key: string; readonly hint: string }>> = {
  'client-credentials': { key: 'client', hint: 'add client: { id, secret }, or { id, keyFile }' },
  workload: { key: 'assertionFile', hint: 'add the file with the token of this workload' },
  exchange: { key: 'client', hint: 'add client: { id, secret } for the token exchange' },
  'id-jag': { key: 'identityProvider', hint: 'add identityProvider: { issuer, client }' },
}

/** Checks combinations: keys and grants, callers and their authentication, tokens and headers. */
function checkOAuth(config: unknown, report: Report): void {
  const person = readText(config, 'oauth', 'person', 'issuer')
  const issuers = readList(config, 'auth', 'jwt').map(one => readText(one, 'issuer'))
  // Callers with tokens must log in at their tokens' issuer, so that `iss` and `sub` match.
  if (person !== undefined && !issuers.includes(person))
    report({
      pointer: '/oauth/person/issuer',
      message: 'no caller has a token of this issuer',
      hint: 'use an issuer of "auth.jwt", exactly',
    })
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const oauth = readValue(upstreams, name, 'oauth')
    if (typeof oauth !== 'object' || oauth === null) continue
    const pointer = appendPointer(appendPointer('/upstreams', name), 'oauth')
    const add: AddFinding = (key, message, hint, more = {}) =>
      report({ pointer: key === '' ? pointer : `${pointer}/${key}`, message, hint, ...more })
    checkAddress(readMap(upstreams, name), add)
    checkGrant(oauth, add)
    if (person === undefined && issuers.length > 0) checkBrowserLogins(oauth, add)
    // Changes by plugins are checked without other sections.
    if (Object.keys(readMap(config, 'listeners')).length > 0) checkCallers(config, oauth, add)
    checkIssuer(oauth, add)
  }
}

/** Reports a finding at a key of the upstream's `oauth`; an empty one is `oauth` itself. */
type AddFinding = (key: string, message: string, hint: string, more?: Pick<Finding, 'on' | 'severity'>) => void
type Finding = Parameters<Report>[0]

/** The login precedes reading the document, and a document must not choose the token destination. */
function checkAddress(upstream: object, add: AddFinding): void {
  if (readText(upstream, 'type') !== 'openapi' || readValue(upstream, 'server') !== undefined) return
  const message = '"server" is missing, so the API that the tokens are for is unknown'
  add('', message, 'add "server", the base URL of the API', { on: 'key' })
}

function getGrant(oauth: object): string {
  return readText(oauth, 'grant') ?? 'code'
}

function checkGrant(oauth: object, add: AddFinding): void {
  const grant = getGrant(oauth)
  for (const [key, grants] of Object.entries(ONLY_FOR)) {
    if (readValue(oauth, key) === undefined || grants.includes(grant)) continue
    const names = grants.map(one => `"${one}"`).join(' and ')
    add(key, `grant "${grant}" does not use "${key}"`, `it is for ${names}`, { on: 'key' })
  }
  const needs = NEEDED[grant]
  if (needs !== undefined && readValue(oauth, needs.key) === undefined)
    add('', `grant "${grant}" needs "${needs.key}"`, needs.hint)
  if (readText(oauth, 'account') === 'caller' && grant !== 'code' && !DELEGATED.includes(grant))
    add('account', `grant "${grant}" is for the gateway's account only`, 'remove "account"')
}

function checkBrowserLogins(oauth: object, add: AddFinding): void {
  if (readText(oauth, 'account') !== 'caller' || getGrant(oauth) !== 'code') return
  const message = 'callers with tokens get no login link, as their browser cannot be identified'
  add('account', message, 'add oauth.person, the identity provider of their tokens', { severity: 'warning' })
}

/** Without `issuer` the upstream chooses the destination for secrets. */
function checkIssuer(oauth: object, add: AddFinding): void {
  if (readText(oauth, 'issuer') !== undefined || readText(oauth, 'client', 'issuer') !== undefined) return
  const server = 'any authorization server that this server names'
  if (getGrant(oauth) === 'exchange' && readValue(oauth, 'identityProvider') === undefined)
    add(
      '',
      `callers' tokens would be sent to ${server}`,
      'add "issuer", the only one that may get them, or "identityProvider"',
    )
  else if (readText(oauth, 'client', 'secret') !== undefined)
    add('client', `the secret is sent to ${server}`, 'add "issuer", the only one that may get it', {
      on: 'key',
      severity: 'warning',
    })
}

/** An unauthenticated caller cannot have its own login. External plugins may authenticate callers in their own way. */
function checkCallers(config: unknown, oauth: object, add: AddFinding): void {
  if (Object.keys(readMap(config, 'plugins')).length > 0) return
  const grant = getGrant(oauth)
  const isExchanged = DELEGATED.includes(grant) && readValue(oauth, 'subject', 'file') === undefined
  if (isExchanged && readValue(config, 'auth', 'jwt') === undefined)
    add('', `grant "${grant}" exchanges the caller's token, which requires "auth.jwt"`, 'add auth.jwt, or subject.file')
  else if (readText(oauth, 'account') === 'caller' && readValue(config, 'auth') === undefined)
    add('account', 'without "auth" callers are not identified', 'add "auth", or set account to "gateway"')
}
