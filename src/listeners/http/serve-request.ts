import type { Principal } from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { clientKey } from '../../transport/held-bytes.ts'
import { thrownAnswer } from '../client/encode-answer.ts'
import type { Arrival } from './arrival.ts'
import { credentialsOf, identify, isPromise, pathOf } from './authenticate.ts'
import { swallow } from './body/read-body.ts'
import type { HttpContext } from './context.ts'
import { end, get, post } from './mcp/endpoint.ts'
import type { PlaceKind } from './paths.ts'
import { servePath } from './plugin-routes.ts'
import { type Refusal, guardRequest, refusal } from './request-guard.ts'
import { type RequestHeaders, readHeaders } from './request-headers.ts'
import { sendJson, sendNothing, sendRefusal } from './response.ts'
import { openEventStream, takeMessage } from './sse/sse-endpoint.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

type Handler = (arrival: Arrival) => Promise<void> | void

const HANDLERS: Readonly<Record<PlaceKind, ReadonlyMap<string, Handler>>> = {
  mcp: new Map<string, Handler>([
    ['GET', get],
    ['POST', post],
    ['DELETE', end],
    ['OPTIONS', options],
  ]),
  sse: new Map<string, Handler>([
    ['GET', openEventStream],
    ['OPTIONS', options],
  ]),
  messages: new Map<string, Handler>([
    ['POST', takeMessage],
    ['OPTIONS', options],
  ]),
  ws: new Map<string, Handler>([['GET', upgradeRequired]]),
  live: new Map<string, Handler>([
    ['GET', sendLife],
    ['HEAD', sendLife],
    ['OPTIONS', options],
  ]),
  ready: new Map<string, Handler>([
    ['GET', sendReadiness],
    ['HEAD', sendReadiness],
    ['OPTIONS', options],
  ]),
}
const ALLOW = 'GET, POST, DELETE, OPTIONS'
const HEADER_NAMES = /^[\w\s,-]*$/
const OF_PREFLIGHT = { 'access-control-allow-methods': ALLOW, 'access-control-max-age': '600' }

/** Guards a request and hands it to who answers it. */
export async function serveRequest(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', ignore)
  const headers = readHeaders(request.rawHeaders, context.settings.names, context.settings.profile)
  const refused = guardRequest(request, headers, context.settings) ?? admitted(context, request, response)
  if (refused !== undefined) {
    context.gate.refused(refused, credentialsOf(context, request))
    swallow(request, context.settings.maxBody)
    return sendRefusal(response, refused)
  }
  if (headers.own.origin !== undefined) shareWith(headers.own.origin, response)
  try {
    const caller = callerOf(context, request, headers)
    await (isPromise(caller)
      ? caller.then(known => admit({ context, request, response, headers }, known))
      : admit({ context, request, response, headers }, caller))
  } catch (thrown) {
    const { error, status } = thrownAnswer(thrown, context.log)
    if (response.headersSent) response.destroy()
    else sendRefusal(response, { error, status })
  }
}

/** Whether it may come in at all now; a probe always may. */
function admitted(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): Refusal | undefined {
  const kind = context.settings.places.get(pathOf(request.url ?? '/'))?.kind
  if (kind === 'live' || kind === 'ready') return undefined
  const found = context.gate.admit(context.name)
  if (found !== 'close') return found
  response.shouldKeepAlive = false
  return undefined
}

/** A preflight carries no credentials, and whether we live is no secret. */
function callerOf(
  context: HttpContext,
  request: IncomingMessage,
  headers: RequestHeaders,
): ReturnType<typeof identify> {
  const kind = context.settings.places.get(pathOf(request.url ?? '/'))?.kind
  if (request.method === 'OPTIONS' || kind === 'live') return ANONYMOUS
  return kind === 'ready' ? prober(context, request) : identify(context, request, headers)
}

/** Whether we can serve is for everybody to know; whose servers we have, for who may use them. */
async function prober(context: HttpContext, request: IncomingMessage): Promise<Principal> {
  const caller = await context.gate.authenticate({ ...credentialsOf(context, request), isOptional: true })
  if ('status' in caller) return STRANGER
  return caller === ANONYMOUS && !isLocal(request.socket.remoteAddress) ? STRANGER : caller
}

/** Somebody of whom nothing is known. */
const STRANGER: Principal = Object.freeze({ ...ANONYMOUS, issuer: 'http' })

function isLocal(address = ''): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

function admit(arrival: Arrival, caller: Principal | Refusal): Promise<void> | void {
  if ('status' in caller) {
    swallow(arrival.request, arrival.context.settings.maxBody)
    return sendRefusal(arrival.response, caller)
  }
  arrival.headers.caller = caller
  if (isBehind(arrival, caller)) {
    swallow(arrival.request, arrival.context.settings.maxBody)
    return sendRefusal(arrival.response, BEHIND)
  }
  return route(arrival)
}

/** Whoever leaves much unread is not given more to read. */
function isBehind({ context: { unread }, request }: Arrival, caller: Principal): boolean {
  return unread.bytes > 0 && unread.isBehind(clientKey(caller, request.socket.remoteAddress))
}

const BEHIND: Refusal = {
  ...refusal(
    429,
    'Too much that was written for you is not read yet; read it, or try again later',
    RPC.internal,
  ),
  headers: { 'retry-after': '1' },
}

// A reader that went away is seen by the `close` that follows.
function ignore(): void {}

/** Lets the page of an allowed origin read the answer. */
function shareWith(origin: string, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, Retry-After, WWW-Authenticate')
  response.setHeader('vary', 'Origin')
}

function route(arrival: Arrival): Promise<void> | void {
  const { context, request, headers } = arrival
  const path = pathOf(request.url ?? '/')
  const place = context.settings.places.get(path)
  if (place === undefined) return routeOther(arrival, path)
  if (place.profile !== undefined) headers.profile = place.profile
  const handlers = HANDLERS[place.kind]
  const handler = handlers.get(request.method ?? '')
  return handler === undefined ? notAllowed(arrival, [...handlers.keys()].join(', ')) : handler(arrival)
}

function upgradeRequired({ request, response }: Arrival): void {
  request.resume()
  const refused = refusal(426, 'Upgrade required: this is a WebSocket endpoint')
  sendRefusal(response, { ...refused, headers: { upgrade: 'websocket', connection: 'upgrade' } })
}

function routeOther(arrival: Arrival, path: string): Promise<void> | void {
  // Nobody was asked who sends it.
  if (arrival.request.method === 'OPTIONS') return options(arrival)
  return servePath(arrival, path) ?? notFound(arrival)
}

function sendLife({ request, response }: Arrival): void {
  request.resume()
  sendJson(response, 200, '{"status":"alive"}')
}

/** Names and states only: why something is down may tell too much. */
function sendReadiness({ context, request, response, headers: { caller } }: Arrival): void {
  request.resume()
  const { ready, upstreams } = context.gate.readiness(caller)
  const isReady = ready && !context.isStopping
  if (isStranger(caller)) return sendJson(response, isReady ? 200 : 503, JSON.stringify({ ready: isReady }))
  const states = Object.fromEntries(Object.entries(upstreams).map(([name, { state }]) => [name, { state }]))
  sendJson(response, isReady ? 200 : 503, JSON.stringify({ ready: isReady, upstreams: states }))
}

/** Also whoever a plugin lets in without knowing who it is. */
function isStranger({ issuer, subject }: Principal): boolean {
  return issuer === STRANGER.issuer && subject === STRANGER.subject
}

function notFound({ context, request, response }: Arrival): void {
  request.resume()
  sendJson(
    response,
    404,
    JSON.stringify({
      error: 'not_found',
      message: `Not found; the MCP endpoint is ${context.settings.path}`,
    }),
  )
}

function notAllowed({ request, response }: Arrival, allow: string): void {
  request.resume()
  sendRefusal(response, { ...refusal(405, 'Method not allowed'), headers: { allow } })
}

/** A preflight. The guard has let the origin pass, and what headers a tool wants nobody knows beforehand. */
function options({ request, response, headers }: Arrival): void {
  request.resume()
  if (headers.own.origin === undefined) return sendNothing(response, 204, { allow: ALLOW })
  sendNothing(response, 204, { ...OF_PREFLIGHT, ...allowedHeaders(headers) })
}

function allowedHeaders({ own }: RequestHeaders): Record<string, string> {
  const wanted = own['access-control-request-headers']
  return wanted !== undefined && HEADER_NAMES.test(wanted) ? { 'access-control-allow-headers': wanted } : {}
}
