import { join } from 'node:path'
import { Config } from '@oclif/core/config'
import { Help } from '@oclif/core/help'
import type { Interfaces } from '@oclif/core'
import type { Command, CommandContext } from './command.ts'
import { findConfigFile } from './load-source.ts'
import { wrapWords } from './output/table.ts'
import type { Terminal } from './output/terminal.ts'

/** Prints help for a command or topic, an overview without one, or the full list for `all`. */
export async function showHelp(argv: readonly string[], context: CommandContext): Promise<number> {
  const names = argv.filter(arg => !arg.startsWith('-'))
  const { out } = context.terminal
  if (names.length === 0) {
    for (const line of await formatOverview(context)) out.line(line)
    return 0
  }
  class TerminalHelp extends Help {
    protected override log(...lines: string[]): void {
      out.line(lines.join(' '))
    }
  }
  const { root, manifest: pjson } = context.own
  const plugin = createOclifPlugin(context)
  const config = await Config.load({ root, pjson, plugins: new Map([[plugin.name, plugin]]) })
  await new TerminalHelp(config, pjson.oclif.helpOptions).showHelp(names[0] === 'all' ? [] : [...argv])
  return 0
}

/** Registers the commands as the only oclif plugin, instead of importing them from a file. */
function createOclifPlugin({ commands, own: { root, manifest } }: CommandContext): Interfaces.Plugin {
  const loadable = Object.entries(commands).map(([id, command]) => createLoadable(id, command))
  const { name, version } = manifest
  return {
    ...{ _base: '', alias: name, name, version, root, pjson: manifest },
    ...{ type: 'core', isRoot: true, valid: true, moduleType: 'module', hasManifest: false, hooks: {} },
    commands: loadable.sort((a, b) => (a.id < b.id ? -1 : 1)),
    commandIDs: Object.keys(commands),
    commandsDir: undefined,
    topics: Object.entries(manifest.oclif.topics ?? {}).map(([topic, texts]) => ({ ...texts, name: topic })),
    options: { root },
    load: () => Promise.resolve(),
  } as unknown as Interfaces.Plugin
}

function createLoadable(id: string, command: Command) {
  const addNames = <T extends object>(all: Readonly<Record<string, T>>): Record<string, T & { name: string }> =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, { ...one, name }]))
  const { args, flags, run: _, ...texts } = command
  return {
    ...texts,
    id,
    args: addNames(args),
    flags: addNames(flags),
    aliases: [],
    hiddenAliases: [],
    pluginType: 'core',
  }
}

/** `gateway --help` groups: command and summary. */
const GROUPS: Readonly<Record<string, readonly (readonly [command: string, summary: string])[]>> = {
  start: [
    ['init', 'Create a gateway from the servers of your clients'],
    ['connect', 'Connect editors, agents and desktop apps to it'],
    ['add', 'Add a server from a registry, a package, a URL or a command'],
  ],
  run: [
    ['serve', 'Run the gateway in the foreground'],
    ['up, down', 'Start it in the background, stop it'],
    ['service', 'Run it at login'],
    ['ps', 'Show the gateway and its upstreams'],
    ['logs', 'Show the log, or the stderr output of an upstream'],
    ['doctor', 'Diagnose problems and fix the safe ones'],
  ],
  use: [
    ['tools', 'List the tools that clients see'],
    ['call', 'Call a tool, as a client would'],
    ['explain', 'Explain how a call would be handled'],
  ],
  change: [
    ['validate', 'Check a configuration'],
    ['plan', 'Show what a configuration change would do'],
    ['reload', 'Apply the changed configuration'],
    ['restart', 'Restart one upstream'],
  ],
  access: [
    ['login', 'Log in to an upstream with OAuth'],
    ['key new', 'Create an API key for a caller'],
    ['approvals', 'Approve or deny pending calls'],
    ['lock', 'Pin tool definitions against changes'],
  ],
}
const MORE = 'agents audit cache completion errors import inspect plugin policy search ui usage wrap'

/** Formats the one-screen help. */
async function formatOverview({ own, external, terminal }: CommandContext): Promise<string[]> {
  const { out } = terminal
  const { name, version, homepage } = own.manifest
  const rows = Object.entries(GROUPS).flatMap(([group, commands]) =>
    commands.map(([command, summary], i) => {
      const label = (i === 0 ? group : '').padEnd(8)
      return `${out.paint('bold', label)}${command.padEnd(11)}${summary}`
    }),
  )
  const moreCommands = [...MORE.split(' '), ...external].map((id, i, all) => (i < all.length - 1 ? `${id},` : id))
  return [
    `${name} ${version}, an MCP gateway: one address for all your MCP servers`,
    '',
    ...rows,
    ...wrapWords(out.paint('bold', 'more   '), moreCommands, { ...out, width: out.width ?? 80 }),
    '',
    `next:   gateway ${await findNextCommand(terminal)}`,
    'help:   gateway <command> --help, gateway help all',
    `docs:   ${typeof homepage === 'string' ? homepage : join(own.root, 'docs')}`,
  ]
}

/** Suggests a command for the working directory. */
async function findNextCommand(terminal: Terminal): Promise<'init' | 'serve' | 'ps'> {
  const { environment } = terminal
  const file = await findConfigFile({}, terminal).catch(() => undefined)
  if (file === undefined) return 'init'
  const { findLivingSockets } = await import('../control/sockets.ts')
  const sockets = await findLivingSockets({ file, env: undefined, environment }).catch(() => [])
  return sockets.length > 0 ? 'ps' : 'serve'
}
