import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import { findProgram } from '../../util/find-program.ts'
import { foldersIn, platformOf } from '../../util/platform.ts'
import type { Terminal } from '../output/terminal.ts'
import type { AttachFlags } from './attach.ts'
import { wholeCommand } from './own-program.ts'
import { backgroundOf } from './start.ts'

/** Letters that mean the same to a shell, to socat and in JSON. */
const PLAIN = /^[A-Za-z0-9._-]{1,128}$/

/**
 * The command of `gateway attach` that needs no Node while a gateway runs: a shell and socat, 2 MB in place of 45.
 * @throws GatewayError GW_USAGE
 */
export async function shimLine(
  flags: AttachFlags,
  terminal: Terminal,
  host: NodeJS.Process,
): Promise<string[]> {
  const { profile = '', label = '', env, set = [], 'no-start': noStart = false } = flags
  for (const [flag, value] of Object.entries({ profile, label }))
    if (value !== '' && !PLAIN.test(value))
      throw gatewayError('GW_USAGE', {
        what: `--${flag} of a shim is 1 to 128 letters, digits, dots, underscores, hyphens`,
      })
  const { config, socket } = await backgroundOf(flags, terminal)
  const command = wholeCommand(terminal, host)
  const script = scriptBeside(command, terminal)
  const attach = [...command, 'attach', '-c', config]
  const pairs = { env, profile, label }
  const more = Object.entries(pairs).flatMap(([flag, value = '']) =>
    value === '' ? [] : [`--${flag}`, value],
  )
  const sets = set.flatMap(one => ['--set', one])
  return [
    'sh',
    script,
    socket,
    profile,
    label,
    ...attach,
    ...more,
    ...sets,
    ...(noStart ? ['--no-start'] : []),
  ]
}

/** Prints it as a shell reads it, or as JSON. */
export async function sayShim(
  flags: AttachFlags & { readonly json?: boolean | undefined },
  terminal: Terminal,
  host: NodeJS.Process,
): Promise<number> {
  const [command, ...args] = await shimLine(flags, terminal, host)
  const line = [command ?? '', ...args]
  terminal.out.line(flags.json === true ? JSON.stringify({ command, args }) : line.map(quoted).join(' '))
  return 0
}

function scriptBeside([, launcher = '']: readonly string[], { cwd, environment }: Terminal): string {
  if (platformOf().hasPipes) throw gatewayError('GW_USAGE', { what: 'Windows has no socat: leave it out' })
  if (findProgram('socat', foldersIn(environment['PATH']), cwd) === undefined)
    throw gatewayError('GW_USAGE', { what: 'socat is not on the PATH: install it, or leave it out' })
  const script = join(dirname(launcher), 'attach.sh')
  if (!existsSync(script)) throw gatewayError('GW_USAGE', { what: `${script} is missing` })
  return script
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
