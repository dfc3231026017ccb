import { string } from '@oclif/core/flags'
import { createCommand, CONFIG_FLAGS, CONTROL_FLAGS, booleanFlag } from '../command.ts'

export const BACKGROUND_COMMANDS = {
  attach: createCommand({
    summary: 'Connect a client on stdin and stdout to the background gateway.',
    description: [
      'Clients run this instead of their servers: all clients share one gateway, and each server runs once. Starts the',
      'gateway if it is not running; sessions continue after a restart.',
    ],
    examples: ['gateway attach', 'gateway attach --config gateway.yaml --profile readers'],
    flags: {
      profile: string({ helpValue: '<name>', summary: 'Profile for the client.' }),
      label: string({
        helpValue: '<name>',
        summary: 'Name of the conversation; clients with the same label share servers with isolation: session.',
      }),
      'no-start': booleanFlag({ summary: 'Fail if no gateway is running.' }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, host }) => (await import('../background/attach.ts')).attach(flags, host),
  }),

  up: createCommand({
    summary: 'Start the gateway in the background.',
    description: [
      'There is one per user and configuration; does nothing if it is already running. All attached clients share it and its',
      'servers. It also opens the configured listeners and writes a log file.',
    ],
    examples: ['gateway up', 'gateway up --config gateway.yaml --env production'],
    flags: {
      'until-idle': booleanFlag({
        hidden: true,
        summary: 'Stop after shutdown.idle without clients.',
      }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, terminal, host }) => (await import('../background/up.ts')).runUp(flags, terminal, host),
  }),

  down: createCommand({
    summary: 'Stop the gateway.',
    description: 'Open requests finish first, as after SIGTERM. Attached clients start it again.',
    examples: ['gateway down', 'gateway down --config gateway.yaml'],
    flags: CONTROL_FLAGS,
    async run({ flags, terminal, print }) {
      const { stopGateway } = await import('../background/up.ts')
      const stopped = await stopGateway(flags, terminal)
      print(stopped, () => [`stopped pid ${stopped.pid}`])
    },
  }),

  status: createCommand({
    summary: 'Show whether the gateway is running, and the path of its log.',
    description: 'Exit codes: 0 running, 4 not running.',
    examples: ['gateway status', 'gateway status --json'],
    flags: {
      'to-attach': booleanFlag({ hidden: true, summary: 'Print only the socket for attaching.' }),
      ...CONTROL_FLAGS,
    },
    async run({ flags, terminal, print }) {
      const { findAttachSocket, readStatus, formatStatus } = await import('../background/up.ts')
      if (flags['to-attach']) return terminal.out.json(await findAttachSocket(flags, terminal))
      const now = await readStatus(flags, terminal)
      print(now, () => formatStatus(now, terminal))
    },
  }),
}
