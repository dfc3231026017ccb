import { integer, string } from '@oclif/core/flags'
import { createCommand, CONFIG_FLAGS, JSON_FLAG, booleanFlag } from '../command.ts'

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
      detach: booleanFlag({ summary: 'Run in the background, like gateway up.' }),
      'as-background': booleanFlag({ hidden: true, summary: 'Run as the background gateway.' }),
      'until-idle': booleanFlag({
        hidden: true,
        summary: 'Stop after shutdown.idle without clients.',
      }),
      fresh: booleanFlag({ summary: 'Ignore saved server state from earlier runs.' }),
      ...CONFIG_FLAGS,
    },
    async run({ flags, terminal, host }) {
      if (flags.detach) return (await import('../background/up.ts')).runUp(flags, terminal, host)
      return (await import('../serve/serve.ts')).runServe(flags, terminal, host)
    },
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
      const { runWrap } = await import('../serve/wrap.ts')
      const options = { name: flags.name, variables: flags['env-var'] ?? [], port: flags.http }
      return runWrap({ ...options, command: passthrough, stray: positionals }, terminal, host)
    },
  }),
}
