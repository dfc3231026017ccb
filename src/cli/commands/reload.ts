import { CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Reload extends GatewayCommand {
  static override summary = 'Let a running gateway read its configuration again.'
  static override description = [
    'What is unchanged keeps its processes, connections and sessions. An invalid configuration changes nothing.',
    'Exit codes: 0 it is in force, 3 invalid configuration, 4 it could not be started, or no gateway runs.',
  ].join(' ')
  static override examples = ['gateway reload', 'gateway reload --config gateway.yaml --env production']
  static override flags = CONTROL_FLAGS

  async run(): Promise<void> {
    const { flags } = await this.parse(Reload)
    const { changeLines, reloadRunning } = await import('../remote/steer.ts')
    const changes = await reloadRunning(flags, this.terminal)
    if (flags.json) return this.terminal.out.json(changes)
    for (const line of changeLines(changes, this.terminal.out)) this.terminal.out.line(line)
  }
}
