import type { Command } from '@oclif/core/command'
import { integer } from '@oclif/core/flags'
import { createCommand, CONTROL_FLAGS, requiredArgument, booleanFlag } from '../command.ts'

const upstream = requiredArgument('Name of the upstream.')

function createUpstreamCommand(
  verb: 'start' | 'stop' | 'restart',
  summary: string,
  description: string,
): Command.Class {
  return createCommand({
    summary,
    description,
    examples: [`gateway ${verb} files`, `gateway ${verb} files --config gateway.yaml`],
    args: { upstream },
    flags: CONTROL_FLAGS,
    async run({ args, flags, terminal, print }) {
      const { controlUpstream, formatUpstreamState } = await import('../remote/control-upstream.ts')
      const status = await controlUpstream(verb, args.upstream, flags, terminal)
      print(status, () => [formatUpstreamState(status, terminal)])
    },
  })
}

/** Commands that steer a running gateway. */
export const CONTROL_COMMANDS = {
  ps: createCommand({
    summary: 'Show how a running gateway and its upstreams do.',
    description: [
      'State, protocol, process, time since its start, restarts, calls in flight and waiting, memory of the whole process',
      'tree (Linux), and what is or was wrong.',
    ],
    usage: 'ps [-w | -a | -q] [--json] [-c <file>] [--env <name>] [--socket <file>]',
    examples: ['gateway ps', 'gateway ps --watch', 'gateway ps --all', 'gateway ps --json'],
    flags: {
      watch: booleanFlag({ char: 'w', exclusive: ['all'], summary: 'Show it again every second.' }),
      quiet: booleanFlag({
        char: 'q',
        exclusive: ['watch', 'all', 'json'],
        summary: 'Names of the upstreams only.',
      }),
      all: booleanFlag({ char: 'a', summary: 'Every gateway that you run, whatever its configuration.' }),
      ...CONTROL_FLAGS,
    },
    async run({ flags, terminal, print }) {
      const { requestPs, formatPs, watchPs } = await import('../remote/ps.ts')
      if (flags.watch) return watchPs(flags, terminal)
      if (flags.all) {
        const { listRunningGateways } = await import('../remote/connect.ts')
        const all = await listRunningGateways(terminal)
        const blocks = all.flatMap(one => [...formatPs(one, Date.now(), terminal), ''])
        return print(all, () => (blocks.length === 0 ? ['no gateway runs'] : blocks))
      }
      const now = await requestPs(flags, terminal)
      print(now, () =>
        flags.quiet ? now.upstreams.map(({ name }) => name) : formatPs(now, Date.now(), terminal),
      )
    },
  }),

  start: createUpstreamCommand(
    'start',
    'Start one upstream of a running gateway.',
    'Exit codes: 0 it started, 2 no such upstream, 4 it did not start, or no gateway runs.',
  ),

  stop: createUpstreamCommand(
    'stop',
    'Stop one upstream of a running gateway, until it is started by name.',
    'Calls under way end with an error. gateway down stops the gateway itself.',
  ),

  restart: createUpstreamCommand(
    'restart',
    'Stop one upstream of a running gateway and start it again.',
    'Exit codes: 0 it started, 2 no such upstream, 4 it did not start, or no gateway runs.',
  ),

  logs: createCommand({
    summary: 'Show what an upstream of a running gateway wrote on stderr.',
    examples: ['gateway logs files', 'gateway logs files --follow', 'gateway logs files --lines 20'],
    args: { upstream },
    flags: {
      follow: booleanFlag({ char: 'f', summary: 'Go on with each new line, through restarts and reloads.' }),
      lines: integer({
        char: 'n',
        default: 100,
        min: 0,
        max: 10_000,
        helpValue: '<number>',
        summary: 'How many of the last lines.',
      }),
      ...CONTROL_FLAGS,
    },
    async run({ args, flags, terminal, print }) {
      const { followLogs, formatLogLine, requestLogs } = await import('../remote/control-upstream.ts')
      if (flags.follow) return followLogs(args.upstream, flags, terminal)
      const lines = await requestLogs(args.upstream, flags, terminal)
      print({ lines }, () => lines.map(line => formatLogLine(line, terminal)))
    },
  }),

  reload: createCommand({
    summary: 'Let a running gateway read its configuration again.',
    description: [
      'What is unchanged keeps its processes, connections and sessions. An invalid configuration changes nothing.',
      'Exit codes: 0 it is in force, 3 invalid configuration, 4 it could not be started, or no gateway runs.',
    ],
    examples: ['gateway reload', 'gateway reload --config gateway.yaml --env production'],
    flags: CONTROL_FLAGS,
    async run({ flags, terminal, print }) {
      const { formatChanges, reloadGateway } = await import('../remote/control-upstream.ts')
      const changes = await reloadGateway(flags, terminal)
      print(changes, () => formatChanges(changes, terminal.out))
    },
  }),
}
