import type { AskGateway, CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { formatDuration, gatewayError, GatewayError, isObject, toOneLine } from '../../src/plugin.ts'

const HEAD = ['upstream', 'account', 'state', 'expires', 'scopes', 'issuer']
/** A hash is recognizable by its beginning. */
const MAX_DIGEST = 16

function formatLogins(
  { logins }: JsonObject,
  { out, table }: Pick<CommandCall, 'out' | 'table'>,
  now = Date.now(),
): string[] {
  const rows = (Array.isArray(logins) ? logins : []).filter(isObject)
  if (rows.length === 0) return ['no logins']
  const head = HEAD.map(text => out.paint('dim', text))
  const lines = table([head, ...rows.map(row => formatCells(row, out, now))])
  const whys = rows.flatMap(({ upstream, why }) =>
    typeof why === 'string' ? [out.paint('dim', `${formatText(upstream)}: ${toOneLine(why)}`)] : [],
  )
  return [...lines, ...whys]
}

function formatLogout({ upstream, removed, revoked }: JsonObject): string {
  if (removed === 0) return `not logged in to ${formatText(upstream)}`
  const revocation = revoked === true ? ', and revoked' : ''
  return `logged out of ${formatText(upstream)}${revocation}`
}

function formatCells(row: JsonObject, out: CommandCall['out'], now: number): string[] {
  const { upstream, account, caller, state, expiresAt, renews, scopes, issuer } = row
  return [
    formatText(upstream),
    typeof caller === 'string' ? formatText(caller) : formatText(account).slice(0, MAX_DIGEST),
    out.paint(state === 'granted' ? 'green' : 'yellow', formatText(state)),
    formatExpiry(expiresAt, renews === true, now),
    Array.isArray(scopes) && scopes.length > 0 ? toOneLine(scopes.join(' ')) : '-',
    formatText(issuer),
  ]
}

function formatExpiry(expiresAt: unknown, renews: boolean, now: number): string {
  if (renews) return 'auto-renewed'
  if (typeof expiresAt !== 'number') return '-'
  return expiresAt <= now ? 'expired' : `in ${formatDuration(expiresAt - now)}`
}

function formatText(value: unknown): string {
  return typeof value === 'string' && value !== '' ? toOneLine(value) : '-'
}

const UPSTREAM = {
  upstream: { required: true, description: 'Name of the server in the configuration.' },
}

const ACCOUNT = {
  value: '<account>',
  summary: 'Account: "gateway", or a caller as "key:<name>" or "<issuer> <subject>". Default: gateway.',
}

/** Commands for logins, with a running gateway or without. */
export const commands: PluginCommands = {
  login: {
    summary: 'Log in to a server with OAuth, for all callers or one of them.',
    description: [
      'Opens the browser, or prints the URL. After the login the browser returns to this machine;',
      'if it cannot, paste its final address here.',
      'Exit codes: 0 granted, 1 refused or declined, 2 timed out.',
    ].join(' '),
    examples: ['gateway login github', 'gateway login github --no-browser --port 8976'],
    args: UPSTREAM,
    gateway: 'any',
    flags: {
      account: ACCOUNT,
      scope: { value: '<scope>', multiple: true, summary: 'Additional scope to request; repeatable.' },
      'no-browser': { type: 'boolean', summary: 'Only print the URL.' },
      port: { value: '<port>', summary: 'Port of the redirect URI. Default: any.' },
      timeout: { value: '<time>', summary: 'Maximum time to wait, up to 10m. Default: 10m.' },
    },
    async run(call) {
      const { login } = await import('./commands/login.ts')
      return runWithLogins(call, ask => login(ask, call))
    },
  },
  logout: {
    summary: 'Log out of a server, and revoke the tokens.',
    examples: ['gateway logout github', 'gateway logout github --account key:ci'],
    args: UPSTREAM,
    gateway: 'any',
    flags: { account: ACCOUNT },
    async run(call) {
      const { account } = call.flags
      const result = await runWithLogins(call, ask => ask('login.logout', { upstream: call.args.upstream, account }))
      call.print(result, () => [formatLogout(result)])
    },
  },
  logins: {
    summary: 'List logins with account, server, scopes and expiry.',
    examples: ['gateway logins', 'gateway logins --json'],
    gateway: 'any',
    async run(call) {
      const listed = await runWithLogins(call, ask => ask('login.list'))
      call.print(listed, () => formatLogins(listed, call))
    },
  },
}

/** Explains how to enable OAuth if no upstream uses it. */
async function runWithLogins<T>(call: CommandCall, use: (ask: AskGateway) => Promise<T>): Promise<T> {
  try {
    return await call.withGateway('unstarted', use)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'GW_VERB_UNKNOWN') throw error
    throw gatewayError('GW_USAGE', {
      what: 'no server uses OAuth: add "oauth: {}" to one under "upstreams:"',
    })
  }
}
