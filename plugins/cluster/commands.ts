import type { PluginCommands } from '../../src/plugin.ts'
import { linesOf } from './status.ts'

export const commands: PluginCommands = {
  replicas: {
    summary: 'Show the replicas of this gateway, as one of them sees them.',
    description: 'With cluster only. The replica that answers has a star.',
    examples: ['gateway replicas', 'gateway replicas --json'],
    gateway: 'running',
    async run(call) {
      // Replicas on one machine share a configuration, and each knows all of them.
      const status = await call.withGateway('one', ask => ask('cluster.replicas'))
      call.print(status, () => linesOf(status, Date.now()))
    },
  },
}
