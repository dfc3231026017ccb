import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Host, Terminal } from './output/terminal.ts'
import type { OwnManifest } from './oclif.ts'
import type { KnownCommand } from './output/report-error.ts'

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
    return reportError(error, argv, terminal, listCommands)
  }
}

// Loads nothing else.
function printVersion({ stdout, platform }: Host): number {
  const { name, version } = readManifest().manifest
  stdout.write(`${name}/${version} ${platform}-${process.arch} node-${process.version}\n`)
  return 0
}

async function listCommands(): Promise<KnownCommand[]> {
  const { COMMANDS } = await import('./commands.ts')
  return Object.entries(COMMANDS).map(([id, { flags }]) => ({
    name: id.replaceAll(':', ' '),
    required: Object.keys(flags).filter(flag => flags[flag]?.required === true),
  }))
}

async function runCommandLine(argv: readonly string[], host: Host, terminal: Terminal): Promise<number> {
  setUserDefaults(process.env)
  const { runWithOclif } = await import('./oclif.ts')
  return runWithOclif(argv, readManifest(), host, terminal)
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
