import { GatewayError, gatewayError } from '../errors/errors.ts'
import { findSimilar } from '../util/suggest.ts'
import type { Command, CommandContext, CommandMap, OwnManifest } from './command.ts'
import { COMPLETE_COMMAND, printCompletions } from './completion.ts'
import type { Host, Terminal } from './output/terminal.ts'
import { loadExternalCommands, loadPluginCommands } from './plugin-commands.ts'
import { builtins } from '../gateway/builtins.ts'
import { QUERY_COMMANDS } from './commands/diagnostics.ts'
import { BACKGROUND_COMMANDS, SERVE_COMMANDS } from './commands/serve.ts'
import { CLIENT_COMMANDS, SERVER_COMMANDS } from './commands/servers.ts'
import { MISC_COMMANDS } from './commands/scaffold-and-help.ts'
import { CONTROL_COMMANDS } from './commands/control.ts'

/** Other programs' command names, which may mean something else there. */
const OTHER_NAMES: Readonly<Record<string, string | undefined>> = {
  run: 'serve',
  check: 'validate',
}

/** Runs the command that the arguments name, or shows help. Returns the exit code. */
export async function runCommand(
  argv: readonly string[],
  own: OwnManifest,
  host: Host,
  terminal: Terminal,
): Promise<number> {
  const all = { ...COMMANDS, ...ALIASES }
  if (argv[0] === COMPLETE_COMMAND) return printCompletions(argv.slice(2), all, terminal)
  const added = await loadExternalCommands(argv, all, terminal)
  const commands = { ...added.commands, ...all }
  const external = Object.keys(added.commands).map(id => id.replaceAll(':', ' '))
  const context: CommandContext = { terminal, host, commands, external, own }
  return wantsHelp(argv) ? showHelp(argv, context) : runWords(argv, context, added.problem)
}

async function runWords(argv: readonly string[], context: CommandContext, problem: unknown): Promise<number> {
  const { commands } = context
  const words = listWords(argv)
  const id = findCommandId(words, commands)
  const command = commands[id]
  if (command === undefined) {
    if (isTopic(words, commands)) return showHelp(argv, context)
    throw createUnknownCommandError(words.join(' ') || (argv[0] ?? ''), commands, problem)
  }
  const { length } = id.split(':')
  const extra = words.slice(length).join(' ')
  if (extra !== '' && command.strict && Object.keys(command.args).length === 0)
    throw createUsageError(describeExtraWords(id.replaceAll(':', ' '), command, extra))
  return (await command.run(argv.slice(length), context)) ?? 0
}

async function showHelp(argv: readonly string[], context: CommandContext): Promise<number> {
  const help = await import('./help.ts')
  return help.showHelp(argv, context)
}

/** Finds the command that has most of these words. */
function findCommandId(words: readonly string[], commands: CommandMap): string {
  return words.map((_, i) => words.slice(0, i + 1).join(':')).findLast(id => id in commands) ?? ''
}

/** Lists the words before the first flag. */
function listWords(argv: readonly string[]): readonly string[] {
  const end = argv.findIndex(arg => arg.startsWith('-'))
  return end === -1 ? argv : argv.slice(0, end)
}

function wantsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  const own = end === -1 ? argv : argv.slice(0, end)
  return argv.length === 0 || own.includes('--help') || own.includes('-h')
}

function isTopic(words: readonly string[], commands: CommandMap): boolean {
  return words.length > 0 && Object.keys(commands).some(id => id.startsWith(`${words.join(':')}:`))
}

function createUsageError(what: string): Error {
  return gatewayError('GW_USAGE', { what })
}

/** The error from an unreadable configuration or plugin, which may have the command, unless another one is meant. */
function createUnknownCommandError(name: string, commands: CommandMap, problem: unknown): Error {
  const names = Object.keys(commands).map(id => id.replaceAll(':', ' '))
  const similar = OTHER_NAMES[name] ?? findSimilar(name, names)
  const isUnreadable = problem instanceof GatewayError && problem.code !== 'GW_CONFIG_NOT_FOUND'
  if (similar === undefined && isUnreadable) return problem
  return createUsageError(`unknown command "${name}"${similar === undefined ? '' : ` – did you mean "${similar}"?`}`)
}

/** An extra word is probably the value of the only required flag. */
function describeExtraWords(name: string, { flags }: Command, extra: string): string {
  const [flag, ...more] = Object.keys(flags).filter(one => flags[one]?.required === true)
  const isValue = flag !== undefined && more.length === 0 && !extra.includes(' ')
  const hint = isValue ? ` – did you mean "--${flag} ${extra}"?` : ''
  return `"gateway ${name}" takes no argument ${JSON.stringify(extra)}${hint}`
}

/** All built-in commands by id. Implementations are imported when a command runs. */
export const COMMANDS: CommandMap = {
  ...SERVE_COMMANDS,
  ...QUERY_COMMANDS,
  ...BACKGROUND_COMMANDS,
  ...SERVER_COMMANDS,
  ...CLIENT_COMMANDS,
  ...CONTROL_COMMANDS,
  ...(await loadPluginCommands(builtins)),
  ...MISC_COMMANDS,
}

/** Other names of commands, which lists leave out. */
const ALIASES = Object.fromEntries(
  Object.entries({ ls: 'ps', list: 'ps', scan: 'doctor' }).map(([alias, id]) => [
    alias,
    { ...(COMMANDS[id] as Command), hidden: true },
  ]),
)
