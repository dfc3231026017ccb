import { string as argument } from '@oclif/core/args'
import { string } from '@oclif/core/flags'
import { gatewayError } from '../../errors/errors.ts'
import type { Command, CommandMap } from '../command.ts'
import { createCommand, JSON_FLAG, optionalArgument, requiredArgument, booleanFlag } from '../command.ts'
import { COMPLETION_SCRIPTS } from '../completion.ts'

/** Scaffolding, completion and help. */
export const MISC_COMMANDS = {
  'plugin:new': createCommand({
    summary: 'Create a plugin with a schema and a passing test.',
    examples: ['gateway plugin new redact', 'gateway plugin new audit-trail --dir packages/plugins'],
    args: { name: requiredArgument('Lower-case letters, digits and dashes.') },
    flags: {
      dir: string({ default: 'plugins', helpValue: '<directory>', summary: 'Parent directory.' }),
      force: booleanFlag({ summary: 'Overwrite existing files.' }),
      ...JSON_FLAG,
    },
    async run({ args, flags, terminal, own: { root, manifest }, print }) {
      const { createPlugin, formatPluginSteps } = await import('../scaffold.ts')
      const own = { name: manifest.name, version: manifest.version, root }
      const written = await createPlugin({ ...flags, name: args.name, cwd: terminal.cwd, own })
      print(written, () => formatPluginSteps(written, terminal))
    },
  }),

  'key:new': createCommand({
    summary: 'Create an API key and its hash for gateway.yaml.',
    examples: ['gateway key new --name ci', 'gateway key new --name ci --scope tools:read --json'],
    flags: {
      name: string({ required: true, helpValue: '<name>', summary: 'Name of the key.' }),
      scope: string({
        multiple: true,
        helpValue: '<scope>',
        summary: 'Scope of the key; repeatable.',
      }),
      ...JSON_FLAG,
    },
    async run({ flags, terminal, print }) {
      const { formatKey, createKey } = await import('../scaffold.ts')
      const made = createKey(flags.name, flags.scope ?? [])
      print(made, () => formatKey(made, terminal))
    },
  }),

  completion: createCommand({
    summary: 'Print a completion script for a shell.',
    description:
      'Create the directory of the file first if it does not exist: mkdir -p ~/.local/share/bash-completion/completions. Takes effect in a new shell.',
    examples: [
      'gateway completion bash > ~/.local/share/bash-completion/completions/gateway',
      'gateway completion zsh > "${fpath[1]}/_gateway"',
      'gateway completion fish > ~/.config/fish/completions/gateway.fish',
      'gateway completion powershell >> $PROFILE',
    ],
    args: {
      shell: argument({
        required: true,
        options: Object.keys(COMPLETION_SCRIPTS),
        description: 'Which shell.',
        ignoreStdin: true,
      }),
    },
    flags: JSON_FLAG,
    async run({ args: { shell }, print }) {
      const script = COMPLETION_SCRIPTS[shell as keyof typeof COMPLETION_SCRIPTS]
      print({ shell, script }, () => [script])
    },
  }),

  help: createCommand({
    summary: 'Show help for a command, or for a key of gateway.yaml.',
    examples: [
      'gateway help serve',
      'gateway help plugin new',
      'gateway help config upstreams.cache',
      'gateway help --json',
    ],
    takesRest: true,
    args: { command: optionalArgument('The command.') },
    flags: JSON_FLAG,
    async run({ positionals, flags, ...context }) {
      const { terminal, own, print } = context
      if (positionals[0] === 'config') {
        const { describeConfigKey, formatConfigKey } = await import('../help-config.ts')
        const described = describeConfigKey(positionals.slice(1), own.root)
        return print(described, () => formatConfigKey(described, terminal.out))
      }
      if (flags.json) return terminal.out.json({ commands: describeCommands(positionals, context.commands) })
      const { showHelp } = await import('../help.ts')
      return showHelp(positionals, context)
    },
  }),
}

/** Describes the commands that begin with these words, or all commands. */
function describeCommands(words: readonly string[], commands: CommandMap): object[] {
  const rows = Object.entries(commands).map(([id, { summary, flags }]) => ({
    name: id.replaceAll(':', ' '),
    summary,
    flags: Object.entries(flags).flatMap(([name, flag]) => (flag.hidden === true ? [] : describeFlag(name, flag))),
  }))
  const matches = rows.filter(({ name }) => words.every((one, i) => name.split(' ')[i] === one))
  if (matches.length > 0) return matches
  throw gatewayError('GW_USAGE', { what: `no command named "${words.join(' ')}"` })
}

function describeFlag(name: string, flag: Command['flags'][string]): object {
  return {
    names: [`--${name}`, ...(flag.char === undefined ? [] : [`-${flag.char}`])],
    summary: flag.summary,
    takes: flag.type === 'option' ? (flag.helpValue ?? 'text') : 'nothing',
    values: flag.type === 'option' ? (flag.options ?? []) : [],
  }
}
