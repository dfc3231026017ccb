import { readFileSync } from 'node:fs'
import type { ServerOptions } from 'node:https'
import { resolve } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import type { Config } from '../../api/index.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { HealthFinding } from '../../errors/health.ts'
import { finding } from '../../errors/health.ts'
import type { PluginApi } from '../../plugin.ts'
import { formatDuration } from '../../util/plain-text.ts'
import type { HttpListenerSpec } from './listener-settings.ts'

/** Expiry warning period. */
const WARNING_MS = 14 * 24 * 3_600_000

/** Reports listener certificates that expire soon, as of the last reload. */
export function watchCertificates({ hooks, config, directory }: PluginApi): void {
  const files = Object.entries((config as Partial<Config>).listeners ?? {}).flatMap(([listener, spec]) =>
    spec.type === 'http' && spec.tls !== undefined ? [{ listener, file: resolve(directory, spec.tls.cert) }] : [],
  )
  if (files.length === 0) return
  let expiries: ReadonlyMap<string, number> | undefined
  hooks.health.tap(findings => {
    expiries ??= new Map(
      files.flatMap(({ listener, file }) => readCertificateExpiry(file).map(end => [listener, end] as const)),
    )
    return [...findings, ...[...expiries].flatMap(([listener, end]) => listCertificateFindings(listener, end))]
  })
}

/** Expiry of the first certificate in a file, in ms since 1970; empty if unreadable. */
function readCertificateExpiry(file: string): number[] {
  try {
    const { X509Certificate } = process.getBuiltinModule('node:crypto')
    const end = Date.parse(new X509Certificate(readFileSync(file)).validTo)
    return Number.isNaN(end) ? [] : [end]
  } catch {
    return []
  }
}

function listCertificateFindings(listener: string, end: number): HealthFinding[] {
  const remainingMs = end - Date.now()
  if (remainingMs > WARNING_MS) return []
  if (remainingMs > 0) return [finding('certificate-ends', { listener, when: `in ${formatDuration(remainingMs)}` })]
  return [finding('certificate-ended', { listener, when: `${formatDuration(-remainingMs)} ago` })]
}

/** File contents for a listener's `tls`. */
export interface ListenerTls {
  readonly cert: string
  readonly key: string
  readonly passphrase: string | undefined
  /** Client CA; undefined if no client certificate is requested. */
  readonly clientCa: string | undefined
  readonly requiresClientCert: boolean
}

interface TlsSource {
  readonly name: string
  readonly directory: string
}

/** Handshake timeout. */
const HANDSHAKE_MS = 10_000

/** @throws GatewayError GW_LISTEN if a file is unreadable or invalid */
export function readTls(spec: HttpListenerSpec, source: TlsSource): ListenerTls | undefined {
  if (spec.tls === undefined) return undefined
  const { cert, key, passphrase, clientCa, clientCert } = spec.tls
  const createTlsError = (why: string, cause: unknown): Error =>
    gatewayError('GW_LISTEN', { listener: source.name, address: `${spec.host}:${spec.port}`, why, cause })
  const read = (file: string): string => {
    try {
      return readFileSync(resolve(source.directory, file), 'utf8')
    } catch (cause) {
      throw createTlsError(
        `cannot read ${file} (${(cause as NodeJS.ErrnoException).code ?? getErrorMessage(cause)})`,
        cause,
      )
    }
  }
  const tls: ListenerTls = {
    cert: read(cert),
    key: read(key),
    passphrase,
    clientCa: clientCa === undefined ? undefined : read(clientCa),
    requiresClientCert: clientCert === 'required',
  }
  try {
    process.getBuiltinModule('node:tls').createSecureContext(createContextOptions(tls))
  } catch (cause) {
    throw createTlsError(`invalid certificate or key (${getErrorMessage(cause)})`, cause)
  }
  return tls
}

/** TLS server options. An untrusted client certificate always fails; a missing one only if required. */
export function createServerOptions(tls: ListenerTls): ServerOptions {
  const requestsCert = tls.clientCa !== undefined
  return {
    ...createContextOptions(tls),
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_MS,
    requestCert: requestsCert,
    rejectUnauthorized: requestsCert && tls.requiresClientCert,
  }
}

/** Options that can change while listening. */
export function createContextOptions({ cert, key, passphrase, clientCa }: ListenerTls): SecureContextOptions {
  return { cert, key, passphrase, ca: clientCa }
}
