import { boolean, string } from '@oclif/core/flags'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'

export default class Init extends GatewayCommand {
  static override summary =
    'Make one gateway of the servers that clients on this machine have, and connect them to it.'
  static override description = [
    'Finds the settings of clients, takes each server once, moves secrets into files of their own, writes a configuration,',
    'starts it in the background and connects the clients. Asks before it writes. Where no client has a server it offers',
    'three to begin with. Exit codes: 0 done, 1 you said no, or something went wrong after it was written, 2 it could not be written.',
  ].join(' ')
  static override examples = [
    'gateway init',
    'gateway init --dry-run',
    'gateway init --yes --json',
    'gateway init --starter files --no-connect',
  ]
  static override flags = {
    output: string({
      char: 'o',
      default: 'gateway.yaml',
      helpValue: '<file>',
      summary: 'Where to write the configuration.',
    }),
    yes: boolean({ char: 'y', summary: 'Do not ask: take all servers, and connect all clients.' }),
    'dry-run': boolean({ summary: 'Print the configuration, and write nothing.' }),
    starter: string({
      options: ['files', 'memory', 'everything'],
      summary: 'Begin with this server, in place of those of clients.',
    }),
    'no-start': boolean({ summary: 'Do not start the gateway.' }),
    'no-connect': boolean({ summary: 'Leave the settings of clients as they are.' }),
    force: boolean({ summary: 'Overwrite a configuration that is there.' }),
    ...JSON_FLAG,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Init)
    const { sayInit } = await import('../init/say.ts')
    return sayInit(flags, this.terminal, this.host)
  }
}
