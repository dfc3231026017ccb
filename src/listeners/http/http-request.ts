import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Choices, Credentials, Principal, Refusal, ClientCertificate, Gate } from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import { HEADER } from '../../protocol/methods.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import type { AddressedSocket, RequestOrigin } from '../client/inbound-request.ts'
import type { HeaderNames, HttpSettings } from './listener-settings.ts'
import type { MemoryBudget, MemoryShare } from '../../net/backlog.ts'
import { UNCOUNTED_BYTES, createHold } from '../../net/backlog.ts'
import { OVERLOADED } from '../client/inbound-request.ts'
import { createRefusal, sendRefusal } from './response.ts'

/** Parsed request headers with lower-case names, and the caller. */
export interface RequestHeaders {
  /** ANONYMOUS until authenticated. */
  caller: Principal
  /** Undefined until authenticated. */
  credentials: Credentials | undefined
  /** Read by this listener, never passed on. */
  readonly own: Readonly<Record<string, string | undefined>>
  /** Passed on with the request; holds no credentials. */
  readonly passed: Readonly<Record<string, string>>
  /** Session label from the client. */
  readonly label: string | undefined
  /** Profile from the path. */
  profile: string | undefined
  /** Choices from the query; undefined until authenticated. */
  choices: Choices | undefined
  /** Name of a header that must be unique and is not. */
  readonly repeated: string | undefined
  socket: AddressedSocket | undefined
}

const OWN = new Set([
  'host',
  'origin',
  'authorization',
  'accept',
  'content-type',
  'content-encoding',
  'content-length',
  'transfer-encoding',
  'access-control-request-headers',
  HEADER.session,
  HEADER.lastEventId,
])
const PASSED = new Set(['x-session-id', 'x-request-id', 'traceparent', 'tracestate', 'baggage'])
/** Lists, which may span several header lines. */
const LISTS = new Set(['accept', 'access-control-request-headers', 'tracestate', 'baggage'])

/** Parses raw headers in one pass. Node's own would keep the first or join duplicates silently. */
export function readHeaders(
  raw: readonly string[],
  { label, extraPassed }: HeaderNames,
  profile?: string,
): RequestHeaders {
  const own: Record<string, string> = Object.create(null) as Record<string, string>
  const passed: Record<string, string> = Object.create(null) as Record<string, string>
  let repeated: string | undefined
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] as string).toLowerCase()
    const isOwn = OWN.has(name)
    if (!isOwn && !isPassed(name, extraPassed)) continue
    const into = isOwn ? own : passed
    const value = raw[at + 1] as string
    const before = into[name]
    if (before !== undefined && !LISTS.has(name)) repeated = name
    into[name] = before === undefined ? value : `${before}, ${value}`
    // Rules may also match headers read here, such as `Origin`.
    if (extraPassed.has(name)) passed[name] = into[name]
  }
  return {
    caller: ANONYMOUS,
    credentials: undefined,
    own,
    passed,
    label: label === undefined ? undefined : passed[label],
    profile,
    choices: undefined,
    repeated,
    socket: undefined,
  }
}

function isPassed(name: string, alsoPassed: ReadonlySet<string>): boolean {
  return name.startsWith('mcp-') || PASSED.has(name) || alsoPassed.has(name)
}

/** Per-request values override the session's: a gateway in front may multiplex clients over one session. */
export function createRequestOrigin({ passed, caller, credentials, label, socket }: RequestHeaders): RequestOrigin {
  return { via: 'http', socket, headers: passed, principal: caller, credentials, label, client: undefined }
}

export type { Refusal }

const MAX_HEADERS = 100
const LOCAL_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/
/** Labels appear in keys and logs. */
const LABEL = /^[A-Za-z0-9._-]{1,128}$/
const OTHER_CHARSET = /;\s*charset\s*=(?!\s*"?utf-?8"?\s*(;|$))/i

/** Closes the connection, as the start of the next request is uncertain. */
function addConnectionClose(refused: Refusal): Refusal {
  return { ...refused, headers: { connection: 'close' } }
}

/** Refuses ambiguous framing that proxies may parse differently. */
function checkFraming(request: IncomingMessage, { own }: RequestHeaders): Refusal | undefined {
  if (request.httpVersionMajor !== 1)
    return addConnectionClose(createRefusal(505, 'HTTP version not supported: use HTTP/1.1'))
  const coding = own['transfer-encoding']
  if (coding === undefined) return undefined
  const isChunked = coding.trim().toLowerCase() === 'chunked'
  if (isChunked && request.httpVersionMinor === 1 && own['content-length'] === undefined) return undefined
  return addConnectionClose(
    createRefusal(400, 'Invalid request: Transfer-Encoding may only be "chunked", in HTTP/1.1, without Content-Length'),
  )
}

/** Checks header count, duplicates, framing, host and origin. */
export function checkRequest(
  request: IncomingMessage,
  headers: RequestHeaders,
  settings: HttpSettings,
): Refusal | undefined {
  if (request.rawHeaders.length / 2 > MAX_HEADERS)
    return addConnectionClose(createRefusal(431, `Too many headers (limit ${MAX_HEADERS})`))
  if (headers.repeated !== undefined)
    return addConnectionClose(createRefusal(400, `Invalid request: duplicate header ${headers.repeated}`))
  return checkFraming(request, headers) ?? checkAddress(headers, settings)
}

/** Checks label, host and origin. */
function checkAddress(headers: RequestHeaders, settings: HttpSettings): Refusal | undefined {
  if (headers.label !== undefined && !LABEL.test(headers.label))
    return createRefusal(
      400,
      `Invalid request: header ${settings.names.label ?? ''} must be 1 to 128 characters of A-Z a-z 0-9 . _ -`,
    )
  const { host, origin } = headers.own
  if (!isAllowedHost(host, settings.hosts))
    return createRefusal(403, 'Forbidden: Host not allowed; see listeners.<name>.allowedHosts')
  if (origin !== undefined && !isAllowedOrigin(origin, host, settings.origins)) {
    return createRefusal(403, 'Forbidden: Origin not allowed; see listeners.<name>.allowedOrigins')
  }
  return undefined
}

function isAllowedHost(host: string | undefined, ours: ReadonlySet<string>): host is string {
  if (host === undefined) return false
  const name = host.toLowerCase()
  if (ours.has(name)) return true
  const colon = name.lastIndexOf(':')
  return colon > 0 && isPort(name, colon + 1) && ours.has(name.slice(0, colon))
}

function isPort(text: string, from: number): boolean {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x30 || code > 0x39) return false
  }
  return text.length > from
}

function isAllowedOrigin(origin: string, host: string | undefined, ours: ReadonlySet<string>): boolean {
  const name = origin.toLowerCase()
  if (ours.has(name) || LOCAL_ORIGIN.test(name)) return true
  return host !== undefined && (name === `http://${host.toLowerCase()}` || name === `https://${host.toLowerCase()}`)
}

/** Checks content type, encoding and declared length before reading. */
export function checkBody(headers: RequestHeaders, maxBody: number): Refusal | undefined {
  const type = headers.own['content-type']
  if (type !== 'application/json' && !isJsonType(type))
    return createRefusal(415, 'Unsupported media type: Content-Type must be application/json')
  const encoding = headers.own['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return createRefusal(415, 'Unsupported media type: Content-Encoding is not supported')
  }
  return Number(headers.own['content-length'] ?? 0) > maxBody ? createTooLargeRefusal(maxBody) : undefined
}

function isJsonType(type: string | undefined): boolean {
  if (type === undefined) return false
  const end = type.indexOf(';')
  const media = end < 0 ? type : type.slice(0, end)
  return media.trim().toLowerCase() === 'application/json' && !OTHER_CHARSET.test(type)
}

export function createTooLargeRefusal(maxBody: number): Refusal {
  return createRefusal(413, `Body is larger than ${maxBody} bytes`)
}

export function createTooManyRefusal(limit: 'all' | 'own'): Refusal {
  const full =
    limit === 'all'
      ? createRefusal(503, 'Too many sessions; try again later', RPC.internal)
      : createRefusal(429, 'Too many sessions for this caller; close one, or try again later', RPC.internal)
  return { ...full, headers: { 'retry-after': '30' } }
}

/** Cached per connection, as the handshake runs once. */
const certificates = new WeakMap<Socket, ClientCertificate | undefined>()

/** Returns a connection's verified client certificate. */
export function readClientCertificate(socket: Socket): ClientCertificate | undefined {
  if (certificates.has(socket)) return certificates.get(socket)
  if (!isSecure(socket)) return undefined
  const peerCertificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  const certificate = peerCertificate === undefined ? undefined : describeCertificate(peerCertificate)
  certificates.set(socket, certificate)
  return certificate
}

/** Sets the client certificate of a request that a peer forwarded. */
export function setCertificate(socket: Socket, certificate: ClientCertificate | undefined): void {
  certificates.set(socket, certificate)
}

function isSecure(socket: Socket): socket is Socket & Pick<TLSSocket, 'authorized' | 'getPeerX509Certificate'> {
  return 'authorized' in socket
}

function describeCertificate({ issuer, subject, fingerprint256, validTo }: X509Certificate): ClientCertificate {
  return {
    issuer: formatDistinguishedName(issuer),
    subject: formatDistinguishedName(subject),
    fingerprint: fingerprint256,
    expiresAt: Date.parse(validTo),
  }
}

/** Converts Node's multi-line distinguished name to RFC 2253 order. */
function formatDistinguishedName(lines: string | undefined): string {
  return (lines ?? '').split('\n').reverse().join(',')
}

export type AuthResult = Principal | Refusal

interface ReachedListener {
  readonly name: string
  readonly endpoint: string
}

/** Authenticates a request; synchronous if no plugin taps `authenticate`. */
export function authenticateRequest(
  context: ReachedListener & { readonly gate: Gate },
  request: IncomingMessage,
  headers: RequestHeaders,
): AuthResult | Promise<AuthResult> {
  headers.credentials = createCredentials(context, request)
  return context.gate.authenticate(headers.credentials)
}

/** Collects request facts for plugins before the body is read. */
export function createCredentials({ name, endpoint }: ReachedListener, request: IncomingMessage): Credentials {
  const { rawHeaders, socket, method = 'GET', url = '/' } = request
  return {
    listener: name,
    method,
    path: getPath(url),
    endpoint,
    remoteAddress: socket.remoteAddress,
    certificate: readClientCertificate(socket),
    header: name => getHeaderValues(rawHeaders, name.toLowerCase()),
  }
}

/** Hot path: called for each header that a plugin reads, so it compares lengths first. */
function getHeaderValues(raw: readonly string[], lowerCaseName: string): readonly string[] {
  let values: string[] | undefined
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] as string
    if (name.length === lowerCaseName.length && (name === lowerCaseName || name.toLowerCase() === lowerCaseName))
      (values ??= []).push(raw[at + 1] as string)
  }
  return values ?? NO_VALUES
}

const NO_VALUES: readonly string[] = Object.freeze([])

export function getPath(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

/** Bytes discarded of a refused body, in multiples of `limits.body`, so that its sender can read the refusal. */
const MAX_DISCARDED_BODIES = 8

interface UnreadRequest {
  readonly context: { readonly settings: { readonly maxBody: number } }
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface BodyRequest extends UnreadRequest {
  readonly context: UnreadRequest['context'] & { readonly memory: MemoryBudget }
  readonly headers: Pick<RequestHeaders, 'own'>
}

/** `no room`: the listener holds too many bytes. */
type BodyFailure = 'too large' | 'no room' | 'gone'

export function createBodyRefusal(unread: Exclude<BodyFailure, 'gone'>, max: number): Refusal {
  return unread === 'too large' ? createTooLargeRefusal(max) : OVERLOADED
}

/** Reads a body up to `limits.body`. Large bodies count as held until answered. */
export function readBody(owner: BodyRequest): Promise<Buffer | BodyFailure> {
  const { context, request, response, headers } = owner
  const { maxBody } = context.settings
  return new Promise(resolve => {
    let hold: MemoryShare | undefined
    let chunks: Buffer[] = []
    let length = 0
    const stopReading = (failure: BodyFailure): void => {
      request.off('data', onData)
      chunks = []
      hold?.release()
      discardBody(owner)
      resolve(failure)
    }
    const claimBytes = (bytes: number): boolean => {
      if (bytes > maxBody) stopReading('too large')
      else if (bytes > UNCOUNTED_BYTES && !(hold ??= createHold(response, context.memory)).claim(bytes))
        stopReading('no room')
      else return true
      return false
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (claimBytes(Math.max(length, hold?.bytes ?? 0))) chunks.push(chunk)
    }
    if (!claimBytes(Number(headers.own['content-length'] ?? 0))) return
    request.on('data', onData)
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    // Follows any error.
    request.on('close', () => resolve('gone'))
  })
}

/** Refuses a request and discards its body. */
export function refuseUnread(unwanted: UnreadRequest, refused: Refusal): void {
  discardBody(unwanted)
  sendRefusal(unwanted.response, refused)
}

/** Discards a body up to a limit: an immediate close could lose the refusal. */
function discardBody({ context, request }: Pick<UnreadRequest, 'context' | 'request'>): void {
  const maxBytes = context.settings.maxBody * MAX_DISCARDED_BODIES
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > maxBytes) request.destroy()
  })
}
