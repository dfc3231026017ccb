import { string as argument } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import type { CommandCall, CommandFlag, PluginCommand } from '../api/command.ts'
import { locateProblem } from '../config/problem.ts'
import { gatewayError, GatewayError } from '../errors/errors.ts'
import { importPlugins } from '../plugin-host/resolve.ts'
import type { Plugin } from '../plugin.ts'
import type { Command, CommandMap } from './command.ts'
import { createCommand, CONFIG_FLAGS, CONTROL_FLAGS, JSON_FLAG } from './command.ts'
import type { SourceFlags } from './load-source.ts'
import { loadSource } from './load-source.ts'
import type { Terminal } from './output/terminal.ts'

/** Loads the commands of plugins by id; `findOptions` returns the key path of a plugin's options. */
export async function loadPluginCommands(
  plugins: readonly Plugin<never>[],
  findOptions: (plugin: Plugin<never>) => readonly string[] = ({ claims, name }) => [claims?.section ?? name],
): Promise<CommandMap> {
  const all = await Promise.all(
    plugins.map(async plugin => {
      const declared = (await plugin.commands?.())?.commands ?? {}
      return Object.entries(declared).map(([words, spec]) => [
        words.replaceAll(' ', ':'),
        createPluginCommand(spec, findOptions(plugin)),
      ])
    }),
  )
  return Object.fromEntries(all.flat()) as CommandMap
}

/** Creates an oclif command; `options` is the key path of the plugin's options. */
function createPluginCommand(spec: PluginCommand, options: readonly string[]): Command {
  const args = Object.entries(spec.args ?? {}).map(([name, { description, required = false, options: choices }]) => [
    name,
    argument({ description, required, ignoreStdin: true, ...(choices && { options: [...choices] }) }),
  ])
  return createCommand({
    ...{ summary: spec.summary, description: spec.description, usage: spec.usage, examples: spec.examples },
    takesRest: spec.takesRest,
    args: Object.fromEntries(args) as Command['args'],
    flags: { ...createFlags(spec.flags ?? {}), ...GATEWAY_FLAGS[spec.gateway ?? 'none'] },
    async run({ args, positionals, flags, terminal, host }) {
      const { createCommandCall } = await import('./plugin-call.ts')
      const rest = positionals.slice(Object.keys(args).length)
      const input = { args, rest, flags } as Pick<CommandCall, 'args' | 'rest' | 'flags'>
      try {
        return (await spec.run(createCommandCall(input, flags, options, terminal, host))) ?? 0
      } catch (error) {
        throw convertUnknownVerb(error, options)
      }
    },
  })
}

/** Converts an unknown verb to an error that names the missing configuration keys. */
function convertUnknownVerb(error: unknown, options: readonly string[]): unknown {
  return error instanceof GatewayError && error.code === 'GW_VERB_UNKNOWN'
    ? gatewayError('GW_NOT_CONFIGURED', { keys: options.join('.') })
    : error
}

/** Flags by the kind of gateway that a command uses. */
const GATEWAY_FLAGS = {
  none: JSON_FLAG,
  running: CONTROL_FLAGS,
  configuration: CONFIG_FLAGS,
  any: { ...CONFIG_FLAGS, socket: CONTROL_FLAGS.socket },
}

function createFlags(flags: Readonly<Record<string, CommandFlag>>): Command['flags'] {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, createFlag(flag)]))
}

function createFlag({
  type,
  char,
  value,
  options,
  multiple,
  exclusive,
  ...flag
}: CommandFlag): Command['flags'][string] {
  const shared = {
    ...flag,
    ...(char === undefined ? {} : { char: char as 'a' }),
    ...(exclusive === undefined ? {} : { exclusive: [...exclusive] }),
  }
  if (type === 'boolean') return boolean(shared)
  const one = {
    ...shared,
    ...(value === undefined ? {} : { helpValue: value }),
    ...(options === undefined ? {} : { options: [...options] }),
  }
  return multiple === true ? string({ ...one, multiple, multipleNonGreedy: true }) : string(one)
}

/** Commands from external plugins in the configuration, or the error with which they failed to load. */
interface ExternalCommands {
  readonly commands: CommandMap
  readonly problem?: unknown
}

/** Loads external plugins if one of their commands may be called or listed. */
export async function loadExternalCommands(
  argv: readonly string[],
  own: CommandMap,
  terminal: Terminal,
): Promise<ExternalCommands> {
  const [first] = argv.filter(arg => !arg.startsWith('-'))
  const isOwn = first !== 'help' && Object.keys(own).some(id => id.split(':')[0] === first)
  if (isOwn) return { commands: {} }
  try {
    const plugins = await importConfiguredPlugins(parseSourceFlags(argv), terminal)
    return { commands: await loadPluginCommands(plugins, ({ name }) => ['plugins', name, 'options']) }
  } catch (problem) {
    return { commands: {}, problem }
  }
}

/** Imports the external plugins in the configuration. */
export async function importConfiguredPlugins(flags: SourceFlags, terminal: Terminal): Promise<Plugin<never>[]> {
  const source = await loadSource(flags, terminal, 'leave')
  const chosen = await importPlugins(source.config, source.directory, finding => locateProblem(source, finding))
  return chosen.map(({ plugin }) => plugin)
}

/** Parses configuration flags before the command is known. */
function parseSourceFlags(argv: readonly string[]): SourceFlags {
  const findFlagValue = (...names: readonly string[]): string | undefined => {
    const at = argv.findIndex(arg => names.includes(arg))
    const joined = argv.find(arg => names.some(name => arg.startsWith(`${name}=`)))
    return at >= 0 ? argv[at + 1] : joined?.slice(joined.indexOf('=') + 1)
  }
  return { config: findFlagValue('--config', '-c'), env: findFlagValue('--env') }
}
