import { readFileSync } from 'node:fs'
import type * as Tls from 'node:tls'
import { run } from './run.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Adds the certificate authorities of `SSL_CERT_FILE`, as OpenSSL programs do; Node reads it only with
 * --use-openssl-ca. An unreadable file adds none.
 */
function trustAuthorities(file: string, warn: (text: string) => void): void {
  try {
    const own = readFileSync(file, 'utf8').match(CERTIFICATE) ?? []
    const tls: typeof Tls = process.getBuiltinModule('node:tls')
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...own])
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    warn(`warning: cannot use SSL_CERT_FILE ${file} (${code ?? message})`)
  }
}

/** Runs the command line and exits the process after output is flushed; `argv` excludes the program name. */
export async function main(argv: string[]): Promise<void> {
  trustOwnAuthorities()
  process.exitCode = await run(argv, process)
  await Promise.all([flushStream(process.stdout), flushStream(process.stderr)])
  process.exit()
}

function trustOwnAuthorities(): void {
  const { SSL_CERT_FILE: authorities, NODE_EXTRA_CA_CERTS: nodeAuthorities } = process.env
  // Node reads NODE_EXTRA_CA_CERTS itself, on the first secure connection.
  if (authorities === undefined || authorities === '' || authorities === nodeAuthorities) return
  trustAuthorities(authorities, text => void process.stderr.write(`${text}\n`))
}

function flushStream(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise(resolve => {
    if (stream.destroyed || stream.writableEnded) resolve()
    else stream.write('', () => resolve())
  })
}
