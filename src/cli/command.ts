import { string as argument } from '@oclif/core/args'
import { Command } from '@oclif/core/command'
import { boolean, string } from '@oclif/core/flags'
import { Help } from '@oclif/core/help'
import type { Interfaces } from '@oclif/core'
import type { ArgInput, FlagInput, Options } from '@oclif/core/interfaces'
import type { Host, Terminal } from './output/terminal.ts'

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

/** One run of a command. */
interface CommandRun<F, A> {
  readonly args: A
  readonly flags: F & { json?: boolean }
  /** All words that are no flags. */
  readonly words: readonly string[]
  /** Words behind `--`, for commands that take another command. */
  readonly passthrough: readonly string[]
  readonly terminal: Terminal
  readonly host: Host
  readonly config: Interfaces.Config
  /** Prints a value with --json, and else its lines. */
  print(value: unknown, lines: () => readonly string[]): void
}

/** A command as data: what help shows of it, and what it does. */
export interface CommandSpec<F extends FlagOutput, A extends FlagOutput> {
  readonly summary: string
  readonly description?: string | readonly string[] | undefined
  readonly usage?: string | undefined
  readonly examples?: readonly string[] | undefined
  readonly args?: ArgInput<A>
  readonly flags: FlagInput<F>
  /** True if any number of words may follow the arguments. */
  readonly takesRest?: boolean | undefined
  /** True if words behind `--` are none of its own: the parser would sort and merge them. */
  readonly takesCommand?: boolean
  /** Returns the exit code, 0 by default. */
  run(run: CommandRun<F, A>): Promise<number | void>
}

// As oclif itself has it: the types of flags are inferred.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type FlagOutput = Record<string, any>

/** A command for oclif. Errors go to `main` as they are. */
export function createCommand<F extends FlagOutput, A extends FlagOutput>(
  spec: CommandSpec<F, A>,
): Command.Class {
  const { summary, description, usage, examples = [], args, flags, takesRest, takesCommand, run } = spec
  return class extends Command {
    static override summary = summary
    static override description = typeof description === 'object' ? description.join(' ') : description
    static override usage = usage
    static override examples = [...examples]
    static override strict = takesRest !== true && takesCommand !== true
    static override args = args ?? {}
    static override flags = flags

    async run(): Promise<number | void> {
      const { host, terminal } = this.config.options as HostedOptions
      const end = takesCommand === true ? this.argv.indexOf('--') : -1
      const [before, passthrough] =
        end === -1 ? [this.argv, []] : [this.argv.slice(0, end), this.argv.slice(end + 1)]
      const parsed = await this.parse<F, FlagOutput, A>(
        {
          flags,
          strict: takesRest !== true && takesCommand !== true,
          ...(args === undefined ? {} : { args }),
        },
        before,
      )
      const { out } = terminal
      return run({
        args: parsed.args,
        flags: parsed.flags,
        words: parsed.argv.map(String),
        ...{ passthrough, terminal, host, config: this.config },
        print(value, lines) {
          if ((parsed.flags as { json?: boolean }).json === true) out.json(value)
          else for (const line of lines()) out.line(line)
        },
      })
    }

    protected override catch(error: Error): Promise<never> {
      return Promise.reject(error)
    }
  }
}

/** A flag without a value. */
export function booleanFlag(options: Parameters<typeof boolean<boolean>>[0]) {
  return boolean(options)
}

/** A word that a command needs. */
export function requiredArgument(description: string) {
  return argument({ required: true, description, ignoreStdin: true })
}

/** A word that may be left out. */
export function optionalArgument(description: string) {
  return argument({ description, ignoreStdin: true })
}

const helpGroup = 'GLOBAL'

/** Refuses an empty value, which a variable that is not set leaves behind. */
async function rejectEmpty(value: string): Promise<string> {
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
    parse: rejectEmpty,
    helpGroup,
    helpValue: '<file>',
    summary: 'Configuration file. Default: the nearest gateway.yaml upwards.',
  }),
  env: string({
    parse: rejectEmpty,
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
    parse: rejectEmpty,
    helpGroup,
    helpValue: '<file>',
    summary: 'Control socket of the gateway. Default: that of the one which runs with the configuration.',
  }),
  ...JSON_FLAG,
}

/** Flags that choose a gateway, for every command that asks one as a client does. */
export const QUERY_FLAGS = {
  fresh: boolean({
    summary:
      'Start a gateway for this command though one runs, as --set does too; it writes to no audit and counts on no limit.',
  }),
  ...CONFIG_FLAGS,
  socket: CONTROL_FLAGS.socket,
}
