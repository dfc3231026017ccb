import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate, Clock, Credentials, Gate, Principal, Refusal } from '../../api/index.ts'
import { authorizationKey } from '../../plugin.ts'
import { Ticker } from '../../util/clock.ts'
import type { RequestHeaders } from './request-guard.ts'

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

type AuthResult = Principal | Refusal

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

const RECHECK_MS = 30_000

interface OpenStream {
  readonly headers: RequestHeaders
  end(reason: string): void
}

/**
 * Long-lived responses and connections. Their callers are authenticated again every 30 s and on reload, to close
 * those with expired or revoked credentials.
 */
export class OpenStreams {
  readonly #gate: Gate
  readonly #open = new Set<OpenStream>()
  readonly #ticker: Ticker

  constructor(gate: Gate, clock: Clock) {
    this.#gate = gate
    this.#ticker = new Ticker(
      clock,
      () => RECHECK_MS,
      () => {
        this.recheck()
        return this.#open.size > 0
      },
    )
  }

  /** Registers a stream; call the returned function to remove it. `end` closes the stream. */
  add(headers: RequestHeaders, end: (reason: string) => void): () => void {
    const open: OpenStream = { headers, end }
    this.#open.add(open)
    this.#ticker.arm()
    return () => void this.#open.delete(open)
  }

  recheck(): void {
    for (const open of this.#open) void this.#check(open)
  }

  stop(): void {
    this.#ticker.stop()
    this.#open.clear()
  }

  async #check(open: OpenStream): Promise<void> {
    const { caller, credentials } = open.headers
    if (credentials === undefined) return
    const now = await this.#gate.authenticate(credentials)
    // Do not disconnect if authentication itself failed.
    const isUnsure = 'status' in now && now.status >= 500
    if (isUnsure || isSameCaller(caller, now) || !this.#open.delete(open)) return
    open.end('credentials expired or revoked')
  }
}

function isSameCaller(before: Principal, now: AuthResult): boolean {
  return !('status' in now) && authorizationKey(before) === authorizationKey(now)
}
