import { boolean, string } from '@oclif/core/flags'
import { CONFIG_FLAGS, GatewayCommand } from '../base-command.ts'

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
    stdio: boolean({
      summary: 'Serve one client on stdin and stdout, and open no other listener; ends when it goes away.',
    }),
    'with-listeners': boolean({ summary: 'With --stdio: open the listeners of the configuration as well.' }),
    profile: string({ helpValue: '<name>', summary: 'The profile that the client on stdio gets.' }),
    watch: boolean({ summary: 'Read the configuration again when its files change.' }),
    detach: boolean({ summary: 'Run in the background, as gateway up does.' }),
    'as-background': boolean({ hidden: true, summary: 'Be the gateway in the background.' }),
    'until-idle': boolean({ hidden: true, summary: 'Stop when no client has been there for shutdown.idle.' }),
    fresh: boolean({ summary: 'Forget what earlier runs have saved of the servers.' }),
    ...CONFIG_FLAGS,
  }

  async run(): Promise<number> {
    const { flags } = await this.parse(Serve)
    if (flags.detach) {
      const { sayUp } = await import('../background/up.ts')
      return sayUp(flags, this.terminal, this.host)
    }
    const { serve } = await import('../serve/serve.ts')
    return serve(flags, this.terminal, this.host)
  }
}
