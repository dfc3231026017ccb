import type { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate, Clock, Credentials, Gate, Principal, Refusal } from '../../api/index.ts'
import { authorizationKey } from '../../plugin.ts'
import { Ticker } from '../../util/clock.ts'
import type { RequestHeaders } from './request-guard.ts'

/** By connection: a client proves itself once, in the handshake. */
const certificates = new WeakMap<Socket, ClientCertificate | undefined>()

/** The certificate by which the other end of a connection has proved who it is, to an authority that the listener trusts. */
export function readClientCertificate(socket: Socket): ClientCertificate | undefined {
  if (certificates.has(socket)) return certificates.get(socket)
  if (!isSecure(socket)) return undefined
  const shown = socket.authorized ? socket.getPeerX509Certificate() : undefined
  const certificate = shown === undefined ? undefined : describeCertificate(shown)
  certificates.set(socket, certificate)
  return certificate
}

/** Notes the certificate of a request that another process took and hands on by this connection. */
export function setCertificate(socket: Socket, certificate: ClientCertificate | undefined): void {
  certificates.set(socket, certificate)
}

function isSecure(
  socket: Socket,
): socket is Socket & Pick<TLSSocket, 'authorized' | 'getPeerX509Certificate'> {
  return 'authorized' in socket
}

function describeCertificate({
  issuer,
  subject,
  fingerprint256,
  validTo,
}: X509Certificate): ClientCertificate {
  return {
    issuer: formatDistinguishedName(issuer),
    subject: formatDistinguishedName(subject),
    fingerprint: fingerprint256,
    expiresAt: Date.parse(validTo),
  }
}

/** A distinguished name in the form of RFC 2253, the nearest part first; Node has one part on each line, the nearest last. */
function formatDistinguishedName(lines: string | undefined): string {
  return (lines ?? '').split('\n').reverse().join(',')
}

type AuthResult = Principal | Refusal

/** The listener that a request came to. */
interface ReachedListener {
  readonly name: string
  readonly endpoint: string
}

/** Finds out who sent a request, or why it goes no further. At once where no plugin asks. */
export function authenticateRequest(
  context: ReachedListener & { readonly gate: Gate },
  request: IncomingMessage,
  headers: RequestHeaders,
): AuthResult | Promise<AuthResult> {
  headers.credentials = createCredentials(context, request)
  return context.gate.authenticate(headers.credentials)
}

/** Collects what a plugin may know of a request before its body is read. */
export function createCredentials(
  { name, endpoint }: ReachedListener,
  request: IncomingMessage,
): Credentials {
  const { rawHeaders, socket, method = 'GET', url = '/' } = request
  return {
    listener: name,
    method,
    path: getPath(url),
    endpoint,
    remoteAddress: socket.remoteAddress,
    certificate: readClientCertificate(socket),
    header: wanted => getHeaderValues(rawHeaders, wanted.toLowerCase()),
  }
}

/** By index and by length first: this is done for each header that a plugin asks for, and most requests have a dozen. */
function getHeaderValues(raw: readonly string[], wanted: string): readonly string[] {
  let values: string[] | undefined
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] as string
    if (name.length === wanted.length && (name === wanted || name.toLowerCase() === wanted))
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
 * Responses and connections that stay open after the request that began them was let in. Their callers are authenticated
 * again now and then, and at each reload, so that a credential which has expired or was revoked opens nothing for longer.
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

  /** Notes what is open, until the function it returns is called. `end` closes it. */
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
    // That we failed to find out is no reason to cut anybody off.
    const isUnsure = 'status' in now && now.status >= 500
    if (isUnsure || isSameCaller(caller, now) || !this.#open.delete(open)) return
    open.end('its credentials are no longer valid')
  }
}

function isSameCaller(before: Principal, now: AuthResult): boolean {
  return !('status' in now) && authorizationKey(before) === authorizationKey(now)
}
