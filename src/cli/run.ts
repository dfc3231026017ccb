import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Host, Terminal } from './output/terminal.ts'
import type { OwnManifest } from './command.ts'

const VERSION_FLAGS: readonly (string | undefined)[] = ['--version', '-v']

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
