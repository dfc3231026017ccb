import { Help } from '@oclif/core/help'
import type { Interfaces } from '@oclif/core'
import type { Options } from '@oclif/core/interfaces'
import type { Host } from '../host.ts'
import type { Terminal } from './terminal.ts'

/** Options of oclif that lead each command to the process it runs in. */
export type HostedOptions = Options & { readonly host: Host; readonly terminal: Terminal }

/** Prints help for a command, a topic or everything. */
export async function showHelp(argv: string[], config: Interfaces.Config): Promise<number> {
  await new TerminalHelp(config, config.pjson.oclif.helpOptions).showHelp(argv)
  return 0
}

class TerminalHelp extends Help {
  protected override log(...lines: string[]): void {
    const { options } = this.config as unknown as { readonly options: HostedOptions }
    options.terminal.out.line(lines.join(' '))
  }
}
