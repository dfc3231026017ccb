import { readFileSync } from 'node:fs'
import type * as Tls from 'node:tls'
import { run } from './run.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Trusts the authorities in a file beside those that Node trusts, for every connection of this process. Programs on OpenSSL read
 * `SSL_CERT_FILE`, and Node does so only with --use-openssl-ca. One that cannot be read trusts nobody.
 */
function trustAuthorities(file: string, warn: (text: string) => void): void {
  try {
    const own = readFileSync(file, 'utf8').match(CERTIFICATE) ?? []
    const tls: typeof Tls = process.getBuiltinModule('node:tls')
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...own])
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    warn(`warning: SSL_CERT_FILE names ${file}, which cannot be used (${code ?? message})`)
  }
}

/** The command line as a process of its own; `argv` is what follows the program's name. Ends the process when all is written. */
export async function main(argv: string[]): Promise<void> {
  trustOwnAuthorities()
  process.exitCode = await run(argv, process)
  await Promise.all([flushStream(process.stdout), flushStream(process.stderr)])
  process.exit()
}

function trustOwnAuthorities(): void {
  const { SSL_CERT_FILE: authorities, NODE_EXTRA_CA_CERTS: known } = process.env
  // Node trusts the second by itself, and reads it only when it opens a secure connection.
  if (authorities === undefined || authorities === '' || authorities === known) return
  trustAuthorities(authorities, text => void process.stderr.write(`${text}\n`))
}

function flushStream(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise(resolve => {
    if (stream.destroyed || stream.writableEnded) resolve()
    else stream.write('', () => resolve())
  })
}
