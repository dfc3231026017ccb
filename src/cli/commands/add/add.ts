import { string as argument } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand, JSON_FLAG } from '../../base-command.ts'
import { REGISTRY_FLAGS } from './search.ts'

export default class Add extends GatewayCommand {
  static override summary =
    'Add a server to gateway.yaml: from a registry, a package, an image, a URL or a command.'
  static override description = [
    'Shows the change, starts the server once (in a sandbox where there is one), shows its tools, and then asks.',
    'Comments are kept, and the file before is gateway.yaml.bak. What does not start is not added, but with --no-start.',
  ].join(' ')
  static override usage =
    'add [<what>] [--env-var <key=value>...] [--header <line>...] [--name <name>] [-- COMMAND | ARGS...]'
  static override examples = [
    'gateway add io.github.owner/server',
    'gateway add npm:@modelcontextprotocol/server-memory@2026.1.26',
    "gateway add https://mcp.example.com/mcp --header 'Authorization: Bearer ${WEB_TOKEN}'",
    'gateway add npm:@modelcontextprotocol/server-filesystem@2026.1.14 -- /home/me/notes',
    'gateway add openapi:./petstore.json --name pets --server https://petstore.example.com/v1',
    'gateway add --name notes --yes -- node ./notes.js',
  ]
  static override strict = false
  static override args = {
    what: argument({
      description: 'A name of the registry, npm:, pypi:, docker:, openapi:, or a URL.',
      ignoreStdin: true,
    }),
  }
  static override flags = {
    yes: boolean({ char: 'y', default: false, summary: 'Write without asking.' }),
    name: string({ helpValue: '<name>', summary: 'Its name among the upstreams. Default: made of its own.' }),
    'env-var': string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: '<key=value>',
      summary: 'A variable of its environment; a token goes into a file for you alone.',
    }),
    header: string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: '<line>',
      summary: "A header, as 'Name: value'; a token goes into a file for you alone.",
    }),
    arg: string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: '<name=value>',
      summary: 'A value that its registry entry asks for.',
    }),
    server: string({
      helpValue: '<url>',
      summary: 'For openapi: the URL that paths are appended to. Default: the one that its document names.',
    }),
    kind: string({
      helpValue: '<kind>',
      options: ['remote', 'npm', 'pypi', 'oci', 'nuget', 'sse'],
      summary: 'Which of several ways to run it. Default: the first, remote ones ahead.',
    }),
    'no-start': boolean({ default: false, summary: 'Add it without having started it.' }),
    'no-sandbox': boolean({ default: false, summary: 'Run it without a sandbox, also where there is one.' }),
    'dry-run': boolean({ default: false, summary: 'Show the change, and neither start nor write anything.' }),
    ...REGISTRY_FLAGS,
    config: CONFIG_FLAGS.config,
    ...JSON_FLAG,
  }

  async run(): Promise<number> {
    const at = this.argv.indexOf('--')
    const before = at === -1 ? this.argv : this.argv.slice(0, at)
    const command = at === -1 ? [] : this.argv.slice(at + 1)
    const { args, flags, argv } = await this.parse(Add, before)
    const { usage } = await import('../../add/target.ts')
    if (argv.length > 1)
      throw usage(`"${String(argv[1])}" is one thing too many; a command, or arguments, stand behind --`)
    const { add } = await import('../../add/say.ts')
    return add({ what: args.what, command, flags }, this.terminal, this.host)
  }
}
