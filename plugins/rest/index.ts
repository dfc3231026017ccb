import {
  isKnown,
  listAt,
  mapAt,
  textAt,
  type Config,
  type HttpReply,
  type HttpRequest,
  type Plugin,
} from '../../src/plugin.ts'
import { callTool } from './call.ts'
import { openApi } from './openapi.ts'
import { problem } from './problem.ts'
import { REST_SESSIONS, type RestRequest, type RestSessions } from './road.ts'
import { listTools } from './tools.ts'

type Handler = (request: RestRequest, sessions: RestSessions) => Promise<HttpReply>

/** Pages that are served, below the path and below each profile. */
const ROUTES: readonly { readonly path: string; readonly method: string; readonly handle: Handler }[] = [
  { path: '/tools', method: 'GET', handle: listTools },
  { path: '/tools/call', method: 'POST', handle: callTool },
  { path: '/openapi.json', method: 'GET', handle: openApi },
]

/** Tools over plain HTTP: each request is a session of its own on the same pipeline as MCP. */
export const rest: Plugin<NonNullable<Config['rest']>> = {
  name: 'rest',
  claims: { section: 'rest' },
  check(config, report) {
    const listeners = mapAt(config, 'listeners')
    const names = Object.keys(listeners).filter(name => textAt(listeners, name, 'type') === 'http')
    listAt(config, 'rest', 'listeners').forEach((name, i) =>
      isKnown(name, { what: 'HTTP listener', names }, `/rest/listeners/${i}`, report),
    )
  },
  setup({ config, options, hooks, clock }) {
    const served = options.listeners === undefined ? undefined : new Set(options.listeners)
    const sessions = REST_SESSIONS(clock)
    for (const profile of [undefined, ...Object.keys(config.profiles ?? {})]) {
      const base = profile === undefined ? options.path : `${options.path}/${profile}`
      for (const { path, method, handle } of ROUTES)
        hooks.http.for(base + path).tap(http => {
          if (served?.has(http.listener) === false) return problem(404, 'Nothing is served here')
          if (http.method !== method) return notAllowed(method, http)
          return handle({ http, profile, base }, sessions)
        })
    }
  },
}

function notAllowed(allow: string, { method }: HttpRequest): HttpReply {
  const refused = problem(405, `${method} is not answered here`)
  return { ...refused, headers: { ...refused.headers, allow } }
}
