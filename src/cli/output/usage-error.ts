import { type GatewayError, gatewayError } from '../../errors/errors.ts'
import type { Command } from '@oclif/core/command'

/** What oclif throws about a command line it does not like. */
export interface UsageError extends Error {
  readonly oclif: { readonly exit?: number }
  readonly flags?: readonly string[]
  readonly args?: readonly { readonly name: string }[]
  readonly parse?: { readonly input?: { readonly flags?: Command.Class['flags'] } }
}

/** Names every command there is. */
export type CommandNames = () => Promise<readonly string[]>

/** Whether oclif threw it. */
export function isUsageError(thrown: unknown): thrown is UsageError {
  return thrown instanceof Error && 'oclif' in thrown
}

/** The same in our words, with what was probably meant. */
export async function usageError(error: UsageError, commandNames: CommandNames): Promise<GatewayError> {
  const what =
    (await unknownCommand(error, commandNames)) ?? (await unknownFlags(error)) ?? missingArguments(error)
  return gatewayError('GW_USAGE', { what: what ?? plainText(error.message) })
}

/** What people look for under the names that other programs have for it. */
const OTHER_WORDS: Readonly<Record<string, string | undefined>> = {
  status: 'ps',
  list: 'ps',
  ls: 'ps',
  run: 'serve',
  check: 'validate',
  add: 'import',
}

async function unknownCommand(
  { message }: UsageError,
  commandNames: CommandNames,
): Promise<string | undefined> {
  const name = /^command (\S+) not found\.?$/i.exec(message)?.[1]?.replaceAll(':', ' ')
  if (name === undefined) return undefined
  const here = OTHER_WORDS[name]
  if (here !== undefined) return `there is no command "${name}" – did you mean "${here}"?`
  return `there is no command "${name}"${await meant(name, await commandNames())}`
}

async function unknownFlags({ flags, parse }: UsageError): Promise<string | undefined> {
  if (flags === undefined) return undefined
  const known = Object.keys(parse?.input?.flags ?? {})
  const each = flags.map(async flag => `there is no flag ${flag}${await meantFlag(flag, known)}`)
  return (await Promise.all(each)).join('; ')
}

function missingArguments({ message, args = [] }: UsageError): string | undefined {
  if (!message.startsWith('Missing')) return undefined
  return `missing: ${args.map(({ name }) => name.toUpperCase()).join(', ')}`
}

/** Compared without the dashes, which make any two short flags alike. */
function meantFlag(flag: string, known: readonly string[]): Promise<string> {
  const name = (flag.split('=')[0] ?? flag).replace(/^-+/, '')
  return meant(name, known, '--')
}

async function meant(word: string, known: readonly string[], before = ''): Promise<string> {
  const { suggest } = await import('../../util/suggest.ts')
  const found = suggest(word, known)
  return found === undefined ? '' : ` – did you mean "${before}${found}"?`
}

function plainText(message: string): string {
  const lines = message
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !/^(See more help with|The following errors? occurred)/.test(line))
  const text = lines
    .join(' ')
    .replace(/^Parsing (--\S+) (\w)/, (_, flag: string, first: string) => `${flag}: ${first.toLowerCase()}`)
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}
