import { string } from '@oclif/core/flags'
import type { JsonObject } from '../../protocol/json/json.ts'
import { CONFIG_FLAGS, CONTROL_FLAGS } from '../base-command.ts'

/** Which gateway, for commands that ask a running one, or else make one. */
export const AGENTS_FLAGS = { ...CONFIG_FLAGS, socket: CONTROL_FLAGS.socket }

/** What of a task decides who gets it. */
export const TASK_FLAGS = {
  agent: string({ char: 'a', helpValue: '<id>', summary: 'This agent.' }),
  type: string({ helpValue: '<type>', summary: 'Type of the task; rules may choose by it.' }),
  capability: string({
    helpValue: '<name>',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'What the agent must be able to do; may be given again.',
  }),
  cwd: string({
    helpValue: '<directory>',
    summary: 'Where the task works. Default: the first of agents.roots.',
  }),
}

/** The same as `delegate_task` has it. */
export function taskOf(
  prompt: string,
  flags: {
    readonly agent?: string | undefined
    readonly type?: string | undefined
    readonly capability?: readonly string[] | undefined
    readonly cwd?: string | undefined
  },
): JsonObject {
  const { agent, type, capability, cwd } = flags
  return {
    prompt,
    ...(agent === undefined ? {} : { agent }),
    ...(type === undefined ? {} : { task_type: type }),
    ...(capability === undefined ? {} : { capabilities: [...capability] }),
    ...(cwd === undefined ? {} : { cwd }),
  }
}
