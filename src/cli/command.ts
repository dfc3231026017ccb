import { string as argument } from '@oclif/core/args'
import { Command } from '@oclif/core/command'
import { boolean, string } from '@oclif/core/flags'
import { Help } from '@oclif/core/help'
import type { Interfaces } from '@oclif/core'
import type { ArgInput, FlagInput, Options } from '@oclif/core/interfaces'
import type { Host, Terminal } from './output/terminal.ts'

/** oclif options with the command's host process. */
export type HostedOptions = Options & {
  readonly host: Host
  readonly terminal: Terminal
  /** External plugin commands, as typed. */
  readonly external: readonly string[]
}

/** Prints help for a command or topic, an overview without one, or the full list for `all`. */
export async function showHelp(argv: string[], config: Interfaces.Config): Promise<number> {
  const names = argv.filter(arg => !arg.startsWith('-'))
  const { terminal, external } = (config as unknown as { readonly options: HostedOptions }).options
  if (names.length === 0) {
    const { formatOverview } = await import('./overview.ts')
    for (const line of await formatOverview(config, external, terminal)) terminal.out.line(line)
    return 0
  }
  const subject = names[0] === 'all' ? [] : argv
  await new TerminalHelp(config, config.pjson.oclif.helpOptions).showHelp(subject)
  return 0
}

class TerminalHelp extends Help {
  protected override log(...lines: string[]): void {
    const { options } = this.config as unknown as { readonly options: HostedOptions }
    options.terminal.out.line(lines.join(' '))
  }
}

interface CommandRun<F, A> {
  readonly args: A
  readonly flags: F & { json?: boolean }
  /** Positional arguments. */
  readonly positionals: readonly string[]
  /** Arguments after `--`, for commands that take another command. */
  readonly passthrough: readonly string[]
  readonly terminal: Terminal
  readonly host: Host
  readonly config: Interfaces.Config
  /** Prints a value with --json, else its lines. */
  print(value: unknown, lines: () => readonly string[]): void
}

/** Declarative command definition. */
export interface CommandSpec<F extends FlagOutput, A extends FlagOutput> {
  readonly summary: string
  readonly description?: string | readonly string[] | undefined
  readonly usage?: string | undefined
  readonly examples?: readonly string[] | undefined
  readonly args?: ArgInput<A>
  readonly flags: FlagInput<F>
  /** True if more arguments may follow. */
  readonly takesRest?: boolean | undefined
  /** True if arguments after `--` are passed through unparsed; the parser would sort and merge them. */
  readonly takesCommand?: boolean
  /** Returns the exit code, 0 by default. */
  run(run: CommandRun<F, A>): Promise<number | void>
}

// The same type as in oclif, so that flag types are inferred.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type FlagOutput = Record<string, any>

/** Creates an oclif command. Errors are passed to `main` unchanged. */
export function createCommand<F extends FlagOutput, A extends FlagOutput>(spec: CommandSpec<F, A>): Command.Class {
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
      const [before, passthrough] = end === -1 ? [this.argv, []] : [this.argv.slice(0, end), this.argv.slice(end + 1)]
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
        positionals: parsed.argv.map(String),
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

export function booleanFlag(options: Parameters<typeof boolean<boolean>>[0]) {
  return boolean(options)
}

export function requiredArgument(description: string) {
  return argument({ required: true, description, ignoreStdin: true })
}

export function optionalArgument(description: string) {
  return argument({ description, ignoreStdin: true })
}

const helpGroup = 'GLOBAL'

/** Rejects an empty value, the result of an unset variable. */
async function rejectEmpty(value: string): Promise<string> {
  if (value !== '') return value
  const { CLIError } = await import('@oclif/core/errors')
  throw new CLIError('The value is empty: set one, or omit it')
}

export const JSON_FLAG = { json: boolean({ helpGroup, summary: 'Print JSON on stdout, including errors.' }) }

/** Flags that select a configuration. */
export const CONFIG_FLAGS = {
  config: string({
    char: 'c',
    parse: rejectEmpty,
    helpGroup,
    helpValue: '<file>',
    summary: 'Configuration file. Default: the nearest gateway.yaml, searching upwards.',
  }),
  env: string({
    parse: rejectEmpty,
    helpGroup,
    helpValue: '<name>',
    summary: 'Environment: merges gateway.<name>.yaml over the configuration. Default: GATEWAY_ENV.',
  }),
  set: string({
    helpGroup,
    helpValue: '<key=value>',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Override one value: --set listeners.main.port=9000.',
  }),
  ...JSON_FLAG,
}

/** Flags that select a running gateway. */
export const CONTROL_FLAGS = {
  config: CONFIG_FLAGS.config,
  env: CONFIG_FLAGS.env,
  socket: string({
    parse: rejectEmpty,
    helpGroup,
    helpValue: '<file>',
    summary: 'Control socket of the gateway. Default: the running gateway of the configuration.',
  }),
  ...JSON_FLAG,
}

/** Flags that select a running or temporary gateway. */
export const QUERY_FLAGS = {
  fresh: boolean({
    summary:
      'Start a separate gateway for this command, as --set does; it writes no audit records and applies no rate limits.',
  }),
  ...CONFIG_FLAGS,
  socket: CONTROL_FLAGS.socket,
}
