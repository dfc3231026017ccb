import { boolean, string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand } from '../../base-command.ts'

export default class Attach extends GatewayCommand {
  static override summary = 'Connect a client on stdin and stdout to the gateway that runs in the background.'
  static override description = [
    'Editors start this in place of their servers: all of them share one gateway, and each server runs once. Where none',
    'runs, one is started; when it restarts, the session goes on at the next one.',
  ].join(' ')
  static override examples = ['gateway attach', 'gateway attach --config gateway.yaml --profile readers']
  static override flags = {
    profile: string({ helpValue: '<name>', summary: 'The profile that the client gets.' }),
    label: string({
      helpValue: '<name>',
      summary:
        'A name for the conversation: clients with the same one share servers with isolation: session.',
    }),
    'no-start': boolean({ summary: 'Fail where no gateway runs.' }),
    ...CONFIG_FLAGS,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Attach)
    const { attach } = await import('../../background/attach.ts')
    return attach(flags, this.host)
  }
}
