import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AskGateway, CommandCall, JsonObject } from '../../../src/plugin.ts'
import { gatewayError, GatewayError, toOneLine, parseDuration, getErrorMessage } from '../../../src/plugin.ts'

const HOST = '127.0.0.1'
const PATH = '/oauth/callback'
/** Time in which the browser must have taken its page. */
const LAST_WORDS_MS = 1000

/** Words for the browser. They say nothing that came with the request. */
const PAGES = {
  granted: 'You are logged in. You can close this page.',
  failed: 'The login failed; the terminal says why. You can close this page.',
  strange: 'This is not the login that was begun here.',
} as const

/** The address on this machine that a browser comes back to. */
interface Loopback {
  readonly redirectUri: string
  /** Resolves when the browser has its page. */
  close(): Promise<void>
}

/**
 * Waits for the browser on loopback alone (RFC 8252, 7.3). `came` gets each callback with its whole address and says whether it was
 * the login, once it is known; undefined: it was none of this login, and somebody else's page may have sent it.
 */
async function openLoopback(
  port: number,
  came: (url: URL) => Promise<boolean> | undefined,
): Promise<Loopback> {
  let redirectUri = ''
  const server = createServer({ maxHeaderSize: 32 * 1024, requestTimeout: 10_000 }, (request, response) => {
    const url = callbackOf(request, redirectUri)
    if (url === undefined) return send(response, 404, 'strange')
    const outcome = came(url)
    if (outcome === undefined) return send(response, 400, 'strange')
    void outcome.then(isGranted => send(response, isGranted ? 200 : 400, isGranted ? 'granted' : 'failed'))
  })
  server.maxConnections = 16
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: HOST, port, exclusive: true }, resolve)
  })
  redirectUri = `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`
  const close = (): Promise<void> =>
    new Promise(resolve => {
      const late = setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS)
      server.close(() => {
        clearTimeout(late)
        resolve()
      })
      server.closeIdleConnections()
    })
  return { redirectUri, close }
}

/** The address of a request that is the browser's way back; another name of this machine is a trick of somebody else's page. */
function callbackOf(
  { method, url = '', headers: { host } }: IncomingMessage,
  redirectUri: string,
): URL | undefined {
  if (method !== 'GET' || !url.startsWith('/')) return undefined
  const expected = new URL(redirectUri)
  const found = URL.parse(url, expected.href)
  return host === expected.host && found?.origin === expected.origin && found.pathname === PATH
    ? found
    : undefined
}

function send(response: ServerResponse, status: number, page: keyof typeof PAGES): void {
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

/** Codes of a login that came to no good end; whatever else fails is a mistake of the configuration or of ours. */
const REFUSALS: ReadonlySet<string> = new Set(['GW_LOGIN_FAILED', 'GW_LOGIN_UNKNOWN', 'GW_LOGIN_BUSY'])

/** Outcome of a login, for whoever waits at the terminal. */
type Outcome =
  | { readonly kind: 'granted'; readonly login: JsonObject }
  | { readonly kind: 'refused'; readonly error: GatewayError }
  | { readonly kind: 'late' }
  | { readonly kind: 'interrupted' }

/** Logs in at the terminal, and gives the exit code. */
export async function login(ask: AskGateway, call: CommandCall): Promise<number> {
  const waitMs = waitOf(call)
  const interrupted = new AbortController()
  const forget = call.onInterrupt(() => interrupted.abort())
  try {
    const outcome =
      call.flags.device === true
        ? await byDevice(ask, call, waitMs, interrupted.signal)
        : await byBrowser(ask, call, waitMs, interrupted.signal)
    return told(outcome, call)
  } catch (error) {
    if (error instanceof GatewayError && REFUSALS.has(error.code))
      return told({ kind: 'refused', error }, call)
    throw error
  } finally {
    forget()
  }
}

async function byBrowser(
  ask: AskGateway,
  call: CommandCall,
  waitMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const finished = Promise.withResolvers<Outcome>()
  const over = new AbortController()
  let state = ''
  let isTaken = false
  const finish = async (url: URL): Promise<boolean> => {
    const outcome = await finishedBy(ask, url)
    finished.resolve(outcome)
    return outcome.kind === 'granted'
  }
  const loopback = await openLoopback(portOf(call), url => {
    if (isTaken || state === '' || url.searchParams.get('state') !== state) return undefined
    isTaken = true
    return finish(url)
  })
  try {
    const { redirectUri } = loopback
    const begun = await ask('login.begin', { ...paramsOf(call), redirectUri })
    state = String(begun.state)
    show(String(begun.url), call)
    const place = { redirectUri, state, signal: AbortSignal.any([signal, over.signal]) }
    void pasted(call, place, url => {
      if (isTaken) return
      isTaken = true
      if (url === undefined) finished.resolve(refusedOf(gatewayError('GW_INTERRUPTED')))
      else void finish(url)
    })
    return await ended(finished.promise, waitMs, signal)
  } finally {
    over.abort()
    await loopback.close()
  }
}

/** A code that is typed in on another machine (RFC 8628). */
async function byDevice(
  ask: AskGateway,
  call: CommandCall,
  waitMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const begun = await ask('login.device', paramsOf(call))
  const { url, code } = begun
  call.err.line(`On any machine, open ${call.err.paint('bold', toOneLine(String(url)))}`)
  call.err.line(`and type in ${call.err.paint('bold', toOneLine(String(code)))}`)
  const granted = ask('login.device.wait', { handle: begun.handle }).then(
    (login): Outcome => ({ kind: 'granted', login }),
    refusedOf,
  )
  return ended(granted, waitMs, signal)
}

async function finishedBy(ask: AskGateway, url: URL): Promise<Outcome> {
  try {
    return { kind: 'granted', login: await ask('login.finish', { url: url.href }) }
  } catch (error) {
    return refusedOf(error)
  }
}

function refusedOf(error: unknown): Outcome {
  const known = error instanceof GatewayError ? error : gatewayError('GW_INTERNAL', { cause: error })
  return { kind: 'refused', error: known }
}

/** Shows where to log in, and opens the browser of whoever sits here. */
function show(url: string, call: CommandCall): void {
  const { err, flags } = call
  const isOpen = flags['no-browser'] !== true && call.openBrowser(url)
  err.line(
    isOpen
      ? 'The browser shows where to log in. If it does not, open this page:'
      : 'Open this page to log in:',
  )
  err.line(`  ${url}`)
}

interface LoginCallback {
  readonly redirectUri: string
  readonly state: string
  /** The login is over. */
  readonly signal: AbortSignal
}

/** The address at which a browser on another machine ended, typed in by hand; undefined where that is declined. */
async function pasted(
  call: CommandCall,
  { redirectUri, state, signal }: LoginCallback,
  came: (url: URL | undefined) => void,
): Promise<void> {
  if (!call.canAsk) return
  const form = { properties: { address: { type: 'string' } }, required: ['address'] }
  for (;;) {
    const filled = await call.fillIn(form, signal)
    if (signal.aborted) return
    if (filled === undefined) return came(undefined)
    const url = URL.parse(String(filled.address))
    const isOurs = url !== null && url.href.startsWith(redirectUri) && url.searchParams.get('state') === state
    if (isOurs) return came(url)
    call.err.line(`That is not where this login ends: the address begins with ${redirectUri}?`)
  }
}

async function ended(outcome: Promise<Outcome>, waitMs: number, signal: AbortSignal): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const others = new Promise<Outcome>(resolve => {
    timer = setTimeout(() => resolve({ kind: 'late' }), waitMs)
    signal.addEventListener('abort', () => resolve({ kind: 'interrupted' }), { once: true })
  })
  try {
    return await Promise.race([outcome, others])
  } finally {
    clearTimeout(timer)
  }
}

function told(outcome: Outcome, call: CommandCall): number {
  const { upstream = '' } = call.args
  if (outcome.kind === 'granted') {
    const { scopes, keptIn } = outcome.login
    const where = typeof keptIn === 'string' ? [call.out.paint('dim', `kept in ${toOneLine(keptIn)}`)] : []
    call.print(outcome.login, () => [`logged in to ${upstream}${scopesText(scopes)}`, ...where])
    return 0
  }
  if (outcome.kind === 'interrupted') return INTERRUPTED
  const { code, message, hint } = outcome.kind === 'refused' ? outcome.error : lateError(upstream)
  if (call.flags.json === true) call.print({ error: { code, message, hint } }, () => [])
  else {
    call.err.line(`${call.err.paint('red', 'error')} ${toOneLine(message)}`)
    call.err.line(call.err.paint('dim', `  ${hint}`))
  }
  return outcome.kind === 'refused' ? REFUSED : TIMED_OUT
}

function lateError(upstream: string): Pick<GatewayError, 'code' | 'message' | 'hint'> {
  const message = `nobody logged in to upstream "${upstream}" in time`
  return { code: 'GW_LOGIN_UNKNOWN', message, hint: `Begin again with: gateway login ${upstream}` }
}

function scopesText(scopes: unknown): string {
  return Array.isArray(scopes) && scopes.length > 0 ? `: ${toOneLine(scopes.join(' '))}` : ''
}

function paramsOf({ args, flags: { account, scope } }: CommandCall): JsonObject {
  return {
    upstream: args.upstream,
    ...(account === undefined ? {} : { account }),
    ...(scope === undefined ? {} : { scopes: scope }),
  }
}

function portOf({ flags: { port } }: CommandCall): number {
  if (port === undefined) return 0
  const number = Number(port)
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number
  throw gatewayError('GW_USAGE', { what: `--port must be a number from 1 to 65535, and not ${String(port)}` })
}

function waitOf({ flags: { timeout } }: CommandCall): number {
  if (timeout === undefined) return MAX_MS
  try {
    return Math.min(parseDuration(String(timeout)), MAX_MS)
  } catch (error) {
    throw gatewayError('GW_USAGE', { what: `--timeout: ${getErrorMessage(error)}` })
  }
}
