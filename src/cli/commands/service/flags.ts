import { string } from '@oclif/core/flags'
import { CONTROL_FLAGS } from '../../base-command.ts'

const { config, env, json } = CONTROL_FLAGS

/** Flags of each command about the service. */
export const SERVICE_FLAGS = {
  platform: string({
    options: ['linux', 'darwin', 'win32'],
    default: process.platform,
    defaultHelp: 'this system',
    summary: 'The system that the service is for.',
  }),
  ...{ config, env, json },
}
