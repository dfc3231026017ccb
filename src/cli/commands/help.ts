import { string } from '@oclif/core/args'
import type { Command } from '@oclif/core/command'
import { gatewayError } from '../../errors/errors.ts'
import { GatewayCommand, JSON_FLAG } from '../base-command.ts'

export default class Help extends GatewayCommand {
  static override summary = 'Show help for a command.'
  static override examples = ['gateway help serve', 'gateway help plugin new', 'gateway help --json']
  static override args = {
    command: string({ description: 'The command.', ignoreStdin: true }),
  }
  static override strict = false
  static override flags = JSON_FLAG

  async run(): Promise<void> {
    const { argv, flags } = await this.parse(Help)
    if (flags.json) return this.terminal.out.json({ commands: await this.#described(argv.map(String)) })
    const { showHelp } = await import('../output/help.ts')
    await showHelp(argv as string[], this.config)
  }

  /** Commands whose names begin with these words, for programs; all of them where none are given. */
  async #described(words: readonly string[]): Promise<object[]> {
    const loaded = await Promise.all(this.config.commands.map(command => command.load()))
    const rows = loaded.map(({ id, summary = '', flags }) => ({
      name: id.replaceAll(':', ' '),
      summary,
      flags: Object.entries(flags).flatMap(([name, flag]) =>
        flag.hidden === true ? [] : describe(name, flag),
      ),
    }))
    const found = rows.filter(({ name }) => words.every((word, i) => name.split(' ')[i] === word))
    if (found.length > 0) return found
    throw gatewayError('GW_USAGE', { what: `there is no command "${words.join(' ')}"` })
  }
}

function describe(name: string, flag: Command.Class['flags'][string]): object {
  return {
    names: [`--${name}`, ...(flag.char === undefined ? [] : [`-${flag.char}`])],
    summary: flag.summary,
    takes: flag.type === 'option' ? (flag.helpValue ?? 'text') : 'nothing',
    values: flag.type === 'option' ? (flag.options ?? []) : [],
  }
}
