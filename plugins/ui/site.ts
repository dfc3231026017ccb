import type { HttpReply } from '../../src/plugin.ts'
import type { Admission, Reader } from './access/admission.ts'
import type { PageRequest } from './access/page-request.ts'
import type { Browsers } from './access/browsers.ts'
import { ApiError, type Route } from './api/route.ts'
import { answer, bodyOf, errorReply, jsonReply } from './api/serve.ts'
import type { Me, Opened, Part } from './types.ts'
import { serveFile } from './files.ts'
import type { Hide } from './safe-json.ts'

/** Parts that the site is made of. */
export interface SiteParts {
  /** Path of the page, without a slash at its end. */
  readonly path: string
  readonly admission: Admission
  readonly browsers: Browsers
  readonly routes: readonly Route[]
  readonly parts: readonly Part[]
  readonly hide: Hide
  /** Name of this replica, where there may be others. */
  replica?(): string
}

/** Name where a command serves the page: that of the gateway is on the first page. */
export const NAMELESS: Me['gateway'] = { name: 'gateway', version: '' }

const OPEN: Partial<Route> = { body: { token: { type: 'string' } } }

/** The page and its API: every request below its path comes here. */
export class Site {
  readonly #parts: SiteParts
  readonly #routes: ReadonlyMap<string, Route>

  constructor(parts: SiteParts) {
    this.#parts = parts
    this.#routes = new Map(parts.routes.map(route => [`${route.method} ${route.name}`, route]))
  }

  /** A path is one of a few names, compared as it was sent: nothing is looked up in any directory. */
  async serve(request: PageRequest): Promise<HttpReply> {
    const { path } = this.#parts
    if (request.path === path) return this.#toPage(request)
    const rest = request.path.slice(path.length + 1)
    if (rest.startsWith('api/')) return this.#api(rest.slice('api/'.length), request)
    return serveFile(rest === '' ? 'index.html' : rest, request)
  }

  /** Sends a browser to the page by a path that holds whatever a proxy has put before it. */
  #toPage({ method }: PageRequest): HttpReply {
    if (method !== 'GET') return { status: 405, headers: { allow: 'GET' } }
    return { status: 308, headers: { location: `${this.#parts.path.split('/').at(-1) ?? ''}/` } }
  }

  async #api(name: string, request: PageRequest): Promise<HttpReply> {
    const { admission, hide } = this.#parts
    const { method } = request
    if (method === 'POST' && name === 'session') return this.#open(request)
    const reader = await admission.reader(request)
    if ('status' in reader) return errorReply(reader.status, reader.why)
    if (method === 'GET' && name === 'session') return jsonReply(this.#me(request, reader), hide)
    if (method === 'POST' && name === 'logout') return this.#logOut(reader)
    const route = this.#routes.get(`${method} ${name}`)
    if (route !== undefined) return answer(route, { http: request, reader }, hide)
    const other = this.#parts.routes.find(one => one.name === name)
    if (other === undefined) return errorReply(404, 'there is no such thing here')
    const refused = errorReply(405, `this is asked with ${other.method}`)
    return { ...refused, headers: { ...refused.headers, allow: other.method } }
  }

  async #open(request: PageRequest): Promise<HttpReply> {
    const { admission, browsers, hide } = this.#parts
    try {
      const { token } = await bodyOf(OPEN, request)
      const opened = await admission.open(request, token)
      if ('status' in opened) return errorReply(opened.status, opened.why)
      const reply = jsonReply({ key: opened.key } satisfies Opened, hide)
      const isSecure = request.endpoint.startsWith('https:')
      const cookie = browsers.cookieFor(opened, admission.sessionMs, isSecure)
      return { ...reply, headers: { ...reply.headers, 'set-cookie': cookie } }
    } catch (error) {
      if (error instanceof ApiError) return errorReply(error.status, error.message)
      throw error
    }
  }

  #me({ gate }: PageRequest, { principal, acts, isOwner }: Reader): Me {
    const { subject, issuer } = principal
    const replica = this.#parts.replica?.()
    return {
      ...{ subject, issuer, acts, isOwner, gateway: gate?.info ?? NAMELESS, parts: this.#parts.parts },
      ...(replica === undefined ? {} : { replica }),
    }
  }

  async #logOut({ browser }: Reader): Promise<HttpReply> {
    const { browsers, hide } = this.#parts
    if (browser !== undefined) await browsers.close(browser)
    const reply = jsonReply({ isOut: true }, hide)
    return {
      ...reply,
      headers: { ...reply.headers, 'set-cookie': browsers.cookieFor({ cookie: '' }, 0, false) },
    }
  }
}
