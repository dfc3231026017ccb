import type * as Tls from 'node:tls'
import { readFileSync, existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Host, Terminal } from './output/terminal.ts'
import type { OwnManifest } from './command.ts'

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

const VERSION_FLAGS: readonly (string | undefined)[] = ['--version', '-v', 'version']

/**
 * Runs one command line and returns its exit code; `argv` excludes the program name. Uses only the streams of `host`,
 * so tests can run it in process.
 */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  if (VERSION_FLAGS.includes(argv[0])) return printVersion(host)
  const { createTerminal } = await import('./output/terminal.ts')
  const terminal = createTerminal(host)
  try {
    return await runCommandLine(argv, host, terminal)
  } catch (error) {
    const { reportError } = await import('./output/report-error.ts')
    return reportError(error, argv, terminal)
  }
}

// Loads nothing else.
function printVersion({ stdout, platform }: Host): number {
  const { name, version } = readManifest().manifest
  stdout.write(`${name}/${version} ${platform}-${process.arch} node-${process.version}\n`)
  return 0
}

async function runCommandLine(argv: readonly string[], host: Host, terminal: Terminal): Promise<number> {
  setUserDefaults(process.env)
  const { runCommand } = await import('./run-command.ts')
  return runCommand(argv, readManifest(), host, terminal)
}

/** Sets shell and home for a user without an /etc/passwd entry, as in containers; oclif requires them. */
function setUserDefaults(environment: NodeJS.ProcessEnv): void {
  try {
    userInfo()
  } catch {
    environment.SHELL ??= '/bin/sh'
    environment.HOME ??= '/'
  }
}

function readManifest(): OwnManifest {
  const root = findRoot(dirname(fileURLToPath(import.meta.url)))
  return {
    root,
    manifest: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as OwnManifest['manifest'],
  }
}

function findRoot(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : findRoot(dirname(directory))
}
