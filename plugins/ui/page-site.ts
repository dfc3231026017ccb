import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { HttpReply, HttpRequest } from '../../src/plugin.ts'
import type { PageAccess, PageUser } from './page-access.ts'
import type { HideSecrets, ApiRoutes } from './api.ts'
import { answerRequest, errorReply, toErrorReply, jsonReply, readBody } from './api.ts'
import type { Browsers } from './browser-sessions.ts'
import type { SessionInfo, LoginReply, PagePart } from './types.ts'

interface PageSiteDeps {
  /** Page path without a trailing slash. */
  readonly path: string
  readonly admission: PageAccess
  readonly browsers: Browsers
  readonly routes: ApiRoutes
  readonly parts: readonly PagePart[]
  readonly hide: HideSecrets
  /** Replica name, in a cluster. */
  readonly replica: (() => string) | undefined
  /** Configuration environment, if one is set. */
  readonly env: () => Promise<string | undefined>
}

/** Serves the page and its API. */
export class PageSite {
  readonly #deps: PageSiteDeps

  constructor(deps: PageSiteDeps) {
    this.#deps = deps
  }

  /** Paths are compared with known names and never read from disk. */
  async serve(request: HttpRequest): Promise<HttpReply> {
    const { path } = this.#deps
    if (request.path === path) {
      if (request.method !== 'GET') return { status: 405, headers: { allow: 'GET' } }
      // Relative, so that it works behind a proxy prefix.
      return { status: 308, headers: { location: `${path.split('/').at(-1) ?? ''}/` } }
    }
    const name = request.path.slice(path.length + 1)
    if (name.startsWith('api/')) return this.#serveApi(name.slice('api/'.length), request)
    return serveFile(name === '' ? 'index.html' : name, request)
  }

  async #serveApi(name: string, request: HttpRequest): Promise<HttpReply> {
    const { admission, hide, routes } = this.#deps
    const routeKey = `${request.method} ${name}`
    if (routeKey === 'POST session') return this.#logIn(request)
    const user = await admission.identify(request)
    if ('status' in user) return errorReply(user.status, user.why)
    if (routeKey === 'GET session') return jsonReply(await this.#describeUser(request, user), hide)
    if (routeKey === 'POST logout') return this.#logOut(user)
    const route = Object.hasOwn(routes, routeKey) ? routes[routeKey] : undefined
    if (route !== undefined) return answerRequest(route, { http: request, user }, hide)
    const allow = ['GET', 'POST'].find(method => Object.hasOwn(routes, `${method} ${name}`))
    if (allow === undefined) return errorReply(404, 'not found')
    const refused = errorReply(405, `method not allowed: use ${allow}`)
    return { ...refused, headers: { ...refused.headers, allow } }
  }

  async #logIn(request: HttpRequest): Promise<HttpReply> {
    const { admission, browsers, hide } = this.#deps
    try {
      const { token } = await readBody({ body: { token: 'string?' } }, request)
      const opened = admission.logIn(request, token)
      if ('status' in opened) return errorReply(opened.status, opened.why)
      const isSecure = request.endpoint.startsWith('https:')
      const cookie = browsers.formatCookie(opened, admission.sessionMs, isSecure)
      return addCookie(jsonReply({ key: opened.key } satisfies LoginReply, hide), cookie)
    } catch (error) {
      return toErrorReply(error, hide)
    }
  }

  #logOut({ browser }: PageUser): HttpReply {
    const { browsers, hide } = this.#deps
    if (browser !== undefined) browsers.closeSession(browser)
    return addCookie(jsonReply({ isOut: true }, hide), browsers.formatCookie({ cookie: '' }, 0, false))
  }

  async #describeUser({ gate }: HttpRequest, { principal, canAct, isOwner }: PageUser): Promise<SessionInfo> {
    const { subject, issuer } = principal
    const { parts, replica, env } = this.#deps
    const place = { replica: replica?.(), env: await env() }
    return { subject, issuer, acts: canAct, isOwner, gateway: gate.info, parts, ...place }
  }
}

function addCookie(reply: HttpReply, cookie: string): HttpReply {
  return { ...reply, headers: { ...reply.headers, 'set-cookie': cookie } }
}

/** Only own scripts and resources; no framing. */
const PAGE_HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding, origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

interface PageFile {
  readonly text: string
  readonly compressed: Buffer
  readonly etag: string
  readonly type: string
}

let files: Promise<ReadonlyMap<string, PageFile>> | undefined

/** Serves a page file; all files are public and loaded on first use. */
export async function serveFile(name: string, { method, header }: HttpRequest): Promise<HttpReply> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  files ??= loadFiles()
  const file = (await files).get(name)
  if (file === undefined) return { status: 404, headers: PAGE_HEADERS, body: 'not found' }
  const headers = { ...PAGE_HEADERS, 'content-type': file.type, etag: file.etag }
  if (header('if-none-match').includes(file.etag)) return { status: 304, headers }
  const isPacked = /\bgzip\b/.test(header('accept-encoding').join(','))
  const body = isPacked ? file.compressed : file.text
  const length = String(Buffer.byteLength(body))
  return {
    status: 200,
    headers: { ...headers, 'content-length': length, ...(isPacked ? { 'content-encoding': 'gzip' } : {}) },
    body: method === 'HEAD' ? '' : body,
  }
}

async function loadFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const { FILES } = await import('./page-files.gen.ts')
  return new Map(Object.entries<string>(FILES).map(([name, text]) => [name, createPageFile(name, text)]))
}

function createPageFile(name: string, text: string): PageFile {
  return {
    text,
    compressed: gzipSync(text),
    etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    type: MIME_TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain; charset=utf-8',
  }
}
