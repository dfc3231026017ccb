import type { Report } from '../../src/plugin.ts'
import { readList, readMap, appendPointer, readText, readValue } from '../../src/plugin.ts'

/** Keys that only some grants use. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  assertionFile: ['workload'],
  audience: ['exchange'],
  identityProvider: ['exchange', 'id-jag'],
  subject: ['exchange', 'id-jag'],
}

/** Checks combinations: keys and grants, callers and their authentication, tokens and headers. */
export function checkOAuth(config: unknown, report: Report): void {
  checkPerson(config, report)
  const upstreams = readMap(config, 'upstreams')
  const hasListeners = Object.keys(readMap(config, 'listeners')).length > 0
  for (const name of Object.keys(upstreams)) {
    const oauth = readValue(upstreams, name, 'oauth')
    if (typeof oauth !== 'object' || oauth === null) continue
    const pointer = appendPointer(appendPointer('/upstreams', name), 'oauth')
    checkAddress(readMap(upstreams, name), pointer, report)
    checkGrant(oauth, pointer, report)
    // Changes by plugins are checked without other sections.
    if (hasListeners) checkCallers(config, oauth, pointer, report)
    checkIssuer(oauth, pointer, report)
  }
}

/** Callers with tokens must log in at their tokens' issuer, so that `iss` and `sub` match. */
function checkPerson(config: unknown, report: Report): void {
  const issuer = readText(config, 'oauth', 'person', 'issuer')
  const issuers = readList(config, 'auth', 'jwt').map(one => readText(one, 'issuer'))
  if (issuer !== undefined && !issuers.includes(issuer))
    report({
      pointer: '/oauth/person/issuer',
      message: 'no caller has a token of this issuer',
      hint: 'use an issuer of "auth.jwt", exactly',
    })
  if (issuer !== undefined || issuers.length === 0) return
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const oauth = readValue(upstreams, name, 'oauth')
    if (readText(oauth, 'account') !== 'caller' || (readText(oauth, 'grant') ?? 'code') !== 'code') continue
    report({
      pointer: `${appendPointer('/upstreams', name)}/oauth/account`,
      message: 'callers with tokens get no login link, as their browser cannot be identified',
      hint: 'add oauth.person, the identity provider of their tokens',
      severity: 'warning',
    })
  }
}

/** The login precedes reading the document, and a document must not choose the token destination. */
function checkAddress(upstream: object, pointer: string, report: Report): void {
  if (readText(upstream, 'type') !== 'openapi' || readValue(upstream, 'server') !== undefined) return
  report({
    pointer,
    on: 'key',
    message: '"server" is missing, so the API that the tokens are for is unknown',
    hint: 'add "server", the base URL of the API',
  })
}

function checkGrant(oauth: object, pointer: string, report: Report): void {
  const grant = readText(oauth, 'grant') ?? 'code'
  for (const [key, grants] of Object.entries(ONLY_FOR))
    if (readValue(oauth, key) !== undefined && !grants.includes(grant))
      report({
        pointer: `${pointer}/${key}`,
        on: 'key',
        message: `grant "${grant}" does not use "${key}"`,
        hint: `it is for ${grants.map(one => `"${one}"`).join(' and ')}`,
      })
  const needs = NEEDED[grant]
  if (needs !== undefined && readValue(oauth, needs.key) === undefined)
    report({ pointer, message: `grant "${grant}" needs "${needs.key}"`, hint: needs.hint })
  if (readText(oauth, 'account') === 'caller' && grant !== 'code' && !DELEGATED.includes(grant))
    report({
      pointer: `${pointer}/account`,
      message: `grant "${grant}" is for the gateway's account only`,
      hint: 'remove "account"',
    })
}

const DELEGATED = ['exchange', 'id-jag']

const NEEDED: Readonly<Record<string, { readonly key: string; readonly hint: string }>> = {
  'client-credentials': { key: 'client', hint: 'add client: { id, secret }, or { id, keyFile }' },
  workload: { key: 'assertionFile', hint: 'add the file with the token of this workload' },
  exchange: { key: 'client', hint: 'add client: { id, secret } for the token exchange' },
  'id-jag': { key: 'identityProvider', hint: 'add identityProvider: { issuer, client }' },
}

/** Without `issuer` the upstream chooses the destination for secrets. */
function checkIssuer(oauth: object, pointer: string, report: Report): void {
  if (readText(oauth, 'issuer') !== undefined || readText(oauth, 'client', 'issuer') !== undefined) return
  if (readText(oauth, 'grant') === 'exchange' && readValue(oauth, 'identityProvider') === undefined)
    report({
      pointer,
      message: "callers' tokens would be sent to any authorization server that this server names",
      hint: 'add "issuer", the only one that may get them, or "identityProvider"',
    })
  else if (readText(oauth, 'client', 'secret') !== undefined)
    report({
      pointer: `${pointer}/client`,
      on: 'key',
      message: 'the secret is sent to any authorization server that this server names',
      hint: 'add "issuer", the only one that may get it',
      severity: 'warning',
    })
}

/** An unauthenticated caller cannot have its own login. */
function checkCallers(config: unknown, oauth: object, pointer: string, report: Report): void {
  const grant = readText(oauth, 'grant') ?? 'code'
  const isExchanged = DELEGATED.includes(grant) && readValue(oauth, 'subject', 'file') === undefined
  if (readText(oauth, 'account') !== 'caller' && !isExchanged) return
  if (isExchanged && readValue(config, 'auth', 'jwt') === undefined && !hasPlugins(config))
    report({
      pointer,
      message: `grant "${grant}" exchanges the caller's token, which requires "auth.jwt"`,
      hint: 'add auth.jwt, or subject.file',
    })
  else if (readValue(config, 'auth') === undefined && !hasPlugins(config))
    report({
      pointer: `${pointer}/account`,
      message: 'without "auth" callers are not identified',
      hint: 'add "auth", or set account to "gateway"',
    })
}

/** External plugins may authenticate callers in their own way. */
function hasPlugins(config: unknown): boolean {
  return Object.keys(readMap(config, 'plugins')).length > 0
}
