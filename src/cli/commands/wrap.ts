import { integer, string } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'

export default class Wrap extends GatewayCommand {
  static override summary = 'Put the gateway in front of one server, without a configuration file.'
  static override description = [
    'The command after -- is a server that speaks MCP on stdio. Its names stay as they are.',
    'Only problems are logged. It gets the usual variables of our environment and those named with --env-var.',
  ].join(' ')
  static override usage =
    'wrap [--name <name>] [--env-var <key[=value]>...] [--http <port>] -- COMMAND [ARGS...]'
  static override examples = [
    'gateway wrap -- npx -y @modelcontextprotocol/server-memory',
    'gateway wrap --http 8080 --env-var API_KEY -- node server.js --verbose',
  ]
  static override strict = false
  static override flags = {
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
  }

  async run(): Promise<number> {
    const { before, command } = split(this.argv)
    const { flags, argv } = await this.parse(Wrap, before)
    const { wrap } = await import('../serve/wrap.ts')
    const options = { name: flags.name, variables: flags['env-var'] ?? [], port: flags.http }
    return wrap({ ...options, command, stray: argv as string[] }, this.terminal, this.host)
  }
}

// The parser would sort and merge repeated arguments of the wrapped command.
function split(argv: readonly string[]): { before: string[]; command: string[] } {
  const at = argv.indexOf('--')
  return at === -1
    ? { before: [...argv], command: [] }
    : { before: argv.slice(0, at), command: argv.slice(at + 1) }
}
