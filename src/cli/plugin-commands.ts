import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { string as argument } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import type { CommandCall, CommandFlag, PluginCommand } from '../api/command.ts'
import type { NamedPlugin } from '../config/index.ts'
import { locateProblem } from '../config/problem.ts'
import { gatewayError, GatewayError } from '../errors/errors.ts'
import { importPlugins, resolvePluginFile } from '../plugin-host/resolve.ts'
import type { Plugin } from '../plugin.ts'
import type { Finding } from '../util/finding.ts'
import type { Command, CommandMap } from './command.ts'
import { createCommand, CONFIG_FLAGS, CONTROL_FLAGS, JSON_FLAG } from './command.ts'
import type { SourceFlags } from './load-source.ts'
import { loadSource } from './load-source.ts'
import type { Terminal } from './output/terminal.ts'
import { isObject } from '../protocol/json/json.ts'

/** Loads the built-in plugins' commands by id. */
export async function loadPluginCommands(plugins: readonly Plugin<never>[]): Promise<Record<string, Command>> {
  const all = await Promise.all(
    plugins.map(async ({ name, claims, commands }) => {
      const declared = (await commands?.())?.commands ?? {}
      return Object.entries(declared).map(([commandName, spec]) => [
        commandName.replaceAll(' ', ':'),
        createPluginCommand(spec, [claims?.section ?? name]),
      ])
    }),
  )
  return Object.fromEntries(all.flat()) as Record<string, Command>
}

/** Creates an oclif command; `options` is the key path of the plugin's options. */
export function createPluginCommand(spec: PluginCommand, options: readonly string[]): Command {
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

/**
 * Loads commands of external plugins of the configuration. Names and summaries come from package.json; plugin code is
 * loaded only for the command that is called. An unreadable configuration has none.
 */
export async function loadExternalCommands(
  argv: readonly string[],
  own: CommandMap,
  terminal: Terminal,
): Promise<CommandMap> {
  const typed = argv.filter(arg => !arg.startsWith('-'))
  if (!mayNameExternalCommand(typed[0], own)) return {}
  const flags = parseSourceFlags(argv)
  const externalCommands: Record<string, Command> = {}
  for (const plugin of await listConfiguredPlugins(flags, terminal))
    for (const [name, summary] of listDeclaredCommands(plugin.use, plugin.directory)) {
      const id = name.replaceAll(' ', ':')
      if (id in own || id in externalCommands) continue
      const load = (): Promise<Command> => loadCommand(plugin.name, name, flags, terminal)
      // If loading fails, help shows only the summary, and running the command reports the error.
      const loaded = isCommandTyped(name, typed) ? await load().catch(() => undefined) : undefined
      externalCommands[id] = loaded ?? createPlaceholder(summary, load)
    }
  return externalCommands
}

/** True if external commands may be called or listed. Other calls skip the search. */
function mayNameExternalCommand(first: string | undefined, own: CommandMap): boolean {
  if (first === undefined || first === 'help' || first === 'completion') return true
  return !Object.keys(own).some(id => id.split(':')[0] === first)
}

function isCommandTyped(name: string, typed: readonly string[]): boolean {
  const words = typed[0] === 'help' ? typed.slice(1) : typed
  return name.split(' ').every((word, i) => word === words[i])
}

async function listConfiguredPlugins(flags: SourceFlags, { cwd, environment }: Terminal): Promise<NamedPlugin[]> {
  const { listNamedPlugins } = await import('../config/index.ts')
  return listNamedPlugins({ file: flags.config, env: flags.env, cwd, environment }).catch(() => [])
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

async function loadCommand(plugin: string, name: string, flags: SourceFlags, terminal: Terminal): Promise<Command> {
  const source = await loadSource(flags, terminal, 'leave')
  const { [plugin]: spec } = source.config.plugins
  const config = { ...source.config, plugins: spec === undefined ? {} : { [plugin]: spec } }
  const locate = (finding: Finding) => locateProblem(source, finding)
  const [chosen] = await importPlugins(config, source.directory, locate)
  const spoken = (await chosen?.plugin.commands?.())?.commands[name]
  if (spoken !== undefined) return createPluginCommand(spoken, ['plugins', plugin, 'options'])
  const reason = `its package.json declares the command "${name}", which the plugin does not provide`
  throw gatewayError('GW_PLUGIN_LOAD', { plugin, why: reason })
}

/** Lazily loads an external command. */
function createPlaceholder(summary: string, load: () => Promise<Command>): Command {
  return {
    ...{ summary, strict: false, args: {}, flags: CONFIG_FLAGS },
    run: async (argv, context) => (await load()).run(argv, context),
  }
}

/** Command words: `budget show`. */
const WORDS = /^[a-z][\w-]*( [a-z][\w-]*)*$/

/**
 * Lists the commands that a plugin's package declares, each with a summary: `"tapgate": { "commands": { … } }` in the
 * nearest package.json. Runs no plugin code. Returns an empty list if the file is unreadable.
 */
function listDeclaredCommands(use: string, directory: string): [words: string, summary: string][] {
  try {
    const { tapgate } = readManifest(dirname(resolvePluginFile(use, directory)))
    const commands = isObject(tapgate) && isObject(tapgate.commands) ? tapgate.commands : {}
    return Object.entries(commands).flatMap(([command, summary]) =>
      WORDS.test(command) && typeof summary === 'string' ? [[command, summary]] : [],
    )
  } catch {
    return []
  }
}

function readManifest(directory: string): Record<string, unknown> {
  const file = join(directory, 'package.json')
  if (existsSync(file)) {
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isObject(manifest) ? manifest : {}
  }
  const above = dirname(directory)
  return above === directory ? {} : readManifest(above)
}
