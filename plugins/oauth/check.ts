import { mapAt, pointerTo, textAt, valueAt, type Report } from '../../src/plugin.ts'

/** Keys that only some grants read. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  assertionFile: ['workload'],
  audience: ['exchange'],
  identityProvider: ['exchange', 'id-jag'],
  subject: ['exchange', 'id-jag'],
}

/** Looks at what belongs together: keys and grants, callers and their authentication, a token and a header. */
export function check(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const oauth = valueAt(upstreams, name, 'oauth')
    if (typeof oauth !== 'object' || oauth === null) continue
    const pointer = pointerTo(pointerTo('/upstreams', name), 'oauth')
    checkGrant(oauth, pointer, report)
    checkCallers(config, oauth, pointer, report)
    checkIssuer(oauth, pointer, report)
    checkHeaders(
      mapAt(upstreams, name, 'headers'),
      pointerTo(pointerTo('/upstreams', name), 'headers'),
      report,
    )
  }
}

function checkGrant(oauth: object, pointer: string, report: Report): void {
  const grant = textAt(oauth, 'grant') ?? 'code'
  for (const [key, grants] of Object.entries(ONLY_FOR))
    if (valueAt(oauth, key) !== undefined && !grants.includes(grant))
      report({
        pointer: `${pointer}/${key}`,
        on: 'key',
        message: `grant "${grant}" does not read "${key}"`,
        hint: `it belongs to ${grants.map(one => `"${one}"`).join(' and ')}`,
      })
  const needs = NEEDED[grant]
  if (needs !== undefined && valueAt(oauth, needs.key) === undefined)
    report({ pointer, message: `grant "${grant}" needs "${needs.key}"`, hint: needs.hint })
  if (textAt(oauth, 'account') === 'caller' && grant !== 'code' && !DELEGATED.includes(grant))
    report({
      pointer: `${pointer}/account`,
      message: `grant "${grant}" is the gateway's own, and no caller's`,
      hint: 'leave "account" out',
    })
}

const DELEGATED = ['exchange', 'id-jag']

const NEEDED: Readonly<Record<string, { readonly key: string; readonly hint: string }>> = {
  'client-credentials': { key: 'client', hint: 'add client: { id, secret }, or { id, keyFile }' },
  workload: { key: 'assertionFile', hint: 'add the file with the token of this workload' },
  exchange: { key: 'client', hint: 'add client: { id, secret } of the gateway where tokens are exchanged' },
  'id-jag': { key: 'identityProvider', hint: 'add identityProvider: { issuer, client }' },
}

/** Without an issuer the server itself says where secrets go. */
function checkIssuer(oauth: object, pointer: string, report: Report): void {
  if (textAt(oauth, 'issuer') !== undefined || textAt(oauth, 'client', 'issuer') !== undefined) return
  if (textAt(oauth, 'grant') === 'exchange' && valueAt(oauth, 'identityProvider') === undefined)
    report({
      pointer,
      message: "callers' tokens would go to whatever authorization server this server names",
      hint: 'add "issuer", the only one that may have them, or "identityProvider"',
    })
  else if (textAt(oauth, 'client', 'secret') !== undefined)
    report({
      pointer: `${pointer}/client`,
      on: 'key',
      message: 'its secret goes to whatever authorization server this server names',
      hint: 'add "issuer", the only one that may have it',
      severity: 'warning',
    })
}

/** A caller whom nobody identified has no login of its own. */
function checkCallers(config: unknown, oauth: object, pointer: string, report: Report): void {
  const grant = textAt(oauth, 'grant') ?? 'code'
  const isExchanged = DELEGATED.includes(grant) && valueAt(oauth, 'subject', 'file') === undefined
  if (textAt(oauth, 'account') !== 'caller' && !isExchanged) return
  if (isExchanged && valueAt(config, 'auth', 'jwt') === undefined && !hasPlugins(config))
    report({
      pointer,
      message: `grant "${grant}" exchanges the caller's token, and no caller has one without "auth.jwt"`,
      hint: 'add auth.jwt, or subject.file',
    })
  else if (valueAt(config, 'auth') === undefined && !hasPlugins(config))
    report({
      pointer: `${pointer}/account`,
      message: 'without "auth" nobody knows who a caller is',
      hint: 'add auth, or let account be "gateway"',
    })
}

/** A plugin from elsewhere may authenticate callers in its own way. */
function hasPlugins(config: unknown): boolean {
  return Object.keys(mapAt(config, 'plugins')).length > 0
}

function checkHeaders(headers: object, pointer: string, report: Report): void {
  const name = Object.keys(headers).find(header => header.toLowerCase() === 'authorization')
  if (name === undefined) return
  report({
    pointer: pointerTo(pointer, name),
    message: 'the token of "oauth" takes the place of this header',
    hint: 'take one of them out',
    severity: 'warning',
  })
}
