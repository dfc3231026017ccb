import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AskGateway, CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import {
  formatDuration,
  gatewayError,
  GatewayError,
  getErrorMessage,
  isObject,
  parseDuration,
  toOneLine,
} from '../../src/plugin.ts'

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

/** The local callback server. */
interface LoopbackServer {
  readonly redirectUri: string
  /** Resolves when the browser has loaded its page. */
  close(): Promise<void>
}

/**
 * Listens on loopback only (RFC 8252, section 7.3). `onCallback` gets each callback URL and resolves to true if the
 * login succeeded; undefined if the callback belongs to no login here, as any page may send one.
 */
async function openLoopback(
  port: number,
  onCallback: (url: URL) => Promise<boolean> | undefined,
): Promise<LoopbackServer> {
  let redirectUri = ''
  // Every start loads this file, and HTTP only if somebody logs in.
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
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      server.close(() => {
        clearTimeout(timer)
        resolve()
      })
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
const REFUSED = 1
const TIMED_OUT = 2
const INTERRUPTED = 130

/** Error codes for failed logins; all others are configuration or internal errors. */
const REFUSALS: ReadonlySet<string> = new Set(['GW_LOGIN_FAILED', 'GW_LOGIN_UNKNOWN'])

type LoginOutcome =
  | { readonly kind: 'granted'; readonly login: JsonObject }
  | { readonly kind: 'refused'; readonly error: GatewayError }
  | { readonly kind: 'late' }
  | { readonly kind: 'interrupted' }

/** Logs in from the terminal; returns the exit code. */
async function login(ask: AskGateway, call: CommandCall): Promise<number> {
  const waitMs = parseTimeout(call)
  const interrupted = new AbortController()
  const forget = call.onInterrupt(() => interrupted.abort())
  try {
    return printOutcome(await loginByBrowser(ask, call, waitMs, interrupted.signal), call)
  } catch (error) {
    if (error instanceof GatewayError && REFUSALS.has(error.code)) return printOutcome({ kind: 'refused', error }, call)
    throw error
  } finally {
    forget()
  }
}

async function loginByBrowser(
  ask: AskGateway,
  call: CommandCall,
  waitMs: number,
  signal: AbortSignal,
): Promise<LoginOutcome> {
  const finished = Promise.withResolvers<LoginOutcome>()
  const over = new AbortController()
  let state = ''
  let isTaken = false
  const finishLogin = async (url: URL): Promise<boolean> => {
    const outcome = await finishCallback(ask, url)
    finished.resolve(outcome)
    return outcome.kind === 'granted'
  }
  const loopback = await openLoopback(parsePort(call), url => {
    if (isTaken || state === '' || url.searchParams.get('state') !== state) return undefined
    isTaken = true
    return finishLogin(url)
  })
  try {
    const { redirectUri } = loopback
    const begun = await ask('login.begin', { ...createParams(call), redirectUri })
    state = String(begun.state)
    showLoginPage(String(begun.url), call)
    const target = { redirectUri, state, signal: AbortSignal.any([signal, over.signal]) }
    void promptForAddress(call, target, url => {
      if (isTaken) return
      isTaken = true
      if (url === undefined) finished.resolve(toLoginFailure(gatewayError('GW_INTERRUPTED')))
      else void finishLogin(url)
    })
    return await waitForOutcome(finished.promise, waitMs, signal)
  } finally {
    over.abort()
    await loopback.close()
  }
}

async function finishCallback(ask: AskGateway, url: URL): Promise<LoginOutcome> {
  try {
    return { kind: 'granted', login: await ask('login.finish', { url: url.href }) }
  } catch (error) {
    return toLoginFailure(error)
  }
}

function toLoginFailure(error: unknown): LoginOutcome {
  const gatewayFailure = error instanceof GatewayError ? error : gatewayError('GW_INTERNAL', { cause: error })
  return { kind: 'refused', error: gatewayFailure }
}

/** Prints the login page and opens the browser. */
function showLoginPage(url: string, call: CommandCall): void {
  const { err, flags } = call
  const isOpen = flags['no-browser'] !== true && call.openBrowser(url)
  err.line(isOpen ? 'Log in with the browser. If it did not open, use this URL:' : 'Open this URL to log in:')
  err.line(`  ${url}`)
}

interface LoginCallback {
  readonly redirectUri: string
  readonly state: string
  /** Aborted when the login has ended. */
  readonly signal: AbortSignal
}

/**
 * Prompts for the final address if the browser runs on another machine; calls back with undefined if the user
 * declines.
 */
async function promptForAddress(
  call: CommandCall,
  { redirectUri, state, signal }: LoginCallback,
  onAddress: (url: URL | undefined) => void,
): Promise<void> {
  if (!call.canAsk) return
  const form = { properties: { address: { type: 'string' } }, required: ['address'] }
  for (;;) {
    const filled = await call.promptForm(form, signal)
    if (signal.aborted) return
    if (filled === undefined) return onAddress(undefined)
    const url = URL.parse(String(filled.address))
    const isOurs = url !== null && url.href.startsWith(redirectUri) && url.searchParams.get('state') === state
    if (isOurs) return onAddress(url)
    call.err.line(`This is not the redirect URL of this login, which begins with ${redirectUri}?`)
  }
}

async function waitForOutcome(
  outcome: Promise<LoginOutcome>,
  waitMs: number,
  signal: AbortSignal,
): Promise<LoginOutcome> {
  let timer: NodeJS.Timeout | undefined
  const interruption = new Promise<LoginOutcome>(resolve => {
    timer = setTimeout(() => resolve({ kind: 'late' }), waitMs)
    signal.addEventListener('abort', () => resolve({ kind: 'interrupted' }), { once: true })
  })
  try {
    return await Promise.race([outcome, interruption])
  } finally {
    clearTimeout(timer)
  }
}

function printOutcome(outcome: LoginOutcome, call: CommandCall): number {
  const { upstream = '' } = call.args
  if (outcome.kind === 'granted') {
    const { scopes, keptIn } = outcome.login
    const location = typeof keptIn === 'string' ? [call.out.paint('dim', `stored in ${toOneLine(keptIn)}`)] : []
    call.print(outcome.login, () => [`logged in to ${upstream}${formatScopes(scopes)}`, ...location])
    return 0
  }
  if (outcome.kind === 'interrupted') return INTERRUPTED
  const { code, message, hint } = outcome.kind === 'refused' ? outcome.error : createTimeoutError(upstream)
  if (call.flags.json === true) call.print({ error: { code, message, hint } }, () => [])
  else {
    call.err.line(`${call.err.paint('red', 'error')} ${toOneLine(message)}`)
    call.err.line(call.err.paint('dim', `  ${hint}`))
  }
  return outcome.kind === 'refused' ? REFUSED : TIMED_OUT
}

function createTimeoutError(upstream: string): Pick<GatewayError, 'code' | 'message' | 'hint'> {
  const message = `login to upstream "${upstream}" timed out`
  return { code: 'GW_LOGIN_UNKNOWN', message, hint: `Retry with: gateway login ${upstream}` }
}

function formatScopes(scopes: unknown): string {
  return Array.isArray(scopes) && scopes.length > 0 ? `: ${toOneLine(scopes.join(' '))}` : ''
}

function createParams({ args, flags: { account, scope } }: CommandCall): JsonObject {
  return {
    upstream: args.upstream,
    ...(account === undefined ? {} : { account }),
    ...(scope === undefined ? {} : { scopes: scope }),
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
