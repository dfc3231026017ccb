import { string as argument } from '@oclif/core/args'
import type { Command } from '@oclif/core/command'
import { boolean, string } from '@oclif/core/flags'
import type { CommandCall, CommandFlag, PluginCommand } from '../api/command.ts'
import { GatewayError, gatewayError } from '../errors/errors.ts'
import type { Plugin } from '../plugin.ts'
import { command, CONFIG_FLAGS, CONTROL_FLAGS, JSON_FLAG } from './command.ts'

/** The commands of our own plugins, by their ids. */
export async function commandsOf(plugins: readonly Plugin<never>[]): Promise<Record<string, Command.Class>> {
  const all = await Promise.all(
    plugins.map(async ({ name, claims, commands }) => {
      const found = (await commands?.())?.commands ?? {}
      return Object.entries(found).map(([words, spec]) => [
        words.replaceAll(' ', ':'),
        commandOf(spec, [claims?.section ?? name]),
      ])
    }),
  )
  return Object.fromEntries(all.flat()) as Record<string, Command.Class>
}

/** A command of a plugin, for oclif; `options` is the path of keys to the plugin's options. */
export function commandOf(spec: PluginCommand, options: readonly string[]): Command.Class {
  const args = Object.entries(spec.args ?? {}).map(
    ([name, { description, required = false, options: choices }]) => [
      name,
      argument({ description, required, ignoreStdin: true, ...(choices && { options: [...choices] }) }),
    ],
  )
  return command({
    ...{ summary: spec.summary, description: spec.description, usage: spec.usage, examples: spec.examples },
    takesRest: spec.takesRest,
    args: Object.fromEntries(args) as Command.Class['args'],
    flags: { ...flagsOf(spec.flags ?? {}), ...GATEWAY_FLAGS[spec.gateway ?? 'none'] },
    async run({ args, words, flags, terminal, host }) {
      const { callOf } = await import('./plugin-call.ts')
      const rest = words.slice(Object.keys(args).length)
      const given = { args, rest, flags } as Pick<CommandCall, 'args' | 'rest' | 'flags'>
      try {
        return (await spec.run(callOf(given, flags, options, terminal, host))) ?? 0
      } catch (error) {
        throw absent(error, options)
      }
    },
  })
}

/** An error, or the one that says that the gateway which was asked has not what the command is about. */
function absent(error: unknown, options: readonly string[]): unknown {
  return error instanceof GatewayError && error.code === 'GW_VERB_UNKNOWN'
    ? gatewayError('GW_NOT_CONFIGURED', { keys: options.join('.') })
    : error
}

/** Flags that come along with the gateway that a command is about. */
const GATEWAY_FLAGS = {
  none: JSON_FLAG,
  running: CONTROL_FLAGS,
  configuration: CONFIG_FLAGS,
  any: { ...CONFIG_FLAGS, socket: CONTROL_FLAGS.socket },
}

function flagsOf(flags: Readonly<Record<string, CommandFlag>>): Command.Class['flags'] {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flagOf(flag)]))
}

function flagOf({
  type,
  char,
  value,
  options,
  multiple,
  exclusive,
  ...flag
}: CommandFlag): Command.Class['flags'][string] {
  const shared = {
    ...flag,
    ...(char === undefined ? {} : { char: char as 'a' }),
    ...(exclusive === undefined ? {} : { exclusive: [...exclusive] }),
  }
  if (type === 'boolean') return boolean(shared)
  const one = {
    ...shared,
    ...(value === undefined ? {} : { helpValue: value }),
    ...(options === undefined ? {} : { options: [...options] }),
  }
  return multiple === true ? string({ ...one, multiple, multipleNonGreedy: true }) : string(one)
}
