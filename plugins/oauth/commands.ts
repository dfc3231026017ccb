import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CommandCall, JsonObject, PluginCommands, PluginApi } from '../../src/plugin.ts'
import {
  formatDuration,
  gatewayError,
  GatewayError,
  getErrorMessage,
  isObject,
  parseDuration,
  toOneLine,
} from '../../src/plugin.ts'
import { oauthError } from './errors.ts'

type AskGateway = PluginApi['control']

const HOST = '127.0.0.1'
const PATH = '/oauth/callback'
/** Time for the browser to load its page before connections are closed. */
const CLOSE_TIMEOUT_MS = 1000

/** Page texts; they include nothing from the request. */
const PAGES = {
  granted: 'You are logged in. You can close this page.',
  failed: 'The login failed; see the terminal. You can close this page.',
  strange: 'This login was not started here.',
} as const

/** Handles a callback URL; resolves to true if the login succeeded, undefined if it belongs to no login here. */
type CallbackHandler = (url: URL) => Promise<boolean> | undefined

/** The local callback server. */
interface LoopbackServer {
  readonly redirectUri: string
  /** Resolves when the browser has loaded its page. */
  close(): Promise<void>
}

/** Listens on loopback only (RFC 8252, section 7.3). Any page may send a callback. */
async function openLoopback(port: number, onCallback: CallbackHandler): Promise<LoopbackServer> {
  let redirectUri = ''
  // Every start loads this file; HTTP is needed only for a login.
  const { createServer } = process.getBuiltinModule('node:http')
  const server = createServer({ maxHeaderSize: 32 * 1024, requestTimeout: 10_000 }, (request, response) => {
    const url = parseCallback(request, redirectUri)
    if (url === undefined) return sendPage(response, 404, 'strange')
    const outcome = onCallback(url)
    if (outcome === undefined) return sendPage(response, 400, 'strange')
    void outcome.then(isGranted => sendPage(response, isGranted ? 200 : 400, isGranted ? 'granted' : 'failed'))
  })
  server.maxConnections = 16
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: HOST, port, exclusive: true }, resolve)
  })
  redirectUri = `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`
  const closeServer = (): Promise<void> =>
    new Promise(resolve => {
      server.close(() => resolve())
      setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS).unref()
      server.closeIdleConnections()
    })
  return { redirectUri, close: closeServer }
}

/** Parses the callback; a wrong host may be DNS rebinding. */
function parseCallback({ method, url = '', headers: { host } }: IncomingMessage, redirectUri: string): URL | undefined {
  if (method !== 'GET' || !url.startsWith('/')) return undefined
  const expected = new URL(redirectUri)
  const callbackUrl = URL.parse(url, expected.href)
  return host === expected.host && callbackUrl?.origin === expected.origin && callbackUrl.pathname === PATH
    ? callbackUrl
    : undefined
}

function sendPage(response: ServerResponse, status: number, page: keyof typeof PAGES): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    connection: 'close',
  })
  response.end(`<!doctype html><meta charset="utf-8"><title>tapgate</title><p>${PAGES[page]}</p>\n`)
}

const MAX_MS = 600_000
const INTERRUPTED = 130

/** Logs in from the terminal; returns the exit code. */
async function login(ask: AskGateway, call: CommandCall): Promise<number> {
  const { args, out } = call
  const stop = new AbortController()
  const timer = setTimeout(
    () => stop.abort(oauthError('GW_LOGIN_TIMEOUT', { upstream: args.upstream })),
    parseTimeout(call),
  )
  const forget = call.onInterrupt(() => stop.abort(INTERRUPTED))
  try {
    const login = await loginByBrowser(ask, call, stop.signal)
    const scopes = formatText(login.scopes)
    call.print(login, () => [
      `logged in to ${String(args.upstream)}${scopes === '-' ? '' : `: ${scopes}`}`,
      ...(login.keptIn === undefined ? [] : [out.paint('dim', `stored in ${formatText(login.keptIn)}`)]),
    ])
    return 0
  } catch (error) {
    if (error === INTERRUPTED) return INTERRUPTED
    throw error
  } finally {
    forget()
    clearTimeout(timer)
  }
}

/** Resolves with the stored login. Rejects with the signal's reason, or why the login failed. */
async function loginByBrowser(ask: AskGateway, call: CommandCall, signal: AbortSignal): Promise<JsonObject> {
  const finished = Promise.withResolvers<JsonObject>()
  // A failure before the wait must not end the process.
  finished.promise.catch(() => undefined)
  signal.addEventListener('abort', () => finished.reject(signal.reason))
  const over = new AbortController()
  let state = ''
  let isTaken = false
  const finishLogin: CallbackHandler = url => {
    if (isTaken || state === '' || url.searchParams.get('state') !== state) return undefined
    isTaken = true
    const done = ask('login.finish', { url: url.href })
    done.then(finished.resolve, finished.reject)
    return done.then(
      () => true,
      () => false,
    )
  }
  const loopback = await openLoopback(parsePort(call), finishLogin)
  try {
    const { redirectUri } = loopback
    const { upstream } = call.args
    const { account, scope: scopes } = call.flags
    const begun = await ask('login.begin', { upstream, account, scopes, redirectUri })
    state = String(begun.state)
    showLoginPage(String(begun.url), call)
    const ended = AbortSignal.any([signal, over.signal])
    void promptForAddress(call, redirectUri, ended, finishLogin).catch(finished.reject)
    return await finished.promise
  } finally {
    over.abort()
    await loopback.close()
  }
}

/** Prints the login page and opens the browser. */
function showLoginPage(url: string, call: CommandCall): void {
  const { err, flags } = call
  const isOpen = flags['no-browser'] !== true && call.openBrowser(url)
  err.line(isOpen ? 'Log in with the browser. If it did not open, use this URL:' : 'Open this URL to log in:')
  err.line(`  ${url}`)
}

/**
 * Prompts for the final address if the browser runs on another machine, until it is valid or the login has ended.
 * @throws GatewayError GW_INTERRUPTED if the user declines
 */
async function promptForAddress(
  call: CommandCall,
  redirectUri: string,
  signal: AbortSignal,
  finishLogin: CallbackHandler,
): Promise<void> {
  if (!call.canAsk) return
  const form = { properties: { address: { type: 'string' } }, required: ['address'] }
  for (;;) {
    const filled = await call.promptForm(form, signal)
    if (signal.aborted) return
    if (filled === undefined) throw gatewayError('GW_INTERRUPTED')
    const url = URL.parse(String(filled.address))
    if (url?.href.startsWith(redirectUri) === true && finishLogin(url) !== undefined) return
    call.err.line(`This is not the redirect URL of this login, which begins with ${redirectUri}?`)
  }
}

function parsePort({ flags: { port } }: CommandCall): number {
  if (port === undefined) return 0
  const number = Number(port)
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number
  throw gatewayError('GW_USAGE', { what: `--port must be a number from 1 to 65535, not ${String(port)}` })
}

function parseTimeout({ flags: { timeout } }: CommandCall): number {
  if (timeout === undefined) return MAX_MS
  try {
    return Math.min(parseDuration(String(timeout)), MAX_MS)
  } catch (error) {
    throw gatewayError('GW_USAGE', { what: `--timeout: ${getErrorMessage(error)}` })
  }
}

const HEAD = ['upstream', 'account', 'state', 'expires', 'scopes', 'issuer', 'reason']
/** A hash is recognizable by its beginning. */
const MAX_DIGEST = 16

function formatLogins({ logins }: JsonObject, { out, table }: CommandCall): string[] {
  const rows = (Array.isArray(logins) ? logins : []).filter(isObject)
  if (rows.length === 0) return ['no logins']
  const cells = rows.map(row => [
    formatText(row.upstream),
    row.caller === undefined ? formatText(row.account).slice(0, MAX_DIGEST) : formatText(row.caller),
    out.paint(row.state === 'granted' ? 'green' : 'yellow', formatText(row.state)),
    formatExpiry(row),
    ...[row.scopes, row.issuer, row.why].map(formatText),
  ])
  return table([HEAD.map(text => out.paint('dim', text)), ...cells])
}

function formatExpiry({ expiresAt, renews }: JsonObject): string {
  if (renews === true) return 'auto-renewed'
  if (typeof expiresAt !== 'number') return '-'
  const ms = expiresAt - Date.now()
  return ms <= 0 ? 'expired' : `in ${formatDuration(ms)}`
}

/** Formats one text or several. */
function formatText(value: unknown): string {
  const text = Array.isArray(value) ? value.join(' ') : value
  return typeof text === 'string' && text !== '' ? toOneLine(text) : '-'
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
      'Exit codes: 0 granted, 7 refused, failed or timed out.',
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
      const { removed, revoked } = result
      const outcome = removed === 0 ? 'not logged in to' : 'logged out of'
      call.print(result, () => [`${outcome} ${String(call.args.upstream)}${revoked === true ? ', and revoked' : ''}`])
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
