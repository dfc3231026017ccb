import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Interfaces } from '@oclif/core'
import { shortWay } from './fast-start.ts'
import type { KnownCommand } from './output/report.ts'

const VERSION_FLAGS: readonly (string | undefined)[] = ['--version', '-v']

/** The command line: `argv` is what follows the program's name. Ends the process when all is written. */
export async function main(argv: string[]): Promise<void> {
  process.exitCode = VERSION_FLAGS.includes(argv[0]) ? sayVersion() : await run(argv)
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  process.exit()
}

// Nothing else is loaded for this.
function sayVersion(): number {
  const { name, version } = ownManifest(import.meta.url).manifest
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`)
  return 0
}

async function run(argv: string[]): Promise<number> {
  const { terminalOf } = await import('./output/terminal.ts')
  const terminal = terminalOf(process)
  const { SSL_CERT_FILE: authorities, NODE_EXTRA_CA_CERTS: known } = process.env
  // Node trusts the second by itself, and reads it only when it opens a secure connection.
  if (authorities !== undefined && authorities !== '' && authorities !== known) {
    const { trustAuthorities } = await import('./own-authorities.ts')
    trustAuthorities(authorities, text => terminal.err.line(text))
  }
  try {
    return await (shortWay(argv, terminal) ?? (() => longWay(argv)))()
  } catch (error) {
    const { report } = await import('./output/report.ts')
    return report(error, argv, terminal, knownCommands)
  }
}

/** As people type them: `agents list`. */
async function knownCommands(): Promise<KnownCommand[]> {
  const { COMMANDS } = await import('./commands.ts')
  return Object.entries(COMMANDS).map(([id, { flags }]) => ({
    name: id.replaceAll(':', ' '),
    required: Object.keys(flags).filter(flag => flags[flag]?.required === true),
  }))
}

async function longWay(argv: string[]): Promise<number> {
  nameUser(process.env)
  const { root, manifest: pjson } = ownManifest(import.meta.url)
  const [{ run }, { settings }] = await Promise.all([
    import('@oclif/core/run'),
    import('@oclif/core/settings'),
  ])
  settings.enableAutoTranspile = false
  const code: unknown = await run(argv, { root, pjson })
  return typeof code === 'number' ? code : 0
}

/** Gives a user without a line in /etc/passwd, as in a container, the shell and home that oclif asks for when it is loaded. */
function nameUser(environment: NodeJS.ProcessEnv): void {
  try {
    userInfo()
  } catch {
    environment.SHELL ??= '/bin/sh'
    environment.HOME ??= '/'
  }
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise(resolve => {
    if (stream.destroyed || stream.writableEnded) resolve()
    else stream.write('', () => resolve())
  })
}

interface OwnManifest {
  readonly root: string
  readonly manifest: Interfaces.PJSON
}

/** Our own package.json, seen from one of our files; the command table is the one beside that file, compiled or not. */
function ownManifest(from: string): OwnManifest {
  const file = fileURLToPath(from)
  const root = rootOf(dirname(file))
  const read = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Interfaces.PJSON
  const target = relative(root, join(dirname(file), `commands${extname(file)}`))
  const commands = { strategy: 'explicit', target, identifier: 'COMMANDS' } as const
  return { root, manifest: { ...read, oclif: { ...read.oclif, commands } } }
}

function rootOf(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootOf(dirname(directory))
}
