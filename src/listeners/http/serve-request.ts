import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { HttpReply, HttpRequest, Principal } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { ANONYMOUS, STRANGER } from '../../plugin.ts'
import { UNCOUNTED_BYTES, createHold } from '../../net/backlog.ts'
import { OVERLOADED } from '../client/inbound-request.ts'
import { convertException, parseChoices } from '../client/client-protocol.ts'
import {
  createCredentials,
  authenticateRequest,
  getPath,
  readBody,
  refuseUnread,
  checkRequest,
  readHeaders,
} from './http-request.ts'
import { createRefusal, sendJson, sendNothing, sendRefusal } from './response.ts'
import type { Arrival, HttpContext } from './http-context.ts'
import type { ListenerEndpoint, EndpointKind } from './listener-settings.ts'
import { handleDelete, handleGet, handlePost } from './mcp/endpoint.ts'
import type { Refusal, RequestHeaders } from './http-request.ts'
import { openEventStream, handleMessagePost } from './sse.ts'

type EndpointHandler = (arrival: Arrival) => Promise<void> | void

const HANDLERS: Readonly<Record<EndpointKind, ReadonlyMap<string, EndpointHandler>>> = {
  mcp: mapMethods({ GET: handleGet, POST: handlePost, DELETE: handleDelete }),
  sse: mapMethods({ GET: openEventStream }),
  messages: mapMethods({ POST: handleMessagePost }),
  ws: mapMethods({ GET: sendUpgradeRequired }),
  live: mapMethods({ GET: sendLiveness, HEAD: sendLiveness }),
  ready: mapMethods({ GET: sendReadiness, HEAD: sendReadiness }),
}

function mapMethods(handlers: Readonly<Record<string, EndpointHandler>>): ReadonlyMap<string, EndpointHandler> {
  return new Map(Object.entries(handlers))
}

const ALLOW = 'GET, POST, DELETE, OPTIONS'
const HEADER_NAMES = /^[\w\s,-]*$/
const PREFLIGHT_HEADERS = { 'access-control-allow-methods': ALLOW, 'access-control-max-age': '600' }

/** Checks a request and routes it to its endpoint. */
export async function serveRequest(
  context: HttpContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', ignore)
  const { settings } = context
  const headers = readHeaders(request.rawHeaders, settings.names, settings.profile)
  headers.socket = request.socket
  const path = getPath(request.url ?? '/')
  const arrival: Arrival = {
    context,
    request,
    response,
    headers,
    path,
    endpoint: settings.endpoints.get(path),
  }
  const refused = checkRequest(request, headers, settings) ?? checkAdmission(arrival)
  if (refused !== undefined) {
    context.gate.reportRefusal(refused, createCredentials(context, request))
    return refuseUnread(arrival, refused)
  }
  if (headers.own.origin !== undefined) setCorsHeaders(headers.own.origin, response)
  try {
    const caller = authenticateArrival(arrival)
    await admitCaller(arrival, caller instanceof Promise ? await caller : caller)
  } catch (thrown) {
    const { error, status } = convertException(thrown, context.log)
    if (response.headersSent) response.destroy()
    else sendRefusal(response, { error, status })
  }
}

/** Runs the `admit` hooks; probes always pass. */
function checkAdmission({ context, response, path, endpoint }: Arrival): Refusal | undefined {
  if (isProbe(endpoint)) return undefined
  const refusal = context.gate.admit(context.name, path)
  if (refusal !== 'close') return refusal
  response.shouldKeepAlive = false
  return undefined
}

function isProbe(endpoint: ListenerEndpoint | undefined): boolean {
  return endpoint?.kind === 'live' || endpoint?.kind === 'ready'
}

/** Preflights carry no credentials, and liveness is public. */
function authenticateArrival({ context, request, headers, endpoint }: Arrival): ReturnType<typeof authenticateRequest> {
  if (request.method === 'OPTIONS' || endpoint?.kind === 'live') return ANONYMOUS
  return endpoint?.kind === 'ready'
    ? authenticateProbe(context, request)
    : authenticateRequest(context, request, headers)
}

/** Authenticates a readiness probe. Unknown callers get only the status, not the upstreams. */
async function authenticateProbe(context: HttpContext, request: IncomingMessage): Promise<Principal> {
  const caller = await context.gate.authenticate({ ...createCredentials(context, request), isOptional: true })
  if ('status' in caller) return STRANGER
  return caller === ANONYMOUS && !isLocal(request.socket.remoteAddress) ? STRANGER : caller
}

function isLocal(address = ''): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

function admitCaller(arrival: Arrival, caller: Principal | Refusal): Promise<void> | void {
  if ('status' in caller) return refuseUnread(arrival, caller)
  arrival.headers.caller = caller
  const isRefused = arrival.context.memory.isFull && !isProbe(arrival.endpoint)
  return isRefused ? refuseUnread(arrival, OVERLOADED) : routeArrival(arrival)
}

// The `close` event handles disconnects.
function ignore(): void {}

/** Allows the origin's pages to read the answer. */
function setCorsHeaders(origin: string, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, Retry-After, WWW-Authenticate')
  response.setHeader('vary', 'Origin')
}

function routeArrival(arrival: Arrival): Promise<void> | void {
  const { request, headers, endpoint } = arrival
  const { method = '' } = request
  // Preflights are unauthenticated.
  if (method === 'OPTIONS') return handlePreflight(arrival)
  if (endpoint === undefined) return servePath(arrival) ?? sendNotFound(arrival)
  if (endpoint.profile !== undefined) headers.profile = endpoint.profile
  headers.choices = parseChoices(request.url)
  const handle = HANDLERS[endpoint.kind].get(method) ?? sendMethodNotAllowed
  return handle(arrival)
}

function sendUpgradeRequired({ request, response }: Arrival): void {
  request.resume()
  const refused = createRefusal(426, 'Upgrade required: this is a WebSocket endpoint')
  sendRefusal(response, { ...refused, headers: { upgrade: 'websocket', connection: 'upgrade' } })
}

function sendLiveness({ request, response }: Arrival): void {
  request.resume()
  sendJson(response, 200, '{"status":"alive"}')
}

/** Sends names, states and codes only, as reasons may leak details. */
function sendReadiness({ context, request, response, headers: { caller } }: Arrival): void {
  request.resume()
  const readiness = context.gate.readiness(caller)
  const isReady = readiness.ready && !context.isStopping
  if (isUnknownCaller(caller)) return sendJson(response, isReady ? 200 : 503, JSON.stringify({ ready: isReady }))
  const { upstreams, health } = readiness
  const states = Object.fromEntries(Object.entries(upstreams).map(([name, { state }]) => [name, { state }]))
  const { level } = health
  const findings = health.findings.map(({ code, level, upstream }) => ({ code, level, upstream }))
  const body = { ready: isReady, upstreams: states, ...(level === 'ok' ? {} : { level, findings }) }
  sendJson(response, isReady ? 200 : 503, JSON.stringify(body))
}

/** True for unauthenticated callers, including those a plugin admits without identity. */
function isUnknownCaller({ issuer, subject }: Principal): boolean {
  return issuer === STRANGER.issuer && subject === STRANGER.subject
}

function sendNotFound({ context, request, response }: Arrival): void {
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

function sendMethodNotAllowed({ request, response, endpoint }: Arrival): void {
  request.resume()
  const methods = endpoint === undefined ? [] : HANDLERS[endpoint.kind].keys()
  const allow = [...methods, 'OPTIONS'].join(', ')
  sendRefusal(response, { ...createRefusal(405, 'Method not allowed'), headers: { allow } })
}

/** Answers a preflight. The origin was checked; any header is allowed, as tools may define their own. */
function handlePreflight({ request, response, headers }: Arrival): void {
  request.resume()
  if (headers.own.origin === undefined) return sendNothing(response, 204, { allow: ALLOW })
  sendNothing(response, 204, { ...PREFLIGHT_HEADERS, ...createAllowHeaders(headers) })
}

function createAllowHeaders({ own }: RequestHeaders): Record<string, string> {
  const requestedHeaders = own['access-control-request-headers']
  return requestedHeaders !== undefined && HEADER_NAMES.test(requestedHeaders)
    ? { 'access-control-allow-headers': requestedHeaders }
    : {}
}

/** Answers on a plugin path; undefined if no plugin serves it. */
function servePath(arrival: Arrival): Promise<void> | undefined {
  const request = createHttpRequest(arrival)
  const answer = arrival.context.gate.serve(request)
  return answer?.then(async reply => {
    if (reply?.replicaId === undefined || !(await forwardToOwner(arrival, reply.replicaId, request)))
      await (reply?.status === 404 && reply.body === undefined ? sendNotFound(arrival) : sendReply(arrival, reply))
  })
}

/** Forwards to the owning process, which authenticates the caller. */
async function forwardToOwner(arrival: Arrival, replicaId: string, request: HttpRequest): Promise<boolean> {
  const { forward } = arrival.context
  return forward !== undefined && forward(arrival, replicaId, await request.body())
}

function createHttpRequest(arrival: Arrival): HttpRequest {
  const { context, request, response, headers, path } = arrival
  const read = async (): Promise<Buffer> => {
    const body = await readBody(arrival)
    if (body === 'too large') throw gatewayError('GW_TOO_LARGE', { what: 'the body', limit: context.settings.maxBody })
    if (body === 'no room') throw gatewayError('GW_OVERLOADED')
    if (body === 'gone') throw gatewayError('GW_CANCELLED')
    return body
  }
  let reading: Promise<Buffer> | undefined
  return {
    ...createCredentials(context, request),
    path,
    query: new URLSearchParams((request.url ?? '/').split('?').slice(1).join('?')),
    caller: headers.caller,
    gate: context.gate,
    label: headers.label,
    profile: headers.profile,
    forwardHeaders: headers.passed,
    body: () => (reading ??= read()),
    onDisconnect: listener =>
      void response.on('close', () => {
        if (!response.writableFinished) listener()
      }),
  }
}

async function sendReply({ context, request, response }: Arrival, reply: HttpReply | undefined): Promise<void> {
  request.resume()
  if (response.destroyed) return
  if (reply === undefined) {
    const text = { error: 'method_not_allowed', message: `${request.method ?? ''} is not allowed here` }
    return sendJson(response, 405, JSON.stringify(text))
  }
  const { status, headers, body = '' } = reply
  const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
  if (isWhole && body.length > UNCOUNTED_BYTES) createHold(response, context.memory).set(body.length)
  response.writeHead(status, { 'cache-control': 'no-store', ...headers })
  if (isWhole) response.end(body)
  else
    await pipeline(body, response).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
    })
}
