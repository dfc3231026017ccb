import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ConnectionOptions, SecureContextOptions } from 'node:tls'
import { createSecureContext } from 'node:tls'
import type { Config } from '../../src/plugin.ts'
import { getErrorMessage } from '../../src/plugin.ts'
import { clusterError } from './errors.ts'

type TlsFiles = Partial<Record<'cert' | 'key' | 'ca', string>> & { readonly passphrase?: string }
type TlsConfig = NonNullable<NonNullable<Config['cluster']>['tls']>

/** Reads the PEM files in a `tls` section. @throws GatewayError GW_CLUSTER_TLS */
export function readPem({ cert, key, ca, passphrase }: TlsFiles, directory: string): SecureContextOptions {
  const pem = Object.fromEntries(
    Object.entries({ cert, key, ca }).flatMap(([name, file]) =>
      file === undefined ? [] : [[name, readText(file, directory)]],
    ),
  )
  const options = { ...pem, ...(passphrase === undefined ? {} : { passphrase }) }
  try {
    createSecureContext(options)
  } catch (cause) {
    throw clusterError('GW_CLUSTER_TLS', { why: `invalid PEM (${getErrorMessage(cause)})`, cause })
  }
  return options
}

function readText(file: string, directory: string): string {
  try {
    return readFileSync(resolve(directory, file), 'utf8')
  } catch (cause) {
    const why = `cannot read ${file} (${(cause as NodeJS.ErrnoException).code ?? getErrorMessage(cause)})`
    throw clusterError('GW_CLUSTER_TLS', { why, cause })
  }
}

/** Mutual TLS between replicas: both sides present a certificate from one CA, servers for the gateway's name. */
export class ReplicaTls {
  readonly #gateway: string
  #pem: SecureContextOptions
  #renewed: (pem: SecureContextOptions) => void = () => undefined

  /** @throws GatewayError GW_CLUSTER_TLS */
  constructor(gateway: string, config: TlsConfig, directory: string) {
    this.#gateway = gateway
    this.#pem = readPem(config, directory)
  }

  /** Client options for connections to other replicas. */
  get options(): ConnectionOptions {
    return { ...this.#pem, servername: this.#gateway, minVersion: 'TLSv1.3' }
  }

  /** Server options. */
  get server(): SecureContextOptions & { requestCert: boolean; rejectUnauthorized: boolean } {
    return { ...this.#pem, minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: true }
  }

  /** Reloads the files. @throws GatewayError GW_CLUSTER_TLS */
  reload(config: TlsConfig, directory: string): void {
    this.#pem = readPem(config, directory)
    this.#renewed({ ...this.#pem, minVersion: 'TLSv1.3' })
  }

  onRenewed(listener: (pem: SecureContextOptions) => void): void {
    this.#renewed = listener
  }
}
