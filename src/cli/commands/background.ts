import { string } from '@oclif/core/flags'
import { createCommand, CONFIG_FLAGS, CONTROL_FLAGS, booleanFlag } from '../command.ts'

/** Commands about the gateway of a configuration that runs in the background. */
export const BACKGROUND_COMMANDS = {
  attach: createCommand({
    summary: 'Connect a client on stdin and stdout to the gateway that runs in the background.',
    description: [
      'Editors start this in place of their servers: all of them share one gateway, and each server runs once. Where none',
      'runs, one is started; when it restarts, the session goes on at the next one.',
    ],
    examples: ['gateway attach', 'gateway attach --config gateway.yaml --profile readers'],
    flags: {
      profile: string({ helpValue: '<name>', summary: 'The profile that the client gets.' }),
      label: string({
        helpValue: '<name>',
        summary:
          'A name for the conversation: clients with the same one share servers with isolation: session.',
      }),
      'no-start': booleanFlag({ summary: 'Fail where no gateway runs.' }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, host }) => (await import('../background/attach.ts')).attach(flags, host),
  }),

  up: createCommand({
    summary: 'Start the gateway of a configuration in the background.',
    description: [
      'There is one for each configuration of a user; where it runs, nothing is done. All clients that attach share it and',
      'its servers. It opens the listeners of the configuration too, and writes a log.',
    ],
    examples: ['gateway up', 'gateway up --config gateway.yaml --env production'],
    flags: {
      'until-idle': booleanFlag({
        hidden: true,
        summary: 'Stop when no client has been there for shutdown.idle.',
      }),
      ...CONFIG_FLAGS,
    },
    run: async ({ flags, terminal, host }) =>
      (await import('../background/up.ts')).runUp(flags, terminal, host),
  }),

  down: createCommand({
    summary: 'Stop the gateway of a configuration.',
    description: 'What is open ends first, as after SIGTERM. Clients that are attached start it again.',
    examples: ['gateway down', 'gateway down --config gateway.yaml'],
    flags: CONTROL_FLAGS,
    async run({ flags, terminal, print }) {
      const { stopGateway } = await import('../background/up.ts')
      const stopped = await stopGateway(flags, terminal)
      print(stopped, () => [`stopped pid ${stopped.pid}`])
    },
  }),

  status: createCommand({
    summary: 'Show whether the gateway of a configuration runs, and where its log is.',
    description: 'Exit codes: 0 it runs, 4 it does not.',
    examples: ['gateway status', 'gateway status --json'],
    flags: {
      'to-attach': booleanFlag({ hidden: true, summary: 'Say where clients attach, and nothing else.' }),
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
