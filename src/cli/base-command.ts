import { Command } from '@oclif/core/command'
import { boolean, string } from '@oclif/core/flags'
import type { Host } from './host.ts'
import type { HostedOptions } from './output/help.ts'
import type { Terminal } from './output/terminal.ts'

const helpGroup = 'GLOBAL'

/** Refuses an empty value, which a variable that is not set leaves behind. */
async function filled(value: string): Promise<string> {
  if (value !== '') return value
  const { CLIError } = await import('@oclif/core/errors')
  throw new CLIError('It has an empty value: give it another one, or leave it out')
}

/** `--json`, for every command. */
export const JSON_FLAG = { json: boolean({ helpGroup, summary: 'Print JSON on stdout, errors included.' }) }

/** Flags that choose a configuration, for every command that reads one. */
export const CONFIG_FLAGS = {
  config: string({
    char: 'c',
    parse: filled,
    helpGroup,
    helpValue: '<file>',
    summary: 'Configuration file. Default: the nearest gateway.yaml upwards.',
  }),
  env: string({
    parse: filled,
    helpGroup,
    helpValue: '<name>',
    summary: 'Environment: gateway.<name>.yaml goes on top. Default: GATEWAY_ENV.',
  }),
  set: string({
    helpGroup,
    helpValue: '<key=value>',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Set one value on top of the files: --set listeners.main.port=9000.',
  }),
  ...JSON_FLAG,
}

/** Flags that choose a running gateway, for every command that steers one. */
export const CONTROL_FLAGS = {
  config: CONFIG_FLAGS.config,
  env: CONFIG_FLAGS.env,
  socket: string({
    parse: filled,
    helpGroup,
    helpValue: '<file>',
    summary: 'Control socket of the gateway. Default: that of the one which runs with the configuration.',
  }),
  ...JSON_FLAG,
}

/** Flags that choose a gateway, for every command that asks one as a client does. */
export const ASK_FLAGS = {
  fresh: boolean({
    summary:
      'Start a gateway for this command though one runs, as --set does too; it writes to no audit and counts on no limit.',
  }),
  ...CONFIG_FLAGS,
  socket: CONTROL_FLAGS.socket,
}

/** Base of every command: the process it runs in, and errors that go to `main` as they are. */
export abstract class GatewayCommand extends Command {
  protected get host(): Host {
    return (this.config.options as HostedOptions).host
  }

  protected get terminal(): Terminal {
    return (this.config.options as HostedOptions).terminal
  }

  protected override catch(error: Error): Promise<never> {
    return Promise.reject(error)
  }
}
