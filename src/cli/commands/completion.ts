import { string } from '@oclif/core/args'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'

export default class Completion extends GatewayCommand {
  static override summary = 'Print a completion script for a shell.'
  static override description =
    'Make the directory of the file first where it is not there, as with mkdir -p ~/.local/share/bash-completion/completions; a new shell then completes.'
  static override examples = [
    'gateway completion bash > ~/.local/share/bash-completion/completions/gateway',
    'gateway completion zsh > "${fpath[1]}/_gateway"',
    'gateway completion fish > ~/.config/fish/completions/gateway.fish',
    'gateway completion powershell >> $PROFILE',
  ]
  static override args = {
    shell: string({
      required: true,
      options: ['bash', 'zsh', 'fish', 'powershell'],
      description: 'Which shell.',
      ignoreStdin: true,
    }),
  }
  static override flags = JSON_FLAG

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Completion)
    const { completionScript } = await import('../completion/script.ts')
    const loaded = this.config.commands.map(async command => [command.id, await command.load()] as const)
    const commands = Object.fromEntries(await Promise.all(loaded))
    const script = completionScript(args.shell, this.config.bin, commands)
    if (flags.json) return this.terminal.out.json({ shell: args.shell, script })
    this.terminal.out.line(script)
  }
}
