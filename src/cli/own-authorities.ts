import { readFileSync } from 'node:fs'
import type * as Tls from 'node:tls'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Trusts the authorities in a file beside those that Node trusts, for every connection of this process. Programs on OpenSSL read
 * `SSL_CERT_FILE`, and Node does so only with --use-openssl-ca. One that cannot be read trusts nobody.
 */
export function trustAuthorities(file: string, warn: (text: string) => void): void {
  try {
    const own = readFileSync(file, 'utf8').match(CERTIFICATE) ?? []
    const tls: typeof Tls = process.getBuiltinModule('node:tls')
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...own])
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    warn(`warning: SSL_CERT_FILE names ${file}, which cannot be used (${code ?? message})`)
  }
}
