import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

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
export async function openLoopback(
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
