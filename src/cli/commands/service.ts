import { string } from '@oclif/core/flags'
import { createCommand, CONTROL_FLAGS, booleanFlag } from '../command.ts'
import { getPlatform } from '../../util/platform.ts'

const { config, env, json } = CONTROL_FLAGS
const SERVICE_FLAGS = {
  platform: string({
    options: ['linux', 'darwin', 'win32'],
    default: getPlatform().name,
    defaultHelp: 'this system',
    summary: 'Target platform.',
  }),
  ...{ config, env, json },
}

export const SERVICE_COMMANDS = {
  'service:install': createCommand({
    summary: 'Run the gateway at login: systemd, launchd or Task Scheduler.',
    description:
      'Writes and enables the service file. The service gets the PATH of this shell, but no secrets from its environment. Exit codes: 0 running, 1 the file was written, but the service could not be enabled.',
    examples: [
      'gateway service install',
      'gateway service install --dry-run',
      'gateway service install --platform darwin --dry-run',
    ],
    flags: {
      'dry-run': booleanFlag({ summary: 'Print the service file without writing it.' }),
      ...SERVICE_FLAGS,
    },
    run: async ({ flags, terminal, host }) => (await import('../service/service.ts')).runInstall(flags, terminal, host),
  }),

  'service:uninstall': createCommand({
    summary: 'Stop and remove the service.',
    description: 'Exit codes: 0 removed, 4 not installed.',
    examples: ['gateway service uninstall'],
    flags: SERVICE_FLAGS,
    run: async ({ flags, terminal, host }) =>
      (await import('../service/service.ts')).runUninstall(flags, terminal, host),
  }),

  'service:status': createCommand({
    summary: 'Show whether the service is installed and running.',
    description: 'Exit codes: 0 running, 4 not running.',
    examples: ['gateway service status'],
    flags: SERVICE_FLAGS,
    run: async ({ flags, terminal, host }) =>
      (await import('../service/service.ts')).runServiceStatus(flags, terminal, host),
  }),
}
