import type { RequestOptions } from '../api/gateway.ts'
import type { Log } from '../api/index.ts'
import { errorEntry, GatewayError, gatewayError } from '../errors/errors.ts'
import { isObject, type JsonObject } from '../protocol/json/json.ts'
import { RPC } from '../protocol/rpc-error.ts'

/** The first segment of every path. A gateway that breaks what is below it serves another one. */
export const VERSION = 'v1'
/** Most bytes of the body of a request. */
export const MAX_REQUEST = 4 * 1024 * 1024
/** Most bytes of an answer, or of one line of a stream. */
export const MAX_ANSWER = 32 * 1024 * 1024
/** The type of a stream: one JSON value a line. */
export const STREAM = 'application/x-ndjson'

/** Answer of `GET /v1`. */
export interface About {
  readonly name: string
  readonly version: string
  readonly pid: number
  /** The configuration file; absent when the configuration came as a value. */
  readonly config?: string
}

/** Dependencies of a control socket: the gateway that it steers. */
export interface ControlHost {
  readonly about: About
  readonly log: Log
  /** Time for a request to arrive, in milliseconds. Default 5 s. */
  readonly arrivalMs?: number
  /** Time for which the reader of a stream may take nothing, in milliseconds. Default 30 s. */
  readonly unreadMs?: number
  control(verb: string, params: JsonObject, options: RequestOptions): Promise<JsonObject>
}

/** A verb with its parameters, as one HTTP request. */
export interface ControlRequest {
  readonly method: Method
  readonly path: string
  /** Absent for a GET. */
  readonly body?: JsonObject
}

type Method = 'GET' | 'POST'

interface Route {
  readonly method: Method
  readonly path: readonly string[]
  /** Parameters in the query that are no texts. */
  readonly query?: Readonly<Record<string, (text: string) => unknown>>
}

const UPSTREAM = '{upstream}'
const upstream = (method: Method, verb: string): Route => ({ method, path: ['upstreams', UPSTREAM, verb] })
const isTrue = (text: string): boolean => text === 'true' || text === ''

/** The gateway's own verbs with a path of their own. Any other verb, such as `cache.purge`, is POST `/v1/cache/purge`. */
const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['ps', { method: 'GET', path: ['ps'] }],
  ['health', { method: 'GET', path: ['health'] }],
  ['inspect', { method: 'GET', path: ['inspect'], query: { config: isTrue } }],
  ['reload', { method: 'POST', path: ['reload'] }],
  ['upstream.start', upstream('POST', 'start')],
  ['upstream.stop', upstream('POST', 'stop')],
  ['upstream.restart', upstream('POST', 'restart')],
  ['upstream.definitions', upstream('GET', 'definitions')],
  ['upstream.logs', { ...upstream('GET', 'logs'), query: { lines: Number, follow: isTrue } }],
])
/** Verbs of plugins that only read, by the last word of their names: they may be asked with GET as well. */
const READS: ReadonlySet<string> = new Set(['ls', 'list', 'status'])

/** The request that runs a verb. */
export function requestFor(verb: string, params: JsonObject): ControlRequest {
  const { method, path } = ROUTES.get(verb) ?? { method: 'POST', path: verb.split('.') }
  const segments = path.map(segment => (segment === UPSTREAM ? String(params.upstream) : segment))
  const target = `/${[VERSION, ...segments].map(encodeURIComponent).join('/')}`
  const { upstream: _, ...others } = params
  const rest = path.includes(UPSTREAM) ? others : params
  if (method === 'POST') return { method, path: target, body: rest }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) query.set(name, String(value))
  return { method, path: query.size === 0 ? target : `${target}?${query.toString()}` }
}

/** A verb to run. */
export interface RunVerb {
  readonly verb: string
  readonly params: JsonObject
}

/** A verb that was found by a path, or the methods that its path is asked with instead. */
type Found = RunVerb | { readonly verb: string; readonly allow: string }

/** Finds the verb of a request by what follows the version in its path; undefined where there can be none. */
export function verbFor(
  method: string,
  segments: readonly string[],
  query: URLSearchParams,
): Found | undefined {
  for (const [verb, route] of ROUTES)
    if (isAt(route.path, segments)) return ownVerb(verb, route, method, segments, query)
  return ROUTES.has(segments.join('.')) || segments[0] === 'upstreams'
    ? undefined
    : pluginVerb(method, segments, query)
}

function ownVerb(
  verb: string,
  { method: allow, path, query: types }: Route,
  method: string,
  segments: readonly string[],
  query: URLSearchParams,
): Found {
  if (method !== allow) return { verb, allow }
  const named = path.includes(UPSTREAM) ? { upstream: segments[1] } : {}
  return { verb, params: { ...paramsIn(query, types), ...named } }
}

function pluginVerb(method: string, segments: readonly string[], query: URLSearchParams): Found {
  const verb = segments.join('.')
  const allow = READS.has(segments.at(-1) ?? '') ? ['GET', 'POST'] : ['POST']
  return allow.includes(method) ? { verb, params: paramsIn(query) } : { verb, allow: allow.join(', ') }
}

function isAt(path: readonly string[], segments: readonly string[]): boolean {
  return (
    path.length === segments.length &&
    path.every((segment, index) => segment === UPSTREAM || segment === segments[index])
  )
}

function paramsIn(query: URLSearchParams, types: Route['query'] = {}): JsonObject {
  return Object.fromEntries([...query].map(([name, text]) => [name, types[name]?.(text) ?? text]))
}

/** An error of a table as it goes over the socket, so that the other side can say it in the same words. */
export function wireError({ code, message, detail, hint, entry, fields }: GatewayError): JsonObject {
  const { cause: _, ...others } = fields
  return { code, message, hint, exit: entry.exit, fields: plain({ ...others, detail }) }
}

/** The HTTP status of an error: what the caller did wrong is 4xx. */
export function statusOf({ entry, code }: GatewayError): number {
  if (entry.rpc === RPC.methodNotFound || code === 'GW_UPSTREAM_UNKNOWN') return 404
  if (entry.rpc === RPC.invalidParams) return 400
  return entry.http ?? (entry.exit === 3 ? 422 : 500)
}

/** The error of an answer. One of a plugin that is not here says itself what it means; anything else becomes a GW_CONTROL with its text. */
export function readError(error: unknown, socket: string): GatewayError {
  const { code, fields: given, message, hint, exit } = isObject(error) ? error : ({} as JsonObject)
  const fields = isObject(given) ? given : {}
  const own = errorEntry(code)
  if (typeof code === 'string' && own !== undefined) return new GatewayError(code, fields, own)
  const text = String(message ?? 'it says no, and not why')
  if (typeof code !== 'string' || typeof hint !== 'string')
    return gatewayError('GW_CONTROL', { socket, why: text })
  return new GatewayError(code, fields, { text, hint, ...(typeof exit === 'number' ? { exit } : {}) })
}

/** Fields that survive the way: what JSON cannot say is left out. */
function plain(fields: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(fields)) as JsonObject
  } catch {
    return {}
  }
}
