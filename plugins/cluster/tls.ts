import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ServerOptions } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { resolve } from 'node:path'
import type { SecureContext, TLSSocket } from 'node:tls'
import { canonical, type Config, type PeerProof, reasonOf } from '../../src/plugin.ts'
import { clusterError } from './errors.ts'

type TlsConfig = NonNullable<NonNullable<Config['cluster']>['tls']>

/** Both ends are ours, so nothing older is needed. */
const MIN_VERSION = 'TLSv1.3'
const HANDSHAKE_MS = 10_000
/** A connection whose certificate has the name of the gateway is that of any replica. */
const ANY = ''

interface Pem {
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly passphrase?: string
  readonly minVersion: typeof MIN_VERSION
}

/** Certificate of this replica, and the test that others must pass: each shows one, whoever began the connection. */
export class ReplicaTls {
  /** End of the certificate, in milliseconds since 1970. */
  end = Infinity
  readonly #gateway: string
  #pem: Pem
  #digest: string
  #context: SecureContext
  #renewed: ((pem: Pem) => void) | undefined
  /** By connection: the replica that it has proved to be of. */
  readonly #proved = new WeakMap<Socket, string>()

  /** @throws GatewayError GW_CLUSTER_TLS */
  constructor(gateway: string, config: TlsConfig, directory: string) {
    this.#gateway = gateway
    const { pem, context, end } = read(config, directory)
    this.#pem = pem
    this.#digest = canonical(pem)
    this.#context = context
    this.end = end
  }

  /** Options of the server that takes what others hand on. */
  get server(): ServerOptions {
    return { ...this.#pem, handshakeTimeout: HANDSHAKE_MS, requestCert: true, rejectUnauthorized: true }
  }

  /** Reads its files again. What is no good changes nothing. @throws GatewayError GW_CLUSTER_TLS */
  become(config: TlsConfig, directory: string): void {
    const { pem, context, end } = read(config, directory)
    if (canonical(pem) === this.#digest) return
    this.#pem = pem
    this.#digest = canonical(pem)
    this.#context = context
    this.end = end
    this.#renewed?.(pem)
  }

  /** Hears of another certificate. */
  onRenewed(listener: (pem: ServerOptions) => void): void {
    this.#renewed = listener
  }

  /** The way to another replica at that host. */
  to(host: string): PeerProof {
    return {
      context: this.#context,
      problemOf: der => {
        const certificate = new X509Certificate(der)
        if (this.#isOfGateway(certificate) || isOfHost(certificate, host)) return undefined
        return `its certificate is neither for "${this.#gateway}" nor for ${host}`
      },
    }
  }

  /** True if the other end of a connection has shown the certificate of that replica. */
  async isOf(
    connection: Socket,
    id: string,
    hostOf: (id: string) => Promise<string | undefined>,
  ): Promise<boolean> {
    const proved = this.#proved.get(connection)
    if (proved === ANY || proved === id) return true
    const certificate = isSecure(connection) ? connection.getPeerX509Certificate() : undefined
    if (certificate === undefined) return false
    const isAny = this.#isOfGateway(certificate)
    if (!isAny) {
      const host = await hostOf(id)
      if (host === undefined || !isOfHost(certificate, host)) return false
    }
    this.#proved.set(connection, isAny ? ANY : id)
    return true
  }

  #isOfGateway(certificate: X509Certificate): boolean {
    return isNamed(certificate, this.#gateway)
  }
}

function isSecure(connection: Socket): connection is Socket & Pick<TLSSocket, 'getPeerX509Certificate'> {
  return 'getPeerX509Certificate' in connection
}

function isOfHost(certificate: X509Certificate, host: string): boolean {
  return isIP(host) === 0 ? isNamed(certificate, host) : certificate.checkIP(host) !== undefined
}

/** Only names that were meant for machines count, and no `*`, which may be of any of them. */
function isNamed(certificate: X509Certificate, name: string): boolean {
  return certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined
}

function read(
  { cert, key, ca, passphrase }: TlsConfig,
  directory: string,
): { readonly pem: Pem; readonly context: SecureContext; readonly end: number } {
  const text = (file: string): string => {
    try {
      return readFileSync(resolve(directory, file), 'utf8')
    } catch (cause) {
      const why = `${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? reasonOf(cause)})`
      throw clusterError('GW_CLUSTER_TLS', { why, cause })
    }
  }
  const pem: Pem = {
    ...{ cert: text(cert), key: text(key), ca: text(ca), minVersion: MIN_VERSION },
    ...(passphrase === undefined ? {} : { passphrase }),
  }
  try {
    const context = process.getBuiltinModule('node:tls').createSecureContext(pem)
    return { pem, context, end: Date.parse(new X509Certificate(pem.cert).validTo) }
  } catch (cause) {
    throw clusterError('GW_CLUSTER_TLS', { why: `they are of no use (${reasonOf(cause)})`, cause })
  }
}
