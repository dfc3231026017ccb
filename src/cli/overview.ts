import { join } from 'node:path'
import type { Interfaces } from '@oclif/core'
import { findConfigFile } from './load-source.ts'
import { wrapWords } from './output/table.ts'
import type { Terminal } from './output/terminal.ts'

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
    ['logs', 'Show the stderr output of an upstream'],
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

/** Formats the one-screen help. `external` are external plugin commands. */
export async function formatOverview(
  { name, version, root, pjson }: Interfaces.Config,
  external: readonly string[],
  terminal: Terminal,
): Promise<string[]> {
  const { out } = terminal
  const rows = Object.entries(GROUPS).flatMap(([group, commands]) =>
    commands.map(([command, summary], i) => {
      const label = (i === 0 ? group : '').padEnd(8)
      return `${out.paint('bold', label)}${command.padEnd(11)}${summary}`
    }),
  )
  const moreCommands = [...MORE.split(' '), ...external].map((id, i, all) => (i < all.length - 1 ? `${id},` : id))
  const homepage: unknown = pjson['homepage']
  return [
    `${name} ${version}, an MCP gateway: one address for all your MCP servers`,
    '',
    ...rows,
    ...wrapWords(out.paint('bold', 'more   '), moreCommands, { ...out, width: out.width ?? 80 }),
    '',
    `next:   gateway ${await findNextCommand(terminal)}`,
    'help:   gateway <command> --help, gateway help all',
    `docs:   ${typeof homepage === 'string' ? homepage : join(root, 'docs')}`,
  ]
}

/** Suggests a command for the working directory. */
async function findNextCommand(terminal: Terminal): Promise<'init' | 'serve' | 'ps'> {
  const { environment } = terminal
  const file = await findConfigFile({}, terminal).catch(() => undefined)
  if (file === undefined) return 'init'
  const { findLivingSockets } = await import('../control/sockets.ts')
  const sockets = await findLivingSockets({ file, env: environment['GATEWAY_ENV'], environment }).catch(() => [])
  return sockets.length > 0 ? 'ps' : 'serve'
}
