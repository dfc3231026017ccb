import { integer, string } from '@oclif/core/flags'
import { getPlatform } from '../../util/platform.ts'
import { booleanFlag, CONFIG_FLAGS, CONTROL_FLAGS, createCommand, JSON_FLAG } from '../command.ts'

const { config, env, json } = CONTROL_FLAGS

export const BACKGROUND_COMMANDS = {
  attach: createCommand({
    summary: 'Connect a client on stdin and stdout to the background gateway.',
    description: [
      'Clients run this instead of their servers: all clients share one gateway, and each server runs once. Starts the',
      'gateway if it is not running; sessions continue after a restart.',
    ],
    examples: ['gateway attach', 'gateway attach --config gateway.yaml --profile readers'],
    flags: {
      profile: string({ helpValue: '<name>', summary: 'Profile for the client.' }),
      label: string({
        helpValue: '<name>',
        summary: 'Name of the conversation; clients with the same label share servers with isolation: session.',
      }),
      'no-start': booleanFlag({ summary: 'Fail if no gateway is running.' }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, host }) => (await import('../background/attach.ts')).attach(flags, host),
  }),

  up: createCommand({
    summary: 'Start the gateway in the background.',
    description: [
      'There is one per user and configuration; does nothing if it is already running. All attached clients share it and its',
      'servers. It also opens the configured listeners and writes a log file.',
    ],
    examples: ['gateway up', 'gateway up --config gateway.yaml --env production'],
    flags: {
      'until-idle': booleanFlag({
        hidden: true,
        summary: 'Stop after shutdown.idle without clients.',
      }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, terminal, host }) => (await import('../background/up.ts')).runUp(flags, terminal, host),
  }),

  down: createCommand({
    summary: 'Stop the gateway.',
    description: 'Open requests finish first, as after SIGTERM. Attached clients start it again.',
    examples: ['gateway down', 'gateway down --config gateway.yaml'],
    flags: CONTROL_FLAGS,
    async run({ flags, terminal, print }) {
      const { stopGateway } = await import('../background/up.ts')
      const stopped = await stopGateway(flags, terminal)
      print(stopped, () => [`stopped pid ${stopped.pid}`])
    },
  }),

  service: createCommand({
    summary: 'Write the file that runs the gateway at login: systemd, launchd or Task Scheduler.',
    description:
      'Prints the commands that enable and disable the service. It gets the PATH of this shell, but no secrets from its environment.',
    examples: ['gateway service', 'gateway service --dry-run', 'gateway service --platform darwin --dry-run'],
    flags: {
      'dry-run': booleanFlag({ summary: 'Print the service file without writing it.' }),
      platform: string({
        options: ['linux', 'darwin', 'win32'],
        default: getPlatform().name,
        defaultHelp: 'this system',
        summary: 'Target platform.',
      }),
      ...{ config, env, json },
    },
    run: async ({ flags, terminal, host }) => (await import('../service.ts')).runService(flags, terminal, host),
  }),

  status: createCommand({
    summary: 'Show whether the gateway is running, and the path of its log.',
    description: 'Exit codes: 0 running, 4 not running.',
    examples: ['gateway status', 'gateway status --json'],
    flags: {
      'to-attach': booleanFlag({ hidden: true, summary: 'Print only the socket for attaching.' }),
      ...CONTROL_FLAGS,
    },
    async run({ flags, terminal }) {
      const { findAttachSocket, runStatus } = await import('../background/up.ts')
      if (flags['to-attach']) return terminal.out.json(await findAttachSocket(flags, terminal))
      return runStatus(flags, terminal)
    },
  }),
}

/** Commands that run a gateway in the foreground. */
export const SERVE_COMMANDS = {
  serve: createCommand({
    summary: 'Run the gateway in the foreground.',
    description: [
      'SIGTERM and SIGINT finish open requests and stop; a second signal stops immediately.',
      'SIGHUP reloads the configuration; an invalid one is rejected.',
      'Logs go to stderr; stdout is reserved for a client on stdio.',
    ],
    examples: [
      'gateway serve',
      'gateway serve --config gateway.yaml --env production',
      'gateway serve --stdio',
      'gateway serve --watch --set log.level=debug',
    ],
    flags: {
      stdio: booleanFlag({
        summary: 'Serve one client on stdin and stdout, without other listeners; stops when the client disconnects.',
      }),
      'with-listeners': booleanFlag({
        summary: 'With --stdio, also open the configured listeners.',
      }),
      profile: string({ helpValue: '<name>', summary: 'Profile for the client on stdio.' }),
      watch: booleanFlag({ summary: 'Reload the configuration when its files change.' }),
      'as-background': booleanFlag({ hidden: true, summary: 'Run as the background gateway.' }),
      'until-idle': booleanFlag({
        hidden: true,
        summary: 'Stop after shutdown.idle without clients.',
      }),
      fresh: booleanFlag({ summary: 'Ignore saved server state from earlier runs.' }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, terminal, host }) => (await import('../serve/serve.ts')).runServe(flags, terminal, host),
  }),

  wrap: createCommand({
    summary: 'Run the gateway in front of one server, without a configuration.',
    description: [
      'The command after -- is an MCP server on stdio. Its names get no prefix.',
      'Logs only problems. Passes the standard environment variables and those of --env-var.',
    ],
    usage: 'wrap [--name <name>] [--env-var <key[=value]>...] [--http <port>] -- COMMAND [ARGS...]',
    examples: [
      'gateway wrap -- npx -y @modelcontextprotocol/server-memory',
      'gateway wrap --http 8080 --env-var API_KEY -- node server.js --verbose',
    ],
    takesCommand: true,
    flags: {
      name: string({
        helpValue: '<name>',
        summary: 'Name for clients and logs. Default: derived from the command.',
      }),
      'env-var': string({
        helpValue: '<key[=value]>',
        multiple: true,
        multipleNonGreedy: true,
        summary: 'Environment variable of the server; without a value, the current one is passed.',
      }),
      http: integer({
        helpValue: '<port>',
        min: 0,
        max: 65535,
        summary: 'Listen for HTTP on this port of 127.0.0.1 instead of stdio.',
      }),
      ...JSON_FLAG,
    },
    async run({ flags, positionals, passthrough, terminal, host }) {
      const { runWrap } = await import('../serve/serve.ts')
      const options = { name: flags.name, variables: flags['env-var'] ?? [], port: flags.http }
      return runWrap({ ...options, command: passthrough, stray: positionals }, terminal, host)
    },
  }),
}
