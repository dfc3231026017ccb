import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../../api/index.ts'

/** By connection: a client proves itself once, in the handshake. */
const certificates = new WeakMap<Socket, ClientCertificate | undefined>()

/** The certificate by which the other end of a connection has proved who it is, to an authority that the listener trusts. */
export function certificateOf(socket: Socket): ClientCertificate | undefined {
  if (certificates.has(socket)) return certificates.get(socket)
  if (!isSecure(socket)) return undefined
  const shown = socket.authorized ? socket.getPeerX509Certificate() : undefined
  const certificate = shown === undefined ? undefined : describe(shown)
  certificates.set(socket, certificate)
  return certificate
}

/** Notes the certificate of a request that another process took and hands on by this connection. */
export function noteCertificate(socket: Socket, certificate: ClientCertificate | undefined): void {
  certificates.set(socket, certificate)
}

function isSecure(
  socket: Socket,
): socket is Socket & Pick<TLSSocket, 'authorized' | 'getPeerX509Certificate'> {
  return 'authorized' in socket
}

function describe({ issuer, subject, fingerprint256, validTo }: X509Certificate): ClientCertificate {
  return {
    issuer: nameOf(issuer),
    subject: nameOf(subject),
    fingerprint: fingerprint256,
    expiresAt: Date.parse(validTo),
  }
}

/** A distinguished name in the form of RFC 2253, the nearest part first; Node has one part on each line, the nearest last. */
function nameOf(lines: string | undefined): string {
  return (lines ?? '').split('\n').reverse().join(',')
}
