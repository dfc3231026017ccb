import type { HttpReply, HttpRequest } from '../../src/plugin.ts'
import type { Admission, Reader } from './admission.ts'
import { answer, errorReply, failure, type Hide, jsonReply, readBody, type Routes } from './api.ts'
import type { Browsers } from './browsers.ts'
import { serveFile } from './files.ts'
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
