import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ServerOptions } from 'node:https'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import type { HttpListenerSpec } from './listener-settings.ts'

/** The contents of the files of a listener's `tls`. */
export interface ListenerTls {
  readonly cert: string
  readonly key: string
  readonly passphrase: string | undefined
  /** Authorities of client certificates; undefined where clients are not asked for one. */
  readonly clientCa: string | undefined
  /** True if a client without a certificate gets no connection. */
  readonly isClientBound: boolean
}

interface Place {
  readonly name: string
  readonly directory: string
}

/** Time in which a client must have ended its handshake. */
const HANDSHAKE_MS = 10_000

/** @throws GatewayError GW_LISTEN when a file cannot be read, or no server can use it. */
export function readTls(spec: HttpListenerSpec, place: Place): ListenerTls | undefined {
  if (spec.tls === undefined) return undefined
  const { cert, key, passphrase, clientCa, clientCert } = spec.tls
  const fail = (why: string, cause: unknown): Error =>
    gatewayError('GW_LISTEN', { listener: place.name, address: `${spec.host}:${spec.port}`, why, cause })
  const read = (file: string): string => {
    try {
      return readFileSync(resolve(place.directory, file), 'utf8')
    } catch (cause) {
      throw fail(
        `${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? reasonOf(cause)})`,
        cause,
      )
    }
  }
  const tls: ListenerTls = {
    cert: read(cert),
    key: read(key),
    passphrase,
    clientCa: clientCa === undefined ? undefined : read(clientCa),
    isClientBound: clientCert === 'required',
  }
  try {
    process.getBuiltinModule('node:tls').createSecureContext(secureContext(tls))
  } catch (cause) {
    throw fail(`its certificate and key are of no use (${reasonOf(cause)})`, cause)
  }
  return tls
}

/** Options of a TLS server. A certificate that nobody trusts ends the connection; none at all may be fine. */
export function secureServer(tls: ListenerTls): ServerOptions {
  const asks = tls.clientCa !== undefined
  return {
    ...secureContext(tls),
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_MS,
    requestCert: asks,
    rejectUnauthorized: asks && tls.isClientBound,
  }
}

/** The part of the options that a server may be given anew while it listens. */
export function secureContext({ cert, key, passphrase, clientCa }: ListenerTls): {
  cert: string
  key: string
  passphrase?: string
  ca?: string
} {
  return {
    cert,
    key,
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  }
}
