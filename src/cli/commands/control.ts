import { integer } from '@oclif/core/flags'
import type { Command } from '../command.ts'
import { createCommand, CONTROL_FLAGS, optionalArgument, requiredArgument, booleanFlag } from '../command.ts'

const upstream = requiredArgument('Name of the upstream.')

function createUpstreamCommand(verb: 'start' | 'stop' | 'restart', summary: string, description: string): Command {
  return createCommand({
    summary,
    description,
    examples: [`gateway ${verb} files`, `gateway ${verb} files --config gateway.yaml`],
    args: { upstream },
    flags: CONTROL_FLAGS,
    async run({ args, flags, terminal, print }) {
      const { controlUpstream, formatUpstreamState } = await import('../remote/control-requests.ts')
      const status = await controlUpstream(verb, args.upstream, flags, terminal)
      print(status, () => [formatUpstreamState(status, terminal)])
    },
  })
}

/** Commands that control a running gateway. */
export const CONTROL_COMMANDS = {
  ps: createCommand({
    summary: 'Show the status of a running gateway and its upstreams.',
    description: [
      'State, protocol, process, uptime, restarts, running and queued calls, memory of the process tree (Linux), and the',
      'current or last problem.',
    ],
    usage: 'ps [-w | -a | -q] [--json] [-c <file>] [--env <name>] [--socket <file>]',
    examples: ['gateway ps', 'gateway ps --watch', 'gateway ps --all', 'gateway ps --json'],
    flags: {
      watch: booleanFlag({ char: 'w', exclusive: ['all'], summary: 'Refresh every second.' }),
      quiet: booleanFlag({
        char: 'q',
        exclusive: ['watch', 'all', 'json'],
        summary: 'Print only upstream names.',
      }),
      all: booleanFlag({ char: 'a', summary: 'Show all running gateways of this user.' }),
      ...CONTROL_FLAGS,
    },
    async run({ flags, terminal, print }) {
      const { requestPs, formatPs, watchPs } = await import('../remote/control-requests.ts')
      if (flags.watch) return watchPs(flags, terminal)
      if (flags.all) {
        const { listRunningGateways } = await import('../remote/control-connection.ts')
        const all = await listRunningGateways(terminal)
        const blocks = all.flatMap(one => [...formatPs(one, Date.now(), terminal), ''])
        return print(all, () => (blocks.length === 0 ? ['no gateway is running'] : blocks))
      }
      const now = await requestPs(flags, terminal)
      print(now, () => (flags.quiet ? now.upstreams.map(({ name }) => name) : formatPs(now, Date.now(), terminal)))
    },
  }),

  start: createUpstreamCommand(
    'start',
    'Start one upstream of a running gateway.',
    'Exit codes: 0 started, 5 no such upstream, 4 failed to start, or no gateway is running.',
  ),

  stop: createUpstreamCommand(
    'stop',
    'Stop one upstream of a running gateway until it is started again.',
    'Running calls fail. To stop the gateway itself, use gateway down.',
  ),

  restart: createUpstreamCommand(
    'restart',
    'Restart one upstream of a running gateway.',
    'Exit codes: 0 started, 5 no such upstream, 4 failed to start, or no gateway is running.',
  ),

  logs: createCommand({
    summary: 'Show the log of the background gateway, or the stderr output of an upstream.',
    description: 'The log of the gateway has the lines of all its servers, and remains after gateway down.',
    examples: ['gateway logs', 'gateway logs files', 'gateway logs files --follow', 'gateway logs files --lines 20'],
    args: { upstream: optionalArgument('Name of the upstream. Default: the gateway and all its servers.') },
    flags: {
      follow: booleanFlag({ char: 'f', summary: 'Follow new lines, through restarts and reloads.' }),
      lines: integer({
        char: 'n',
        default: 100,
        min: 0,
        max: 10_000,
        helpValue: '<number>',
        summary: 'Number of lines.',
      }),
      ...CONTROL_FLAGS,
    },
    async run({ args, flags, terminal, print }) {
      if (args.upstream === undefined)
        return (await import('../background/gateway-log.ts')).printGatewayLog(flags, terminal)
      const { followLogs, formatLogLine, requestUpstreamLogs } = await import('../remote/control-requests.ts')
      if (flags.follow) return followLogs(args.upstream, flags, terminal)
      const lines = await requestUpstreamLogs(args.upstream, flags, terminal)
      print({ lines }, () => lines.map(line => formatLogLine(line, terminal)))
    },
  }),

  reload: createCommand({
    summary: 'Reload the configuration of a running gateway.',
    description: [
      'Unchanged upstreams keep their processes, connections and sessions. An invalid configuration is rejected.',
      'Exit codes: 0 applied, 3 invalid configuration, 4 failed to start, or no gateway is running.',
    ],
    examples: ['gateway reload', 'gateway reload --config gateway.yaml --env production'],
    flags: CONTROL_FLAGS,
    async run({ flags, terminal, print }) {
      const { formatChanges, reloadGateway } = await import('../remote/control-requests.ts')
      const changes = await reloadGateway(flags, terminal)
      print(changes, () => formatChanges(changes, terminal.out))
    },
  }),
}
