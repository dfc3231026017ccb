import { string as argument } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'

export default class Import extends GatewayCommand {
  static override summary = "Write a gateway.yaml from clients' lists of MCP servers."
  static override strict = false
  static override description = [
    'Reads the files of Claude, Cursor, VS Code, Gemini, Codex, opencode, Windsurf, Zed, Goose and others (JSON, TOML, YAML),',
    'and servers-config.json with local and remote tools. Says what it could not carry over.',
  ].join(' ')
  static override examples = [
    'gateway import ~/.claude.json',
    'gateway import ~/.codex/config.toml .vscode/mcp.json --secrets secrets',
    'gateway import .vscode/mcp.json --dry-run',
    'gateway import servers-config.json --remote https://tools.example.com/mcp',
  ]
  static override args = {
    file: argument({ required: true, description: 'The file to read; more may follow.', ignoreStdin: true }),
  }
  static override flags = {
    output: string({
      char: 'o',
      default: 'gateway.yaml',
      helpValue: '<file>',
      summary: 'Where to write the configuration.',
    }),
    force: boolean({ summary: 'Overwrite a file that exists.' }),
    'dry-run': boolean({ summary: 'Print the configuration instead of writing it.' }),
    remote: string({
      default: '${REMOTE_GATEWAY_URL}',
      helpValue: '<url>',
      summary: 'Where the remote tools of servers-config.json are served.',
    }),
    secrets: string({
      helpValue: '<directory>',
      summary: 'Put each token into a file of its own there, for the owner only, and refer to it.',
    }),
    ...JSON_FLAG,
  }

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Import)
    const { importServers, importLines } = await import('../import/import.ts')
    const { 'dry-run': dryRun, ...rest } = flags
    const imported = await importServers({
      ...rest,
      dryRun,
      files: argv.map(String),
      cwd: this.terminal.cwd,
      environment: this.terminal.environment,
    })
    if (flags.json) return this.terminal.out.json(imported)
    for (const line of importLines(imported, this.terminal)) this.terminal.out.line(line)
    for (const note of imported.notes)
      this.terminal.err.line(`${this.terminal.err.paint('yellow', 'note')} ${note}`)
  }
}
