import { string } from '@oclif/core/flags'
import { CONTROL_FLAGS } from '../../base-command.ts'
import { platformOf } from '../../../util/platform.ts'

const { config, env, json } = CONTROL_FLAGS

/** Flags of each command about the service. */
export const SERVICE_FLAGS = {
  platform: string({
    options: ['linux', 'darwin', 'win32'],
    default: platformOf().name,
    defaultHelp: 'this system',
    summary: 'The system that the service is for.',
  }),
  ...{ config, env, json },
}
