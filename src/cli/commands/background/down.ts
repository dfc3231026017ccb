import { CONTROL_FLAGS, GatewayCommand } from '../../base-command.ts'

export default class Down extends GatewayCommand {
  static override summary = 'Stop the gateway of a configuration.'
  static override description =
    'What is open ends first, as after SIGTERM. Clients that are attached start it again.'
  static override examples = ['gateway down', 'gateway down --config gateway.yaml']
  static override flags = CONTROL_FLAGS

  async run(): Promise<void> {
    const { flags } = await this.parse(Down)
    const { down } = await import('../../background/up.ts')
    const stopped = await down(flags, this.terminal)
    if (flags.json) this.terminal.out.json(stopped)
    else this.terminal.out.line(`stopped pid ${stopped.pid}`)
  }
}
