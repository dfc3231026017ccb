import { integer, string } from '@oclif/core/flags'
import { createCommand, CONFIG_FLAGS, JSON_FLAG, booleanFlag } from '../command.ts'

/** Commands that are a gateway. */
export const SERVE_COMMANDS = {
  serve: createCommand({
    summary: 'Run the gateway.',
    description: [
      'SIGTERM and SIGINT let what is open end and then stop; a second one stops at once.',
      'SIGHUP reads the configuration again; where it is invalid the running one stays.',
      'The log is on stderr. stdout belongs to a client on stdio.',
    ],
    examples: [
      'gateway serve',
      'gateway serve --config gateway.yaml --env production',
      'gateway serve --stdio',
      'gateway serve --watch --set log.level=debug',
    ],
    flags: {
      stdio: booleanFlag({
        summary: 'Serve one client on stdin and stdout, and open no other listener; ends when it goes away.',
      }),
      'with-listeners': booleanFlag({
        summary: 'With --stdio: open the listeners of the configuration as well.',
      }),
      profile: string({ helpValue: '<name>', summary: 'The profile that the client on stdio gets.' }),
      watch: booleanFlag({ summary: 'Read the configuration again when its files change.' }),
      detach: booleanFlag({ summary: 'Run in the background, as gateway up does.' }),
      'as-background': booleanFlag({ hidden: true, summary: 'Be the gateway in the background.' }),
      'until-idle': booleanFlag({
        hidden: true,
        summary: 'Stop when no client has been there for shutdown.idle.',
      }),
      fresh: booleanFlag({ summary: 'Forget what earlier runs have saved of the servers.' }),
      ...CONFIG_FLAGS,
    },
    async run({ flags, terminal, host }) {
      if (flags.detach) return (await import('../background/up.ts')).runUp(flags, terminal, host)
      return (await import('../serve/serve.ts')).runServe(flags, terminal, host)
    },
  }),

  wrap: createCommand({
    summary: 'Put the gateway in front of one server, without a configuration file.',
    description: [
      'The command after -- is a server that speaks MCP on stdio. Its names stay as they are.',
      'Only problems are logged. It gets the usual variables of our environment and those named with --env-var.',
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
        summary: 'Name shown to clients and in the log. Default: after the command.',
      }),
      'env-var': string({
        helpValue: '<key[=value]>',
        multiple: true,
        multipleNonGreedy: true,
        summary: 'A variable for the server; without a value, ours is handed on.',
      }),
      http: integer({
        helpValue: '<port>',
        min: 0,
        max: 65535,
        summary: 'Listen for HTTP on this port of 127.0.0.1 instead of stdio.',
      }),
      ...JSON_FLAG,
    },
    async run({ flags, words, passthrough, terminal, host }) {
      const { runWrap } = await import('../serve/wrap.ts')
      const options = { name: flags.name, variables: flags['env-var'] ?? [], port: flags.http }
      return runWrap({ ...options, command: passthrough, stray: words }, terminal, host)
    },
  }),
}
