import type { Command } from '@oclif/core/command'
import { builtins } from '../gateway/builtins.ts'
import { ASKING } from './commands/asking.ts'
import { BACKGROUND } from './commands/background.ts'
import { CLIENT_COMMANDS } from './commands/clients.ts'
import { OTHERS } from './commands/others.ts'
import { SERVERS } from './commands/servers.ts'
import { SERVICE } from './commands/service.ts'
import { SERVING } from './commands/serving.ts'
import { STEER } from './commands/steer.ts'
import { loadPluginCommands } from './plugin-commands.ts'

/** Every command of ours by its id. They are thin; what they do is imported when they run. */
export const COMMANDS: Readonly<Record<string, Command.Class>> = {
  ...SERVING,
  ...ASKING,
  ...BACKGROUND,
  ...SERVERS,
  ...SERVICE,
  ...CLIENT_COMMANDS,
  ...STEER,
  ...(await loadPluginCommands(builtins)),
  ...OTHERS,
}
