import { boolean, string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand } from '../gateway-command.ts'

export default class Serve extends GatewayCommand {
  static override summary = 'Run the gateway.'
  static override description = [
    'SIGTERM and SIGINT let what is open end and then stop; a second one stops at once.',
    'SIGHUP reads the configuration again; where it is invalid the running one stays.',
    'The log is on stderr. stdout belongs to a client on stdio.',
  ].join(' ')
  static override examples = [
    'gateway serve',
    'gateway serve --config gateway.yaml --env production',
    'gateway serve --stdio',
    'gateway serve --watch --set log.level=debug',
  ]
  static override flags = {
    stdio: boolean({ summary: 'Also serve one client on stdin and stdout; ends when it goes away.' }),
    profile: string({ helpValue: '<name>', summary: 'The profile that the client on stdio gets.' }),
    watch: boolean({ summary: 'Read the configuration again when its files change.' }),
    fresh: boolean({ summary: 'Forget what earlier runs have saved of the servers.' }),
    ...CONFIG_FLAGS,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Serve)
    const { serve } = await import('../serve.ts')
    return serve(flags, this.terminal, process)
  }
}
