import type { Command } from '@oclif/core/command'
import { Config } from '@oclif/core/config'
import { getHelpFlagAdditions, normalizeArgv } from '@oclif/core/help'
import type { Interfaces } from '@oclif/core'
import { COMMANDS } from './commands.ts'
import { COMPLETE_COMMAND, printCompletions } from './completion.ts'
import { loadExternalCommands } from './plugin-commands.ts'
import type { Host, Terminal } from './output/terminal.ts'
import type { HostedOptions } from './command.ts'
import { showHelp } from './command.ts'

/** package.json and its directory. */
export interface OwnManifest {
  readonly root: string
  readonly manifest: Interfaces.PJSON
}

/** Runs a command line with oclif and returns its exit code. */
export async function runWithOclif(
  argv: readonly string[],
  own: OwnManifest,
  host: Host,
  terminal: Terminal,
): Promise<number> {
  const added = await loadExternalCommands(argv, COMMANDS, terminal)
  const commands = { ...COMMANDS, ...added }
  if (argv[0] === COMPLETE_COMMAND) return printCompletions(argv.slice(2), commands, terminal)
  const plugin = createOclifPlugin(commands, own)
  const plugins = new Map([[plugin.name, plugin]])
  const external = Object.keys(added).map(id => id.replaceAll(':', ' '))
  const options: HostedOptions = {
    ...{ root: own.root, pjson: own.manifest, plugins },
    ...{ host, terminal, external },
  }
  const config = await Config.load(options)
  const [id = '', ...args] = normalizeArgv(config, [...argv])
  const command = config.findCommand(id)
  if (wantsHelp(argv, config)) return showHelp([...argv], config)
  if (command === undefined && config.findTopic(id) !== undefined) return showHelp([id], config)
  const code: unknown = await config.runCommand(id, args, command)
  return typeof code === 'number' ? code : 0
}

function wantsHelp(argv: readonly string[], config: Interfaces.Config): boolean {
  const end = argv.indexOf('--')
  const flags = getHelpFlagAdditions(config)
  return argv.length === 0 || argv.slice(0, end === -1 ? undefined : end).some(argument => flags.includes(argument))
}

/** Registers the commands as the only oclif plugin, instead of importing them from a file. */
function createOclifPlugin(
  commands: Readonly<Record<string, Command.Class>>,
  { root, manifest }: OwnManifest,
): Interfaces.Plugin {
  const loadable = Object.entries(commands).map(([id, command]) => createLoadable(id, command))
  return {
    ...{
      _base: '',
      alias: manifest.name,
      name: manifest.name,
      version: manifest.version,
      root,
      pjson: manifest,
    },
    ...{ type: 'core', isRoot: true, valid: true, moduleType: 'module', hasManifest: false, hooks: {} },
    commands: loadable.sort((a, b) => (a.id < b.id ? -1 : 1)),
    commandIDs: Object.keys(commands),
    commandsDir: undefined,
    topics: Object.entries(manifest.oclif.topics ?? {}).map(([name, topic]) => ({ ...topic, name })),
    options: { root },
    load: () => Promise.resolve(),
    findCommand: (id: string) => Promise.resolve(commands[id]),
  } as unknown as Interfaces.Plugin
}

function createLoadable(id: string, command: Command.Class): Command.Loadable {
  command.id = id
  const { summary, description, usage, examples, strict, hidden, aliases, hiddenAliases } = command
  const addNames = <T extends object>(all: Readonly<Record<string, T>>): Record<string, T & { name: string }> =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, { ...one, name }]))
  return {
    ...{ id, summary, description, usage, examples, strict, hidden, aliases, hiddenAliases },
    args: addNames(command.args),
    flags: addNames(command.flags),
    hasDynamicHelp: false,
    pluginType: 'core',
    load: () => Promise.resolve(command),
  }
}
