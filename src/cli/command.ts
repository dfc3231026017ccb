import { string as argument } from '@oclif/core/args'
import { boolean, string } from '@oclif/core/flags'
import { parse } from '@oclif/core/parser'
import type { Interfaces } from '@oclif/core'
import type { ArgInput, FlagInput } from '@oclif/core/interfaces'
import type { CommandCall } from '../api/command.ts'
import { FORMAT_FLAG as FORMAT } from '../api/command.ts'
import { printReport } from './output/report.ts'
import type { Host, Terminal } from './output/terminal.ts'

/** A command, as help and completion read it. */
export interface Command {
  readonly summary: string
  readonly description?: string | undefined
  readonly usage?: string | undefined
  readonly examples?: readonly string[] | undefined
  readonly args: ArgInput
  readonly flags: FlagInput
  /** False if more arguments may follow. */
  readonly strict: boolean
  /** Runs it with the arguments after its name; returns the exit code, 0 by default. */
  run(argv: readonly string[], context: CommandContext): Promise<number | void>
}

/** Commands by id: their words, joined by colons. */
export type CommandMap = Readonly<Record<string, Command>>

/** package.json and its directory. */
export interface OwnManifest {
  readonly root: string
  readonly manifest: Interfaces.PJSON
}

export interface CommandContext {
  readonly terminal: Terminal
  readonly host: Host
  /** All commands, with those from external plugins. */
  readonly commands: CommandMap
  /** External plugin commands, as typed. */
  readonly external: readonly string[]
  readonly own: OwnManifest
}

interface CommandRun<F, A> extends CommandContext {
  readonly args: A
  readonly flags: F & { json?: boolean }
  /** Positional arguments. */
  readonly positionals: readonly string[]
  /** Arguments after `--`, for commands that take another command. */
  readonly passthrough: readonly string[]
  /** Prints a value with --json, its findings with a --format for CI, else its lines. */
  readonly print: CommandCall['print']
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
  run(run: CommandRun<F, A>): Promise<number | void>
}

// The same type as in oclif, so that flag types are inferred.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type FlagOutput = Record<string, any>

/** Creates a command, whose flags and arguments are parsed by oclif. */
export function createCommand<F extends FlagOutput, A extends FlagOutput>(spec: CommandSpec<F, A>): Command {
  const { description, args, flags, takesRest, takesCommand, run, ...texts } = spec
  const strict = takesRest !== true && takesCommand !== true
  return {
    ...texts,
    description: typeof description === 'object' ? description.join(' ') : description,
    ...{ args: args ?? {}, flags, strict },
    async run(argv, context) {
      const end = takesCommand === true ? argv.indexOf('--') : -1
      const [before, passthrough] = end === -1 ? [argv, []] : [argv.slice(0, end), argv.slice(end + 1)]
      const input = { flags, strict, ...(args === undefined ? {} : { args }) }
      const parsed = await parse<F, FlagOutput, A>([...before], input)
      return run({
        ...context,
        ...{ args: parsed.args, flags: parsed.flags, positionals: parsed.argv.map(String), passthrough },
        print: (...printed) => printReport(parsed.flags, context.terminal, printed),
      })
    },
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

/** Output for people, programs and CI. */
export const FORMAT_FLAG = {
  format: string({ ...FORMAT, helpValue: FORMAT.value }),
}

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
  'env-file': string({
    helpGroup,
    helpValue: '<file>',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Read variables for placeholders from a .env file; repeatable. Variables of the environment win.',
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

/** Flag that names a request's caller. */
export const CALLER_FLAG = {
  as: string({
    parse: rejectEmpty,
    helpValue: '<caller>',
    summary: 'Caller: key:<name>, token:<subject> or anonymous (default).',
  }),
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
