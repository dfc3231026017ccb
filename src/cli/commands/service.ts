import { string } from '@oclif/core/flags'
import { createCommand, CONTROL_FLAGS, booleanFlag } from '../command.ts'
import { getPlatform } from '../../util/platform.ts'

const { config, env, json } = CONTROL_FLAGS
const SERVICE_FLAGS = {
  platform: string({
    options: ['linux', 'darwin', 'win32'],
    default: getPlatform().name,
    defaultHelp: 'this system',
    summary: 'The system that the service is for.',
  }),
  ...{ config, env, json },
}

/** Commands about the service of a configuration. */
export const SERVICE_COMMANDS = {
  'service:install': createCommand({
    summary: 'Run the gateway of a configuration from login on: systemd, launchd, or the Task Scheduler.',
    description:
      'Writes the file of the service and has the system take it. It has the PATH of the shell that this is called from, and no secrets of its environment. Exit codes: 0 it runs, 1 the file was written and the system said no.',
    examples: [
      'gateway service install',
      'gateway service install --dry-run',
      'gateway service install --platform darwin --dry-run',
    ],
    flags: { 'dry-run': booleanFlag({ summary: 'Print the file, and write nothing.' }), ...SERVICE_FLAGS },
    run: async ({ flags, terminal, host }) =>
      (await import('../service/service.ts')).runInstall(flags, terminal, host),
  }),

  'service:uninstall': createCommand({
    summary: 'Stop the service of a configuration, and remove it.',
    description: 'Exit codes: 0 it is gone, 4 there was none.',
    examples: ['gateway service uninstall'],
    flags: SERVICE_FLAGS,
    run: async ({ flags, terminal, host }) =>
      (await import('../service/service.ts')).runUninstall(flags, terminal, host),
  }),

  'service:status': createCommand({
    summary: 'Show whether the service of a configuration is installed and runs.',
    description: 'Exit codes: 0 it runs, 4 it does not.',
    examples: ['gateway service status'],
    flags: SERVICE_FLAGS,
    run: async ({ flags, terminal, host }) =>
      (await import('../service/service.ts')).runServiceStatus(flags, terminal, host),
  }),
}
