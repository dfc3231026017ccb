import { durationText, isObject, oneLine, type CommandCall, type JsonObject } from '../../../src/plugin.ts'

const HEAD = ['upstream', 'account', 'state', 'ends', 'scopes', 'issuer']
/** A digest is told from others by its beginning. */
const MAX_DIGEST = 16

/** Logins as people read them. */
export function loginLines(
  { logins }: JsonObject,
  { out, table }: Pick<CommandCall, 'out' | 'table'>,
  now = Date.now(),
): string[] {
  const rows = (Array.isArray(logins) ? logins : []).filter(isObject)
  if (rows.length === 0) return ['no logins']
  const head = HEAD.map(text => out.paint('dim', text))
  const lines = table([head, ...rows.map(row => cells(row, out, now))])
  const whys = rows.flatMap(({ upstream, why }) =>
    typeof why === 'string' ? [out.paint('dim', `${textOf(upstream)}: ${oneLine(why)}`)] : [],
  )
  return [...lines, ...whys]
}

/** `logged out of github` */
export function logoutLine({ upstream, removed, revoked }: JsonObject): string {
  if (removed === 0) return `nobody was logged in to ${textOf(upstream)}`
  const told = revoked === true ? ', and the authorization server knows' : ''
  return `logged out of ${textOf(upstream)}${told}`
}

function cells(row: JsonObject, out: CommandCall['out'], now: number): string[] {
  const { upstream, account, caller, state, expiresAt, renews, scopes, issuer } = row
  return [
    textOf(upstream),
    typeof caller === 'string' ? textOf(caller) : textOf(account).slice(0, MAX_DIGEST),
    out.paint(state === 'granted' ? 'green' : 'yellow', textOf(state)),
    endText(expiresAt, renews === true, now),
    Array.isArray(scopes) && scopes.length > 0 ? oneLine(scopes.join(' ')) : '-',
    textOf(issuer),
  ]
}

function endText(expiresAt: unknown, renews: boolean, now: number): string {
  if (renews) return 'is renewed'
  if (typeof expiresAt !== 'number') return '-'
  return expiresAt <= now ? 'over' : `in ${durationText(expiresAt - now)}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? oneLine(value) : '-'
}
