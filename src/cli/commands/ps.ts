import { boolean } from '@oclif/core/flags'
import { CONTROL_FLAGS, GatewayCommand } from '../base-command.ts'

export default class Ps extends GatewayCommand {
  static override summary = 'Show how a running gateway and its upstreams do.'
  static override description = [
    'State, protocol, process, time since its start, restarts, calls in flight and waiting, memory of the whole process',
    'tree (Linux), and what is or was wrong.',
  ].join(' ')
  static override usage = 'ps [-w | -a | -q] [--json] [-c <file>] [--env <name>] [--socket <file>]'
  static override examples = ['gateway ps', 'gateway ps --watch', 'gateway ps --all', 'gateway ps --json']
  static override flags = {
    watch: boolean({ char: 'w', exclusive: ['all'], summary: 'Show it again every second.' }),
    quiet: boolean({
      char: 'q',
      exclusive: ['watch', 'all', 'json'],
      summary: 'Names of the upstreams only.',
    }),
    all: boolean({ char: 'a', summary: 'Every gateway that you run, whatever its configuration.' }),
    ...CONTROL_FLAGS,
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Ps)
    const { ps, psLines, watchPs } = await import('../remote/ps.ts')
    if (flags.all) return this.#all(flags.json)
    if (flags.watch) return watchPs(flags, this.terminal)
    const now = await ps(flags, this.terminal)
    if (flags.json) return this.terminal.out.json(now)
    const lines = flags.quiet
      ? now.upstreams.map(({ name }) => name)
      : psLines(now, Date.now(), this.terminal)
    for (const line of lines) this.terminal.out.line(line)
  }

  async #all(json: boolean): Promise<void> {
    const [{ allRunning }, { psLines }] = await Promise.all([
      import('../remote/running-gateways.ts'),
      import('../remote/ps.ts'),
    ])
    const all = await allRunning(this.terminal)
    if (json) return this.terminal.out.json(all)
    const blocks = all.map(one => [...psLines(one, Date.now(), this.terminal), ''])
    for (const line of blocks.length === 0 ? ['no gateway runs'] : blocks.flat()) this.terminal.out.line(line)
  }
}
