import { string } from '@oclif/core/args'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'
import { COMPLETION_SCRIPTS } from '../completion.ts'

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
      options: Object.keys(COMPLETION_SCRIPTS),
      description: 'Which shell.',
      ignoreStdin: true,
    }),
  }
  static override flags = JSON_FLAG

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Completion)
    const script = COMPLETION_SCRIPTS[args.shell as keyof typeof COMPLETION_SCRIPTS]
    if (flags.json) return this.terminal.out.json({ shell: args.shell, script })
    this.terminal.out.line(script)
  }
}
