import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { HttpReply, HttpRequest } from '../../src/plugin.ts'
import type { Admission, Reader } from './admission.ts'
import type { Hide, Routes } from './api.ts'
import { answer, errorReply, failure, jsonReply, readBody } from './api.ts'
import type { Browsers } from './browsers.ts'
import type { Me, Opened, Part } from './types.ts'

interface Deps {
  /** Path of the page, without a slash at its end. */
  readonly path: string
  readonly admission: Admission
  readonly browsers: Browsers
  readonly routes: Routes
  readonly parts: readonly Part[]
  readonly hide: Hide
  /** Name of this replica, if there are several. */
  readonly replica: (() => string) | undefined
}

/** The page and its API: every request below its path comes here. */
export class Site {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** A path is one of a few names, compared as it was sent: it is never looked up in a directory. */
  async serve(request: HttpRequest): Promise<HttpReply> {
    const { path } = this.#deps
    if (request.path === path) {
      if (request.method !== 'GET') return { status: 405, headers: { allow: 'GET' } }
      // Relative, so that it holds whatever a proxy has put before it.
      return { status: 308, headers: { location: `${path.split('/').at(-1) ?? ''}/` } }
    }
    const name = request.path.slice(path.length + 1)
    if (name.startsWith('api/')) return this.#serveApi(name.slice('api/'.length), request)
    return serveFile(name === '' ? 'index.html' : name, request)
  }

  async #serveApi(name: string, request: HttpRequest): Promise<HttpReply> {
    const { admission, hide, routes } = this.#deps
    const asked = `${request.method} ${name}`
    if (asked === 'POST session') return this.#logIn(request)
    const reader = await admission.reader(request)
    if ('status' in reader) return errorReply(reader.status, reader.why)
    if (asked === 'GET session') return jsonReply(this.#describe(request, reader), hide)
    if (asked === 'POST logout') return this.#logOut(reader)
    const route = Object.hasOwn(routes, asked) ? routes[asked] : undefined
    if (route !== undefined) return answer(route, { http: request, reader }, hide)
    const allow = ['GET', 'POST'].find(method => Object.hasOwn(routes, `${method} ${name}`))
    if (allow === undefined) return errorReply(404, 'there is no such thing here')
    const refused = errorReply(405, `this is asked with ${allow}`)
    return { ...refused, headers: { ...refused.headers, allow } }
  }

  async #logIn(request: HttpRequest): Promise<HttpReply> {
    const { admission, browsers, hide } = this.#deps
    try {
      const { token } = await readBody({ body: { token: 'string?' } }, request)
      const opened = admission.open(request, token)
      if ('status' in opened) return errorReply(opened.status, opened.why)
      const isSecure = request.endpoint.startsWith('https:')
      const cookie = browsers.cookieFor(opened, admission.sessionMs, isSecure)
      return withCookie(jsonReply({ key: opened.key } satisfies Opened, hide), cookie)
    } catch (error) {
      return failure(error, hide)
    }
  }

  #logOut({ browser }: Reader): HttpReply {
    const { browsers, hide } = this.#deps
    if (browser !== undefined) browsers.close(browser)
    return withCookie(jsonReply({ isOut: true }, hide), browsers.cookieFor({ cookie: '' }, 0, false))
  }

  #describe({ gate }: HttpRequest, { principal, acts, isOwner }: Reader): Me {
    const { subject, issuer } = principal
    const replica = this.#deps.replica?.()
    const me = { subject, issuer, acts, isOwner, gateway: gate.info, parts: this.#deps.parts }
    return replica === undefined ? me : { ...me, replica }
  }
}

function withCookie(reply: HttpReply, cookie: string): HttpReply {
  return { ...reply, headers: { ...reply.headers, 'set-cookie': cookie } }
}

/** Nothing of the page comes from elsewhere, nothing of it runs that is no file of ours, and it stands in no frame. */
const HEADERS = {
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

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

interface File {
  readonly text: string
  readonly packed: Buffer
  readonly etag: string
  readonly type: string
}

let files: Promise<ReadonlyMap<string, File>> | undefined

/** The files of the page. There is nothing in them that anybody may not know; the first who asks has them loaded. */
export async function serveFile(name: string, { method, header }: HttpRequest): Promise<HttpReply> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  files ??= load()
  const file = (await files).get(name)
  if (file === undefined) return { status: 404, headers: HEADERS, body: 'not found' }
  const headers = { ...HEADERS, 'content-type': file.type, etag: file.etag }
  if (header('if-none-match').includes(file.etag)) return { status: 304, headers }
  const isPacked = /\bgzip\b/.test(header('accept-encoding').join(','))
  const body = isPacked ? file.packed : file.text
  const length = String(Buffer.byteLength(body))
  return {
    status: 200,
    headers: { ...headers, 'content-length': length, ...(isPacked ? { 'content-encoding': 'gzip' } : {}) },
    body: method === 'HEAD' ? '' : body,
  }
}

async function load(): Promise<ReadonlyMap<string, File>> {
  const { FILES } = await import('./page-files.gen.ts')
  return new Map(Object.entries<string>(FILES).map(([name, text]) => [name, fileOf(name, text)]))
}

function fileOf(name: string, text: string): File {
  return {
    text,
    packed: gzipSync(text),
    etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    type: TYPES[name.split('.').at(-1) ?? ''] ?? 'text/plain; charset=utf-8',
  }
}
